/**
 * Folds events into the state. The host and the page run the same code: the page starts from the host's state and is
 * then sent the events. States are changed in place, so that one event costs the same in a long session as in a new one.
 */
import type { AnyEvent, Call, Entry, Question, Session } from '../protocol';
import { emptySession } from './model';
import type { AppEvent, AppState, Change, Item, SessionState, ToolItem, TurnState } from './model';

export const MAX_LINES = 200;
const MAX_TURNS = 200;
const NOTHING: Change = { sessionId: null, items: [], all: false };

export function reduce(app: AppState, event: AppEvent): Change {
  switch (event.type) {
    case 'local.host':
      app.host = event.host;
      return NOTHING;
    case 'local.sessions':
      app.sessions = event.sessions;
      return NOTHING;
    case 'local.show':
      app.current = event.sessionId;
      return { sessionId: event.sessionId, items: [], all: true };
    case 'local.lost':
      return endAll(app);
    case 'status':
      app.status = event.categories;
      return NOTHING;
    case 'notice':
      if (event.sessionId === undefined) return NOTHING;
      return add(sessionOf(app, event.sessionId), { kind: 'notice', turnId: '', severity: event.severity, text: event.text });
    case 'approval.opened':
      return openApproval(sessionOf(app, event.approval.sessionId), event.approval);
    case 'local.session':
      return takeSession(sessionOf(app, event.session.sessionId), event.session);
    case 'local.transcript':
      return takeTranscript(sessionOf(app, event.sessionId), event.entries, event.more);
    default:
      return inSession(sessionOf(app, event.sessionId), event);
  }
}

/** A session's state, begun if it is new. */
function sessionOf(app: AppState, sessionId: string): SessionState {
  return (app.states[sessionId] ??= emptySession(sessionId));
}

function turnOf(session: SessionState, turnId: string): TurnState {
  let turn = session.turns.findLast((one) => one.turnId === turnId);
  if (turn === undefined) {
    turn = { turnId, title: '', status: 'queued', calls: [], plan: [], files: [] };
    session.turns.push(turn);
    if (session.turns.length > MAX_TURNS) session.turns.shift();
  }
  return turn;
}

type SessionEvent = Exclude<
  Extract<AppEvent, { sessionId: string | null }>,
  { type: 'local.show' | 'local.transcript' } | { type: 'notice' }
>;

function inSession(session: SessionState, event: SessionEvent): Change {
  switch (event.type) {
    case 'session.opened':
      session.model = event.model;
      session.note = event.note ?? '';
      return touched(session);
    case 'session.hosting':
      session.hosting = event.state;
      return touched(session);
    case 'local.forget':
      Object.assign(session, { items: [], oldest: 0, more: false });
      return { sessionId: session.sessionId, items: [], all: true };
    case 'local.asked': {
      const turn = turnOf(session, event.turnId);
      turn.title ||= firstLine(event.text);
      const shown = session.items.findLast((item) => item.kind === 'user' && item.turnId === event.turnId);
      if (shown === undefined) return addTask(session, event.turnId, event.text);
      if (shown.kind === 'user') shown.text = event.text;
      return touched(session, shown.key);
    }
    case 'turn.started': {
      const turn = turnOf(session, event.turnId);
      turn.title = event.title || turn.title;
      turn.status = 'running';
      const known = session.items.findLastIndex((item) => item.kind === 'user' && item.turnId === event.turnId);
      if (known < 0) return addTask(session, event.turnId, event.title);
      if (known === session.items.length - 1) return touched(session, session.items[known]?.key);
      // it was queued: it belongs after what ran before it
      session.items.push(...session.items.splice(known, 1));
      return { sessionId: session.sessionId, items: [], all: true };
    }
    case 'turn.finished':
      return endTurn(session, event.turnId, event.status, event.text, event.durationMs, event.mode === 'plan');
    case 'turn.undone': {
      const { restored, conflicts, undoId } = event;
      turnOf(session, event.turnId).undone = { restored, conflicts, ...(undoId === undefined ? {} : { undoId }) };
      const end = session.items.findLast((item) => item.kind === 'end' && item.turnId === event.turnId);
      return touched(session, end?.key);
    }
    case 'input':
      return add(session, { kind: 'user', turnId: event.turnId, text: event.text, fate: event.fate });
    case 'text.delta': {
      const last = session.items.at(-1);
      if (last?.kind === 'text' && !last.done && last.turnId === event.turnId) {
        last.text += event.text;
        return touched(session, last.key);
      }
      return add(session, { kind: 'text', turnId: event.turnId, text: event.text, done: false });
    }
    case 'text.done':
      return finishText(session, event.turnId, event.text);
    case 'reasoning.delta': {
      const last = session.items.at(-1);
      if (last?.kind === 'thought' && !last.done && last.turnId === event.turnId) {
        last.text += event.text;
        return touched(session, last.key);
      }
      return add(session, { kind: 'thought', turnId: event.turnId, text: event.text, done: false });
    }
    case 'reasoning.done':
      return finishThought(session, event.turnId, event.text ?? '', event.durationMs);
    case 'text.voided':
      return voidText(session, event.turnId);
    case 'tool.started': {
      const known = toolOf(session, event.toolCallId);
      if (known !== undefined) {
        known.status = 'running';
        known.turnId = event.turnId;
        return touched(session, known.key);
      }
      return add(session, {
        kind: 'tool', turnId: event.turnId, toolCallId: event.toolCallId, name: event.name, arguments: event.arguments,
        status: 'running', summary: '', lines: [], diff: '', files: [],
      });
    }
    case 'tool.output': {
      const tool = toolOf(session, event.toolCallId);
      if (tool === undefined) return NOTHING;
      tool.lines.push(event.line);
      if (tool.lines.length > MAX_LINES) tool.lines.shift();
      return touched(session, tool.key);
    }
    case 'tool.finished': {
      const tool = toolOf(session, event.toolCallId);
      if (tool === undefined) return NOTHING;
      const { status, summary, diff, durationMs } = event;
      Object.assign(tool, { status, summary, diff, durationMs, files: [...event.filesChanged] });
      return touched(session, tool.key);
    }
    case 'local.output': {
      const tool = toolOf(session, event.toolCallId);
      if (tool === undefined) return NOTHING;
      tool.output = event.text;
      return touched(session, tool.key);
    }
    case 'context':
      session.context = event;
      return touched(session);
    case 'plan':
      turnOf(session, event.turnId).plan = event.steps;
      return touched(session);
    case 'diff': {
      turnOf(session, event.turnId).files = event.files;
      const end = session.items.findLast((item) => item.kind === 'end' && item.turnId === event.turnId);
      return touched(session, end?.key);
    }
    case 'approval.resolved': {
      const item = session.items.findLast(
        (one) => one.kind === 'approval' && one.approval.approvalId === event.approvalId);
      if (item?.kind !== 'approval') return NOTHING;
      item.decision = event.decision;
      return touched(session, item.key);
    }
    case 'question':
      return openQuestion(session, event);
    case 'question.answered': {
      const item = session.items.findLast((one) => one.kind === 'question' && one.questionId === event.questionId);
      if (item?.kind !== 'question') return NOTHING;
      item.answer = event.answer ?? '';
      return touched(session, item.key);
    }
    case 'call':
      noteCall(turnOf(session, event.turnId), event);
      return touched(session);
    case 'stages':
      turnOf(session, event.turnId).stages = event;
      return touched(session);
  }
}

function noteCall(turn: TurnState, call: Call): void {
  const at = turn.calls.findLastIndex((one) => one.callId === call.callId);
  if (at < 0) turn.calls.push(call);
  else turn.calls[at] = call;
}

function endTurn(
  session: SessionState, turnId: string, status: TurnState['status'], text: string, durationMs: number, plan = false,
): Change {
  const turn = turnOf(session, turnId);
  turn.status = status;
  const changed: string[] = [];
  for (const item of session.items) {
    if (item.turnId !== turnId) continue;
    if (item.kind === 'approval' && item.decision === undefined) item.decision = 'closed';
    else if (item.kind === 'question' && item.answer === undefined) item.answer = '';
    else if (item.kind === 'tool' && item.status === 'running') item.status = 'cancelled';
    else if ((item.kind === 'text' || item.kind === 'thought') && !item.done) item.done = true;
    else if (item.kind !== 'user') continue;
    changed.push(item.key);
  }
  const said = session.items.findLast((item) => item.turnId === turnId && item.kind === 'text');
  const last = session.items.at(-1);
  const noted = last?.kind === 'notice' && last.text.startsWith(text.trim());
  const tells = text.trim() !== '' && text.trim().toLowerCase() !== status && !noted;
  if (tells && (said?.kind !== 'text' || said.text.trim() !== text.trim())) {
    const change = status === 'completed'
      ? add(session, { kind: 'text', turnId, text, done: true })
      : add(session, { kind: 'notice', turnId, severity: status === 'failed' ? 'error' : 'info', text });
    changed.push(...change.items);
  }
  if (!session.items.some((item) => item.kind === 'end' && item.turnId === turnId)) {
    changed.push(...add(session, { kind: 'end', turnId, status, durationMs, ...(plan ? { plan } : {}) }).items);
  }
  return { sessionId: session.sessionId, items: changed, all: false };
}

/** The server is gone: nothing runs and nothing waits any more. */
function endAll(app: AppState): Change {
  app.status = [];
  for (const session of Object.values(app.states)) {
    session.hosting = 'lost';
    for (const turn of session.turns) {
      if (turn.status === 'running' || turn.status === 'queued') endTurn(session, turn.turnId, 'interrupted', '', 0);
    }
  }
  return { sessionId: app.current, items: [], all: true };
}

function finishText(session: SessionState, turnId: string, text: string): Change {
  const open = session.items.findLast((item) => item.kind === 'text' && !item.done && item.turnId === turnId);
  if (open?.kind === 'text') {
    open.text = text;
    open.done = true;
    return touched(session, open.key);
  }
  const last = session.items.at(-1);
  if (last?.kind === 'text' && last.text === text) return NOTHING;
  return add(session, { kind: 'text', turnId, text, done: true });
}

/** A service that keeps the model's thoughts to itself tells only how long they took: nothing is shown of them. */
function finishThought(session: SessionState, turnId: string, text: string, durationMs: number): Change {
  const open = session.items.findLast((item) => item.kind === 'thought' && !item.done && item.turnId === turnId);
  if (open?.kind === 'thought') {
    Object.assign(open, { text, done: true, durationMs });
    return touched(session, open.key);
  }
  return text === '' ? NOTHING : add(session, { kind: 'thought', turnId, text, done: true, durationMs });
}

function voidText(session: SessionState, turnId: string): Change {
  const kept = session.items.filter(
    (item) => !((item.kind === 'text' || item.kind === 'thought') && !item.done && item.turnId === turnId));
  if (kept.length === session.items.length) return NOTHING;
  session.items = kept;
  return { sessionId: session.sessionId, items: [], all: true };
}

function openApproval(session: SessionState, approval: Extract<AnyEvent, { type: 'approval.opened' }>['approval']): Change {
  const known = session.items.findLast(
    (item) => item.kind === 'approval' && item.approval.approvalId === approval.approvalId);
  if (known !== undefined) return NOTHING;
  return add(session, { kind: 'approval', turnId: approval.turnId, approval });
}

function openQuestion(session: SessionState, asked: Pick<Question, 'turnId' | 'questionId' | 'question' | 'options'>): Change {
  const { turnId, questionId, question } = asked;
  if (session.items.some((item) => item.kind === 'question' && item.questionId === questionId)) return NOTHING;
  return add(session, { kind: 'question', turnId, questionId, question, options: asked.options ?? [] });
}

/** What the server says of a session when it is opened: its turns, and what waits. */
function takeSession(session: SessionState, said: Session): Change {
  session.model = said.model || session.model;
  session.hosting = said.state === 'attached' ? 'attached' : 'live';
  for (const told of said.turns ?? []) {
    const turn = turnOf(session, told.turnId);
    turn.title = told.title || turn.title;
    turn.status = told.status;
    const known = session.items.some((item) => item.turnId === told.turnId);
    if (told.status === 'running' && !known && told.title !== '') linkTask(session, told.turnId, told.title);
    if (told.status !== 'running' && told.status !== 'queued' && known) closeTurn(session, told.turnId, told.status);
  }
  for (const approval of said.approvals ?? []) openApproval(session, approval);
  for (const question of said.questions ?? []) openQuestion(session, question);
  return { sessionId: session.sessionId, items: [], all: true };
}

/** A turn of the transcript that ended before anybody here saw it. */
function closeTurn(session: SessionState, turnId: string, status: TurnState['status']): void {
  const last = session.items.findLastIndex((item) => item.turnId === turnId);
  if (session.items[last]?.kind === 'end' || session.items.some((item) => item.kind === 'end' && item.turnId === turnId)) return;
  session.items.splice(last + 1, 0, { kind: 'end', key: `x${turnId}`, turnId, status });
}

/** Say which turn the newest task of the transcript belongs to, or show it if the transcript does not hold it yet. */
function linkTask(session: SessionState, turnId: string, title: string): void {
  const task = session.items.findLast((item) => item.kind === 'user');
  if (task?.kind === 'user' && task.turnId === '' && firstLine(task.text) === title) {
    const from = session.items.indexOf(task);
    for (const item of session.items.slice(from)) item.turnId ||= turnId;
  } else {
    addTask(session, turnId, title);
  }
}

/** Older entries go before what is shown; what is shown already is left as it is. */
function takeTranscript(session: SessionState, entries: readonly Entry[], more: boolean): Change {
  const shown = new Set(session.items.map((item) => item.key));
  const calls = new Set(session.items.flatMap((item) => (item.kind === 'tool' ? [item.toolCallId] : [])));
  const fresh = entries
    .filter((entry) => !(entry.toolCallId !== undefined && calls.has(entry.toolCallId)))
    .map(itemOfEntry)
    .filter((item) => !shown.has(item.key));
  session.items = [...fresh, ...session.items];
  session.more = more;
  session.oldest = entries[0]?.index ?? 0;
  return { sessionId: session.sessionId, items: [], all: true };
}

function itemOfEntry(entry: Entry): Item {
  const key = `e${entry.index}`;
  const turnId = entry.turnId ?? '';
  if (entry.kind === 'user') return { kind: 'user', key, turnId, text: entry.text, fate: 'task' };
  if (entry.kind === 'assistant') return { kind: 'text', key, turnId, text: entry.text, done: true };
  return {
    kind: 'tool', key, turnId, toolCallId: entry.toolCallId ?? '', name: entry.name ?? 'tool',
    arguments: entry.arguments ?? '', status: 'unknown', summary: firstLine(entry.text), lines: [], output: entry.text,
    diff: '', files: [],
  };
}

function addTask(session: SessionState, turnId: string, text: string): Change {
  return add(session, { kind: 'user', turnId, text, fate: 'task' });
}

type New<T> = T extends Item ? Omit<T, 'key'> : never;

function add(session: SessionState, item: New<Item>): Change {
  session.made += 1;
  const key = `n${session.made}`;
  session.items.push({ key, ...item });
  return { sessionId: session.sessionId, items: [key], all: false };
}

function toolOf(session: SessionState, toolCallId: string): ToolItem | undefined {
  const found = session.items.findLast((item) => item.kind === 'tool' && item.toolCallId === toolCallId);
  return found?.kind === 'tool' ? found : undefined;
}

function touched(session: SessionState, ...keys: (string | undefined)[]): Change {
  return { sessionId: session.sessionId, items: keys.filter((key) => key !== undefined), all: false };
}

function firstLine(text: string): string {
  return (text.trim().split('\n', 1)[0] ?? '').slice(0, 200);
}
