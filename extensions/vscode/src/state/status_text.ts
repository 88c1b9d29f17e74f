/** What the status bar says, and what its tooltip says of each number. Pure. */
import { visible } from '../webview/plain';
import type { Call } from '../protocol';
import { callsOf } from './model';
import type { AppState, SessionState, TurnState } from './model';
import { showCalls, showContext, showCount, showMs, showRate, showShare, UNKNOWN } from './numbers';

export interface StatusText {
  readonly text: string;
  /** Markdown without links; words of others in it are in code spans. */
  readonly tooltip: string;
  readonly severity: 'info' | 'warning' | 'error';
  /** For screen readers: no icons. */
  readonly spoken: string;
}

/** How a call came by what the service knows; the same markers as everywhere. */
const REUSE: Record<string, string> = {
  first: '↑ first',
  reused: '⟲ reused',
  full_resend: '↑ full',
  not_found: '↑ full (not found)',
  evicted: '↑ full (evicted)',
  rotated: '↯ rotated',
  reconnected: '↯ reconnected',
};

export function reuseMarker(reuse: string | undefined): string {
  return reuse === undefined ? UNKNOWN : (REUSE[reuse] ?? named(reuse).replace(/[`|]/g, ' '));
}

export function statusText(app: AppState): StatusText {
  if (app.host.phase !== 'running') return ofHost(app);
  const session = app.current === null ? undefined : app.states[app.current];
  const waiting = waitingApprovals(app);
  const dot = waiting > 0 ? ' ●' : '';
  const running = session?.turns.findLast((turn) => turn.status === 'running');
  const turn = running ?? session?.turns.at(-1);
  const call = turn?.calls.at(-1);
  const model = app.status.find((one) => one.category === 'model');
  const words = tooltip(app, session, turn, call, waiting);
  const severity = waiting > 0 ? 'warning' : 'info';
  const none = model !== undefined && noModel(model.text) ? `${named(model.state)} (no model)` : '';
  const marker = (reuseMarker(call?.reuse).split(' ')[0] ?? '').replace(UNKNOWN, '');
  const figures = [showMs(call?.ttftMs), `${showShare(call?.cachedShare)} ${marker}`.trimEnd()];
  if (running !== undefined) {
    const numbers = [showRate(call?.tokensPerS), ...figures].join(' · ');
    const text = `$(record) ${none === '' ? '' : `${none} · `}${numbers}${dot}`;
    return { text, tooltip: words, severity, spoken: `Loopline is working, ${numbers}${spokenApprovals(waiting)}` };
  }
  const idle = [none || 'loopline', ...(call?.ttftMs === undefined ? [] : figures)].join(' · ');
  return { text: idle + dot, tooltip: words, severity, spoken: `Loopline: ${idle}${spokenApprovals(waiting)}` };
}

/** Whether what the server says of its model is that it is none. */
export function noModel(text: string): boolean {
  return /\bno (language )?model\b/.test(text);
}

export function waitingApprovals(app: AppState): number {
  return Object.values(app.states).reduce(
    (sum, session) => sum + session.items.filter((item) => item.kind === 'approval' && item.decision === undefined).length, 0);
}

function ofHost(app: AppState): StatusText {
  const { phase, text } = app.host;
  const shown = phase === 'missing' || phase === 'failed' || phase === 'unsupported'
    ? `$(warning) loopline: ${phase === 'missing' ? 'no server' : phase}`
    : phase === 'no folder' ? 'loopline' : phase === 'stopped' ? 'loopline: stopped' : `$(sync~spin) loopline: ${phase}`;
  const severity = phase === 'failed' || phase === 'unsupported' ? 'error' : phase === 'missing' ? 'warning' : 'info';
  return { text: shown, tooltip: code(text || phase), severity, spoken: `Loopline: ${phase}` };
}

function tooltip(app: AppState, session: SessionState | undefined, turn: TurnState | undefined, call: Call | undefined, waiting: number): string {
  const lines = app.status.map((one) => `- ${one.category}: ${code(one.text)}`);
  const size = session?.context;
  if (size !== undefined) {
    const of = size.windowTokens === undefined ? '' : ` of ${showCount(size.windowTokens)}`;
    lines.push('', `**Conversation** ${showContext(size)}: ${showCount(size.tokens)} tokens${of}`);
  }
  if (turn !== undefined) {
    lines.push('', `**Turn** ${code(turn.title || turn.turnId)}: ${turn.status}, ${showCalls(callsOf(turn))}`);
  }
  if (call !== undefined) {
    lines.push(
      '', `**Call ${call.number}**`, '',
      '| | |', '|---|--:|',
      `| output rate | ${showRate(call.tokensPerS)} |`,
      `| time to first token | ${showMs(call.ttftMs)} |`,
      `| input tokens that the service had cached | ${showShare(call.cachedShare)} |`,
      `| input tokens | ${showCount(call.inputTokens)} |`,
      `| output tokens | ${showCount(call.outputTokens)} |`,
      `| what the call built on | ${reuseMarker(call.reuse)} |`,
      `| duration | ${showMs(call.durationMs)} |`,
    );
  }
  if (waiting > 0) lines.push('', `**${waiting} approval${waiting === 1 ? '' : 's'} waiting**`);
  lines.push('', 'Click: where the time of the turn went.');
  return lines.join('\n');
}

function spokenApprovals(waiting: number): string {
  return waiting === 0 ? '' : `, ${waiting} approval${waiting === 1 ? '' : 's'} waiting`;
}

/** A name as a part of the status bar, where `$(…)` would draw an icon. */
function named(text: string): string {
  return visible(text).replace(/\s+/g, ' ').replace(/\$\(/g, '(').slice(0, 80);
}

/** `text` in a code span, whatever it holds. */
function code(text: string): string {
  return `\`${visible(text).replace(/[`|\s]+/g, ' ').trim().slice(0, 300) || ' '}\``;
}
