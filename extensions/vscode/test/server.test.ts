import assert from 'node:assert/strict';
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { calm, CALM_MS, crashed, MAX_CRASHES } from '../src/server/backoff';
import { candidates, choose } from '../src/server/discovery';
import type { Candidate, Surroundings } from '../src/server/discovery';
import { findServer } from '../src/server/find';
import { asleep, live } from '../src/server/lifecycle';
import type { Happening, Life } from '../src/server/lifecycle';
import { installArguments, pythonFits, wheelAmong } from '../src/server/python';
import { serverEnvironment, startServer } from '../src/server/process';
import { fit, readVersion } from '../src/server/version';

const WANTED = { major: 0, minor: 1, patch: 2 };
const AROUND: Surroundings = {
  setting: '', path: ['/usr/bin', 'node_modules/.bin', '/w/bin', ''], own: '/own', folders: ['/w'], trusted: false, home: '/home/me',
};

test('versions', () => {
  assert.deepEqual(readVersion('loopline 0.1.2\n'), WANTED);
  assert.equal(readVersion('not a version'), undefined);
  assert.equal(fit({ major: 0, minor: 1, patch: 1 }, WANTED), 'too old');
  assert.equal(fit({ major: 0, minor: 1, patch: 9 }, WANTED), 'fits');
  assert.equal(fit({ major: 0, minor: 2, patch: 0 }, WANTED), 'too new');
  assert.equal(fit({ major: 1, minor: 4, patch: 0 }, { major: 1, minor: 2, patch: 0 }), 'fits');
});

test('nothing of an untrusted folder is a candidate, whatever names it', () => {
  const commands = candidates(AROUND).map((one) => one.command);
  assert.deepEqual(commands, ['/usr/bin/loopline', '/own/bin/loopline']);
  assert.deepEqual(candidates({ ...AROUND, setting: '/w/evil' }), []);
  assert.deepEqual(candidates({ ...AROUND, setting: '/w/../w/evil' }), []);
});

test('a trusted folder comes last, and its entries of PATH still do not count', () => {
  const found = candidates({ ...AROUND, trusted: true });
  assert.deepEqual(found.map((one) => one.origin), ['path', 'own', 'workspace', 'workspace']);
  assert.equal(found.at(-2)?.command, '/w/.venv/bin/loopline');
});

test('with a setting there is nothing else', () => {
  assert.deepEqual(candidates({ ...AROUND, setting: '~/bin/loopline' }), [{ origin: 'setting', command: '/home/me/bin/loopline' }]);
});

function candidate(origin: Candidate['origin']): Candidate {
  return { origin, command: `/${origin}/loopline` };
}

test('the first that fits is started; what was wrong with the others is told', () => {
  const old = { candidate: candidate('path'), printed: 'loopline 0.1.0' };
  const good = { candidate: candidate('own'), printed: 'loopline 0.1.2' };
  const chosen = choose([old, good], WANTED);
  assert.equal(chosen.kind === 'start' && chosen.candidate.origin, 'own');
  const none = choose([old, { candidate: candidate('workspace'), failure: 'broken' }], WANTED);
  assert.ok(none.kind === 'none' && none.reason === 'unfit');
  assert.match(none.text, /\/path\/loopline is 0\.1\.0, too old .*\/workspace\/loopline: broken/);
  const missing = choose([{ candidate: candidate('path'), absent: true }], WANTED);
  assert.ok(missing.kind === 'none' && missing.reason === 'missing');
});

test('a setting that names nothing is told, and one that is too new is started with a warning', () => {
  const gone = choose([{ candidate: candidate('setting'), absent: true }], WANTED);
  assert.ok(gone.kind === 'none' && gone.reason === 'unfit');
  assert.match(gone.text, /there is no such file/);
  const newer = choose([{ candidate: candidate('setting'), printed: 'loopline 0.9.0' }], WANTED);
  assert.ok(newer.kind === 'start');
  assert.match(newer.warning, /too new/);
});

test('a server that keeps crashing is given up, one that crashes now and then is not', () => {
  let backoff = calm;
  const waits: (number | null)[] = [];
  for (let at = 0; at < MAX_CRASHES; at += 1) {
    const after = crashed(backoff, at * 100);
    backoff = after.after;
    waits.push(after.waitMs);
  }
  assert.deepEqual(waits, [500, 1_000, 2_000, 4_000, null]);
  backoff = calm;
  for (let at = 0; at < 20; at += 1) {
    const after = crashed(backoff, at * (CALM_MS + 1));
    backoff = after.after;
    assert.equal(after.waitMs, 500);
  }
});

function run(...happenings: Happening[]): { life: Life; deeds: string[] } {
  let life = asleep;
  const deeds: string[] = [];
  for (const what of happenings) {
    const after = live(life, what);
    life = after.life;
    if (after.deed.do !== 'nothing') deeds.push(after.deed.do);
  }
  return { life, deeds };
}

test('restarts that are wanted while one is under way become one', () => {
  const wanted: Happening = { type: 'restart wanted' };
  const { life, deeds } = run({ type: 'wanted' }, { type: 'started' }, wanted, wanted, wanted, { type: 'stopped' }, { type: 'started' });
  assert.deepEqual(deeds, ['start', 'stop', 'start']);
  assert.equal(life.stage, 'running');
});

test('a restart that is wanted during a start follows it', () => {
  const { deeds } = run({ type: 'wanted' }, { type: 'restart wanted' }, { type: 'started' }, { type: 'stopped' }, { type: 'started' });
  assert.deepEqual(deeds, ['start', 'stop', 'start']);
});

test('a crash is waited for, a stop is not taken for one', () => {
  assert.deepEqual(run({ type: 'wanted' }, { type: 'started' }, { type: 'ended', nowMs: 0 }, { type: 'waited' }).deeds, ['start', 'wait', 'start']);
  const stopped = run({ type: 'wanted' }, { type: 'started' }, { type: 'stop wanted' }, { type: 'ended', nowMs: 0 }, { type: 'stopped' });
  assert.deepEqual(stopped.deeds, ['start', 'stop']);
  assert.equal(stopped.life.stage, 'off');
});

test('after giving up, a wish of the user starts it again', () => {
  const crash: Happening[] = Array.from({ length: MAX_CRASHES }, (_, at) => [{ type: 'ended' as const, nowMs: at }, { type: 'waited' as const }]).flat();
  const { life, deeds } = run({ type: 'wanted' }, ...crash, { type: 'restart wanted' });
  assert.equal(deeds.filter((deed) => deed === 'give up').length, 1);
  assert.equal(deeds.at(-1), 'start');
  assert.equal(life.stage, 'starting');
});

test('Pythons and wheels', () => {
  assert.ok(pythonFits('Python 3.11.2\n'));
  assert.ok(!pythonFits('Python 3.10.14'));
  assert.ok(!pythonFits('Python 2.7.18'));
  assert.equal(wheelAmong(['loopline-0.1.0-py3-none-any.whl', 'readme']), 'loopline-0.1.0-py3-none-any.whl');
  assert.equal(wheelAmong(['evil-0.1.0-py3-none-any.whl']), undefined);
  assert.equal(wheelAmong(['loopline-0.1.0-py3-none-any.whl', 'loopline-0.2.0-py3-none-any.whl']), undefined);
  const given = installArguments('/x/server/loopline-0.1.0-py3-none-any.whl');
  assert.ok(!given.includes('loopline'), 'the bare name would be looked for on an index');
});

async function folder(work: (path: string) => Promise<void>): Promise<void> {
  const path = await mkdtemp(join(tmpdir(), 'loopline-test-'));
  try {
    await work(path);
  } finally {
    await rm(path, { recursive: true, force: true });
  }
}

async function script(path: string, text: string): Promise<string> {
  await writeFile(path, `#!/bin/sh\n${text}\n`);
  await chmod(path, 0o755);
  return path;
}

test('servers on this machine are asked for their version, in order', async () => {
  await folder(async (path) => {
    await mkdir(join(path, '.venv', 'bin'), { recursive: true });
    const broken = await script(join(path, 'broken'), 'echo no such module >&2; exit 3');
    const inFolder = await script(join(path, '.venv', 'bin', 'loopline'), 'echo loopline 0.1.5');
    const around = { setting: broken, own: undefined, folders: [path], trusted: true };
    const failed = await findServer(around, WANTED);
    assert.ok(failed.kind === 'none');
    assert.match(failed.text, /no such module/);
    process.env.PATH = '/nonexistent';
    const found = await findServer({ ...around, setting: '' }, WANTED);
    assert.ok(found.kind === 'start' && found.candidate.command === inFolder);
    const none = await findServer({ ...around, setting: '', trusted: false }, WANTED);
    assert.ok(none.kind === 'none' && none.reason === 'missing');
  });
});

test('what the editor set for itself is not handed on', () => {
  assert.deepEqual(serverEnvironment({ PATH: '/bin', ELECTRON_RUN_AS_NODE: '1', VSCODE_IPC_HOOK: 'x' }), { PATH: '/bin' });
});

test('a server that ends says how, and one that does not end is made to', async () => {
  await folder(async (path) => {
    const lines: string[] = [];
    const ends: string[] = [];
    const crash = startServer(await script(join(path, 'crash'), 'echo "Traceback: boom" >&2; exit 3'), (line) => lines.push(line));
    assert.equal(await crash.ended, 'exit code 3: Traceback: boom');
    assert.deepEqual(lines, ['Traceback: boom']);
    const deafScript = await script(join(path, 'deaf'), 'trap "" TERM; echo ready >&2; while :; do sleep 0.1; done');
    await new Promise<void>((ready) => {
      const deaf = startServer(deafScript, () => ready(deaf.kill()));
      void deaf.ended.then((how) => ends.push(how));
    });
    assert.match(ends.join(), /SIGKILL/);
    const absent = startServer(join(path, 'absent'), () => undefined);
    assert.match(await absent.ended, /ENOENT/);
  });
});
