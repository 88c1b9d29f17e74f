import assert from 'node:assert/strict';
import { test } from 'node:test';
import { recall } from '../src/host/recall';
import { serverSettings } from '../src/settings';
import type { Inspected } from '../src/settings';
import { emptyApp } from '../src/state/model';
import type { AppEvent, AppState, Item, SessionState } from '../src/state/model';
import { showCalls, showContext, showMs, showRate, showShare } from '../src/state/numbers';
import { reduce } from '../src/state/reducer';
import { reuseMarker, statusText } from '../src/state/status_text';
import { stagesOf } from '../src/webview/stages';

/** Processor time, which a busy machine does not stretch. */
function cpuMs(): number {
  return process.cpuUsage().user / 1_000;
}

const S = { sessionId: 's', turnId: 't' };

function fold(...events: AppEvent[]): AppState {
  const app = emptyApp();
  app.host = { phase: 'running', text: '' };
  for (const event of [{ type: 'local.show' as const, sessionId: 's' }, ...events]) reduce(app, event);
  return app;
}

function session(app: AppState): SessionState {
  const found = app.states.s;
  assert.ok(found);
  return found;
}

function items(app: AppState, kind: Item['kind']): Item[] {
  return session(app).items.filter((item) => item.kind === kind);
}

const ASKED: AppEvent = { type: 'local.asked', ...S, text: 'fix it\nin full' };
const BEGAN: AppEvent = { type: 'turn.started', ...S, title: 'fix it' };
const ENDED: AppEvent = { type: 'turn.finished', ...S, status: 'completed', text: 'done', durationMs: 5 };
const TOOL: AppEvent = { type: 'tool.started', ...S, toolCallId: 'c', name: 'shell', arguments: '{}' };
const OPENED: AppEvent = { type: 'approval.opened', approval: { approvalId: 'a', ...S, kind: 'command', name: 'shell', subject: 'ls' } };

test('a turn from its task to its end', () => {
  const app = fold(ASKED, BEGAN, { type: 'text.delta', ...S, text: 'do' }, { type: 'text.delta', ...S, text: 'ne' },
    { type: 'text.done', ...S, text: 'done' }, TOOL, { type: 'tool.output', ...S, toolCallId: 'c', line: 'x' },
    { type: 'tool.finished', ...S, toolCallId: 'c', name: 'shell', status: 'ok', summary: '1 line', diff: '', filesChanged: ['a'], durationMs: 3 },
    { type: 'text.done', ...S, text: 'done' }, ENDED);
  assert.deepEqual(session(app).items.map((item) => item.kind), ['user', 'text', 'tool', 'text', 'end']);
  const [user] = items(app, 'user');
  assert.ok(user?.kind === 'user' && user.text === 'fix it\nin full');
  const [tool] = items(app, 'tool');
  assert.ok(tool?.kind === 'tool' && tool.status === 'ok' && tool.files[0] === 'a' && tool.lines[0] === 'x');
});

test('a key is never given twice, though a queued task moves', () => {
  const Q = { sessionId: 's', turnId: 'queued' };
  const app = fold(ASKED, BEGAN, { type: 'local.asked', ...Q, text: 'then this' },
    { type: 'input', ...S, inputId: 'i', text: 'in French', fate: 'steered' }, { type: 'text.delta', ...S, text: 'void' });
  const seen = new Set(session(app).items.map((item) => item.key));
  for (const event of [{ type: 'text.voided', ...S, cause: 'x' }, { type: 'text.done', ...S, text: 'first' }, ENDED,
    { type: 'turn.started', ...Q, title: 'then this' }, { type: 'text.done', ...Q, text: 'second' },
    { type: 'turn.finished', ...Q, status: 'completed', text: 'second', durationMs: 5 }] as AppEvent[]) {
    for (const key of reduce(app, event).items) seen.add(key);
  }
  assert.deepEqual(session(app).items.map((item) => [item.kind, item.turnId]),
    [['user', 't'], ['user', 't'], ['text', 't'], ['text', 't'], ['end', 't'], ['user', 'queued'], ['text', 'queued'], ['end', 'queued']]);
  assert.equal(new Set(session(app).items.map((item) => item.key)).size, 8);
  assert.equal(seen.size, 9); // and the text that was void
});

test('how full the conversation is, by the model that is known and the one that is not', () => {
  const app = fold(BEGAN, { type: 'context', sessionId: 's', tokens: 68_000, windowTokens: 200_000 });
  assert.equal(showContext(session(app).context), 'ctx 34 %');
  assert.match(statusText(app).tooltip, /68,000 tokens of 200,000/);
  reduce(app, { type: 'context', sessionId: 's', tokens: 9_000, estimated: true });
  assert.equal(showContext(session(app).context), 'ctx ~9,000');
  assert.equal(showContext(undefined), '');
});

test('reasoning grows, is done with its time, and what was void is gone', () => {
  const app = fold(BEGAN, { type: 'reasoning.delta', ...S, text: 'look ' }, { type: 'reasoning.delta', ...S, text: 'first' },
    { type: 'reasoning.done', ...S, text: 'look first', durationMs: 1500 }, { type: 'text.delta', ...S, text: 'yes' },
    { type: 'reasoning.delta', ...S, text: 'void' }, { type: 'text.voided', ...S, cause: 'x' },
    { type: 'reasoning.done', ...S, durationMs: 9 });
  assert.deepEqual(items(app, 'thought').map((item) => item.kind === 'thought' && [item.text, item.done, item.durationMs]), [['look first', true, 1500]]);
  const late = fold(BEGAN, { type: 'reasoning.done', ...S, text: 'all of it', durationMs: 5 }, { type: 'reasoning.delta', ...S, text: 'half' }, ENDED);
  assert.deepEqual(items(late, 'thought').map((item) => item.kind === 'thought' && [item.text, item.done]), [['all of it', true], ['half', true]]);
});

test('a question waits, is answered once, and is void when its turn ends', () => {
  const asked: AppEvent = { type: 'question', ...S, questionId: 'q', question: 'Which?', options: ['a', 'b'] };
  const answers = (app: AppState): unknown[] => items(app, 'question').map((item) => item.kind === 'question' && item.answer);
  assert.deepEqual(answers(fold(BEGAN, asked, asked)), [undefined]);
  assert.deepEqual(answers(fold(BEGAN, asked, { type: 'question.answered', ...S, questionId: 'q', answer: 'b' }, ENDED)), ['b']);
  assert.deepEqual(answers(fold(BEGAN, asked, ENDED)), ['']);
  const planned = fold(BEGAN, { ...ENDED, mode: 'plan' });
  assert.ok(items(planned, 'end').some((item) => item.kind === 'end' && item.plan === true));
});

test('the task may be known before or after the turn starts, and is shown once', () => {
  for (const order of [[ASKED, BEGAN], [BEGAN, ASKED]]) {
    const [user, more] = items(fold(...order), 'user');
    assert.ok(user?.kind === 'user' && user.text === 'fix it\nin full');
    assert.equal(more, undefined);
  }
});

test('a call that starts anew takes back what it streamed', () => {
  const app = fold(BEGAN, { type: 'text.done', ...S, text: 'kept' }, { type: 'text.delta', ...S, text: 'void' }, { type: 'text.voided', ...S, cause: 'x' });
  assert.deepEqual(items(app, 'text').map((item) => item.kind === 'text' && item.text), ['kept']);
});

test('the end of a turn closes what was open, and says nothing twice', () => {
  const app = fold(BEGAN, TOOL, OPENED, { type: 'text.delta', ...S, text: 'half' },
    { type: 'turn.finished', ...S, status: 'cancelled', text: 'cancelled', durationMs: 5 });
  const [tool] = items(app, 'tool');
  const [approval] = items(app, 'approval');
  assert.ok(tool?.kind === 'tool' && tool.status === 'cancelled');
  assert.ok(approval?.kind === 'approval' && approval.decision === 'closed');
  assert.equal(items(app, 'notice').length, 0);
  const failed = fold(BEGAN, { type: 'turn.finished', ...S, status: 'failed', text: 'no tests', durationMs: 5 });
  const twice = fold(BEGAN, { type: 'notice', sessionId: 's', severity: 'error', text: 'no tests (write some)' },
    { type: 'turn.finished', ...S, status: 'failed', text: 'no tests', durationMs: 5 });
  assert.equal(items(twice, 'notice').length, 1);
  assert.ok(items(failed, 'notice').some((item) => item.kind === 'notice' && item.severity === 'error' && item.text === 'no tests'));
});

test('an approval is listed once, whoever tells of it, and answered anywhere', () => {
  const app = fold(BEGAN, OPENED, OPENED, { type: 'approval.resolved', ...S, approvalId: 'a', decision: 'allow' });
  const [approval, more] = items(app, 'approval');
  assert.ok(approval?.kind === 'approval' && approval.decision === 'allow');
  assert.equal(more, undefined);
});

test('when the server goes, nothing runs and nothing waits', () => {
  const app = fold(BEGAN, OPENED, { type: 'local.lost' });
  assert.equal(session(app).turns[0]?.status, 'interrupted');
  assert.equal(items(app, 'end').length, 1);
  const [approval] = items(app, 'approval');
  assert.ok(approval?.kind === 'approval' && approval.decision !== undefined);
});

const ENTRIES = [
  { kind: 'user' as const, text: 'fix it', index: 0 },
  { kind: 'tool' as const, text: 'out', index: 1, name: 'shell', arguments: '{}', toolCallId: 'c' },
];

test('a window that comes back in mid-turn shows what was, and goes on', () => {
  const app = fold({ type: 'local.transcript', sessionId: 's', entries: ENTRIES, more: false },
    { type: 'local.session', session: { sessionId: 's', state: 'attached', turns: [{ turnId: 't', title: 'fix it', status: 'running' }],
      approvals: [{ approvalId: 'a', ...S, kind: 'command', name: 'shell', subject: 'ls' }] } },
    { type: 'tool.finished', ...S, toolCallId: 'c', name: 'shell', status: 'ok', summary: 'out', diff: '', filesChanged: [], durationMs: 1 }, ENDED);
  assert.deepEqual(session(app).items.map((item) => item.kind), ['user', 'tool', 'approval', 'text', 'end']);
  assert.equal(session(app).items[0]?.turnId, 't');
  assert.equal(session(app).hosting, 'attached');
});

test('turns of a transcript end where they ended', () => {
  const entries = [{ ...ENTRIES[0]!, turnId: 'old' }, { ...ENTRIES[1]!, turnId: 'old' }, { kind: 'user' as const, text: 'next', index: 2, turnId: 't' }];
  const app = fold({ type: 'local.transcript', sessionId: 's', entries, more: false }, { type: 'local.session', session: {
    sessionId: 's', state: 'live', turns: [{ turnId: 'old', title: 'fix it', status: 'interrupted' }, { turnId: 't', title: 'next', status: 'running' }] } });
  assert.deepEqual(session(app).items.map((item) => item.kind), ['user', 'tool', 'end', 'user']);
  reduce(app, BEGAN);
  assert.equal(items(app, 'user').length, 2);
});

test('older pages go before, and nothing is shown twice', () => {
  const app = fold(BEGAN, TOOL, { type: 'local.transcript', sessionId: 's', entries: ENTRIES, more: true });
  assert.equal(items(app, 'tool').length, 1);
  assert.equal(session(app).more, true);
  reduce(app, { type: 'local.transcript', sessionId: 's', entries: ENTRIES, more: false });
  assert.equal(new Set(session(app).items.map((item) => item.key)).size, session(app).items.length);
});

test('5,000 items cost no more each than the first ones', () => {
  const app = fold(BEGAN);
  const began = cpuMs();
  for (let at = 0; at < 5_000; at += 1) {
    const toolCallId = `c${at}`;
    reduce(app, { type: 'tool.started', ...S, toolCallId, name: 'read', arguments: '{}' });
    reduce(app, { type: 'tool.finished', ...S, toolCallId, name: 'read', status: 'ok', summary: '', diff: '', filesChanged: [], durationMs: 1 });
  }
  assert.equal(session(app).items.length, 5_001);
  assert.ok(cpuMs() - began < 2_000);
});

test('numbers: unit beside the number, unknown is a dash', () => {
  assert.deepEqual([showMs(92), showMs(8_410), showMs(61_000), showMs(undefined)], ['92 ms', '8.41 s', '1 min 1 s', '–']);
  assert.deepEqual([showRate(812.4), showRate(25_823), showRate(undefined)], ['812 tok/s', '25,823 tok/s', '– tok/s']);
  assert.deepEqual([showShare(0.937), showShare(0), showShare(undefined)], ['94 %', '0 %', '–']);
  assert.deepEqual([showCalls(0), showCalls(1), showCalls(6)], ['– calls', '1 call', '6 calls']);
  assert.deepEqual(['reused', 'full_resend', 'reconnected', undefined].map(reuseMarker), ['⟲ reused', '↑ full', '↯ reconnected', '–']);
});

const CALL: AppEvent = { type: 'call', ...S, callId: 'c', number: 1, status: 'running', tokensPerS: 812, ttftMs: 92, cachedShare: 0.94, reuse: 'reused' };

test('the status bar', () => {
  const model = (text: string): AppEvent => ({ type: 'status', categories: [{ category: 'model', state: text.split(' ')[0] ?? '', severity: 'info', text }] });
  assert.equal(statusText(fold()).text, 'loopline');
  assert.equal(statusText(fold(model('repair (a search over program edits, no model)'))).text, 'repair (no model)');
  const hostile = statusText(fold(model('$(flame)\u001b[31m\u202ex (no model)')));
  assert.ok(!hostile.text.includes('$(flame') && !/\u001b|\u202e/.test(hostile.text + hostile.tooltip), hostile.text);
  assert.equal(statusText(fold(model('gpt'), BEGAN, CALL)).text, '$(record) 812 tok/s · 92 ms · 94 % ⟲');
  assert.equal(statusText(fold(model('gpt'), BEGAN, CALL, OPENED)).text, '$(record) 812 tok/s · 92 ms · 94 % ⟲ ●');
  assert.equal(statusText(fold(model('gpt'), BEGAN, CALL, ENDED)).text, 'loopline · 92 ms · 94 % ⟲');
  assert.equal(statusText(fold(model('repair (a search over program edits, no model)'), BEGAN, CALL)).text, '$(record) repair (no model) · 812 tok/s · 92 ms · 94 % ⟲');
  assert.match(statusText(fold(model('gpt'), BEGAN)).text, /– tok\/s · – · –/);
  const app = emptyApp();
  app.host = { phase: 'missing', text: 'none' };
  assert.match(statusText(app).text, /no server/);
});

test('the tooltip names each number, and nothing in it is markup of others', () => {
  const { tooltip } = statusText(fold({ ...BEGAN, title: '`x` [evil](command:x) | y' }, CALL));
  for (const name of ['output rate', 'time to first token', 'cached', 'what the call built on']) assert.ok(tooltip.includes(name), name);
  assert.ok(tooltip.includes('` x [evil](command:x) y`') || tooltip.includes('`x [evil](command:x) y`'), tooltip);
});

test('five stages in their order', () => {
  const stages = stagesOf({ type: 'stages', ...S, stagesMs: { approval: 3, inference: 9 }, calls: 1, running: true });
  assert.deepEqual(stages.map((one) => [one.label, one.ms]), [['inference', 9], ['tools', 0], ['overhead', 0], ['approval', 3], ['other', 0]]);
});

test('what is shown after a reload', () => {
  const stored = { sessionId: 'old', state: 'stored' as const };
  const running = { sessionId: 'run', state: 'elsewhere' as const, turns: [{ turnId: 't', title: '', status: 'running' as const }] };
  const idle = { ...running, turns: [] };
  assert.deepEqual(recall([stored, running], 'old'), { sessionId: 'run', resume: true });
  assert.deepEqual(recall([stored], 'old'), { sessionId: 'old', resume: false });
  assert.deepEqual(recall([stored, idle], 'old'), { sessionId: 'old', resume: false });
  assert.equal(recall([stored, idle], null), null);
});

function told(given: Record<string, Inspected>, trusted = true): ReturnType<typeof serverSettings> {
  return serverSettings((key) => given[key] ?? {}, trusted, ['/w']);
}

test('a folder may choose a model, and nothing that matters for safety', () => {
  const { all, user } = told({
    model: { globalValue: 'mine', workspaceValue: 'theirs' }, baseUrl: { workspaceValue: 'http://evil' }, python: { workspaceFolderValue: '/evil' },
    transport: { globalValue: 'http', workspaceValue: 'websocket' },
  });
  assert.deepEqual(all, { model: 'theirs', transport: 'http', trusted: ['/w'] });
  assert.deepEqual(user, { model: 'mine', transport: 'http', deny: [], trusted: ['/w'] });
});

test('a folder can only make approvals stricter, and adds to what is denied', () => {
  assert.equal(told({ approve: { globalValue: 'ask', workspaceValue: 'auto' } }).all.approve, 'ask');
  assert.equal(told({ approve: { workspaceValue: 'auto' } }).all.approve, undefined);
  assert.equal(told({ approve: { globalValue: 'auto', workspaceValue: 'never' } }).all.approve, 'never');
  assert.deepEqual(told({ deny: { globalValue: ['a'], workspaceValue: ['b', 'a'] } }).all.deny, ['a', 'b']);
});

test('a folder that is not trusted always asks', () => {
  const { all, user } = told({ approve: { globalValue: 'auto' } }, false);
  assert.deepEqual([all.approve, user.approve, all.trusted], ['ask', 'ask', []]);
});
