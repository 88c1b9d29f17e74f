// Bundles the extension for its host, the view for its page, and with --tests the unit tests for node.
import { readdirSync } from 'node:fs';
import { build, context } from 'esbuild';

const common = { bundle: true, sourcemap: false, logLevel: 'warning', legalComments: 'none' };
const host = {
  ...common,
  entryPoints: { extension: 'src/extension.ts' },
  outdir: 'dist',
  platform: 'node',
  target: 'node20',
  format: 'cjs',
  external: ['vscode'],
  minify: true,
};
const page = {
  ...common,
  entryPoints: { view: 'src/webview/main.ts' },
  outdir: 'dist',
  platform: 'browser',
  target: 'es2022',
  format: 'iife',
  minify: true,
};
const tests = {
  ...common,
  entryPoints: readdirSync('test').filter((name) => name.endsWith('.test.ts')).map((name) => `test/${name}`),
  outdir: 'build/test',
  outExtension: { '.js': '.mjs' },
  platform: 'node',
  target: 'node20',
  format: 'esm',
};

const options = process.argv.slice(2);
if (options.includes('--tests')) {
  await build(tests);
} else if (options.includes('--watch')) {
  for (const one of [host, page]) await (await context(one)).watch();
} else {
  await Promise.all([build(host), build(page)]);
}
