/** What the session view and the status bar know of sessions. Plain data: it crosses from the host to the page as JSON. */
import type { AnyEvent, Approval, Call, Category, ContextSize, Entry, FileDiff, Session, Stages, Step, TurnUndone } from '../protocol';

export type TurnStatus = 'queued' | 'running' | 'completed' | 'failed' | 'cancelled' | 'interrupted';

interface Common {
  /** Unique within its session, and stable. */
  readonly key: string;
  /** "" where an old transcript does not say. */
  turnId: string;
}

export interface UserItem extends Common {
  kind: 'user';
  text: string;
  fate: 'task' | 'steered' | 'queued' | 'refused';
}

export interface TextItem extends Common {
  kind: 'text';
  text: string;
  /** False while it streams. */
  done: boolean;
}

/** What the model thinks before it answers. */
export interface ThoughtItem extends Common {
  kind: 'thought';
  text: string;
  done: boolean;
  /** undefined until it is done. */
  durationMs?: number;
}

export interface ToolItem extends Common {
  kind: 'tool';
  toolCallId: string;
  name: string;
  arguments: string;
  status: 'running' | 'ok' | 'error' | 'denied' | 'timeout' | 'cancelled' | 'unknown';
  summary: string;
  /** The latest lines while it runs. */
  lines: string[];
  /** Whole output; undefined until somebody asked for it. */
  output?: string;
  diff: string;
  files: string[];
  durationMs?: number;
}

export interface ApprovalItem extends Common {
  kind: 'approval';
  approval: Approval;
  /** undefined: it waits. */
  decision?: string;
}

/** The model waits for an answer. */
export interface QuestionItem extends Common {
  kind: 'question';
  questionId: string;
  question: string;
  options: readonly string[];
  /** undefined: it waits; '': there was none. */
  answer?: string;
}

export interface NoticeItem extends Common {
  kind: 'notice';
  severity: 'info' | 'warning' | 'error';
  text: string;
}

export interface EndItem extends Common {
  kind: 'end';
  status: TurnStatus;
  /** undefined: the turn ended before this window came, so what it changed is not known here. */
  durationMs?: number;
  /** The answer is a plan, and nothing was changed. */
  plan?: boolean;
}

export type Item = UserItem | TextItem | ThoughtItem | ToolItem | ApprovalItem | QuestionItem | NoticeItem | EndItem;

export interface TurnState {
  turnId: string;
  title: string;
  status: TurnStatus;
  /** By number of the call. */
  calls: Call[];
  stages?: Stages;
  plan: readonly Step[];
  files: readonly FileDiff[];
  undone?: Pick<TurnUndone, 'restored' | 'conflicts' | 'undoId'>;
}

export interface SessionState {
  sessionId: string;
  model: string;
  note: string;
  hosting: 'live' | 'attached' | 'lost';
  /** How full the conversation is; undefined until a call said it. */
  context?: ContextSize;
  items: Item[];
  /** Items made here so far. A key is never given twice: items change places, so the last one's key says nothing. */
  made: number;
  turns: TurnState[];
  /** Entry index of the oldest transcript entry that is shown, and whether there are older ones. */
  oldest: number;
  more: boolean;
}

/** The server as the host sees it. */
export interface HostState {
  phase: 'unsupported' | 'no folder' | 'looking' | 'missing' | 'installing' | 'starting' | 'running' | 'restarting' | 'failed' | 'stopped';
  text: string;
}

export interface AppState {
  host: HostState;
  status: readonly Category[];
  sessions: readonly Session[];
  current: string | null;
  states: Record<string, SessionState>;
}

/** What the host adds to the server's events. */
export type LocalEvent =
  | { type: 'local.host'; host: HostState }
  | { type: 'local.sessions'; sessions: readonly Session[] }
  | { type: 'local.show'; sessionId: string | null }
  | { type: 'local.session'; session: Session }
  | { type: 'local.forget'; sessionId: string }
  | { type: 'local.asked'; sessionId: string; turnId: string; text: string }
  | { type: 'local.transcript'; sessionId: string; entries: readonly Entry[]; more: boolean }
  | { type: 'local.output'; sessionId: string; toolCallId: string; text: string }
  | { type: 'local.lost' };

export type AppEvent = AnyEvent | LocalEvent;

/** What an event changed, for whoever draws it. */
export interface Change {
  sessionId: string | null;
  /** Keys of items that are new or differ. */
  items: string[];
  /** Items came before others, or went: draw all of them anew. */
  all: boolean;
}

/** How many model calls a turn made, as far as is known. */
export function callsOf(turn: TurnState): number {
  return Math.max(turn.stages?.calls ?? 0, turn.calls.length);
}

export function emptyApp(): AppState {
  return { host: { phase: 'looking', text: '' }, status: [], sessions: [], current: null, states: {} };
}

export function emptySession(sessionId: string): SessionState {
  return { sessionId, model: '', note: '', hosting: 'live', items: [], made: 0, turns: [], oldest: 0, more: false };
}
