// Writes the tables of README.md from package.json, where settings and commands are defined; --check only compares.
import { readFileSync, writeFileSync } from 'node:fs';

const manifest = JSON.parse(readFileSync('package.json', 'utf8'));
const { configuration, commands, keybindings } = manifest.contributes;

function settings() {
  const rows = Object.entries(configuration.properties)
    .sort(([, one], [, other]) => one.order - other.order)
    .map(([name, one]) => {
      const values = one.enum === undefined ? one.type : one.enum.map((value) => `\`${value}\``).join(' ');
      const whose = ['machine', 'application'].includes(one.scope) ? 'yours' : 'a folder too';
      return `| \`${name}\` | ${values} | \`${JSON.stringify(one.default)}\` | ${whose} | ${one.markdownDescription} |`;
    });
  return ['| setting | values | default | who may set it | |', '|---|---|---|---|---|', ...rows].join('\n');
}

function palette() {
  const keys = new Map(keybindings.map((one) => [one.command, one.key]));
  const rows = commands.map((one) => `| ${one.category}: ${one.title} | \`${one.command}\` | ${keys.has(one.command) ? `\`${keys.get(one.command)}\`` : ''} |`);
  return ['| command | id | key |', '|---|---|---|', ...rows].join('\n');
}

const before = readFileSync('README.md', 'utf8');
let after = before;
for (const [name, table] of [['settings', settings()], ['commands', palette()]]) {
  after = after.replace(new RegExp(`(<!-- ${name} -->\n)[^]*?(<!-- /${name} -->)`), `$1${table}\n$2`);
}
if (process.argv.includes('--check')) {
  if (after !== before) {
    process.stderr.write('README.md is not what package.json says: npm run readme\n');
    process.exit(1);
  }
} else {
  writeFileSync('README.md', after);
}
