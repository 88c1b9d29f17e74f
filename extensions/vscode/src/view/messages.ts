/** What the host and the page of the session view say to each other. */
import type { AppEvent, AppState } from '../state/model';
import type { ReviewFile } from '../diff/review';

export interface Selection {
  readonly uri: string;
  /** As people read it, e.g. `src/stock.py:40-52`. */
  readonly label: string;
}

export interface Mention {
  readonly kind: 'file' | 'symbol';
  /** What the composer shows after the `@`. */
  readonly label: string;
  readonly detail: string;
  /** What the task says, e.g. `src/stock.py` or `total (src/stock.py:12)`. */
  readonly reference: string;
}

export type ToPage =
  | { type: 'state'; app: AppState; review: readonly ReviewFile[]; selection: Selection | null }
  | { type: 'events'; events: readonly AppEvent[] }
  | { type: 'review'; files: readonly ReviewFile[] }
  | { type: 'selection'; selection: Selection | null }
  | { type: 'mentions'; request: number; found: readonly Mention[] }
  | { type: 'insert'; text: string }
  | { type: 'do'; what: 'focus' | 'breakdown' | 'sessions' | 'next approval' };

export type ToHost =
  | { type: 'ready' }
  | { type: 'send'; text: string; mentions: readonly Mention[]; selection: boolean; how: 'start' | 'plan' | 'steer' | 'queue' }
  | { type: 'cancel'; turnId: string }
  | { type: 'undo'; turnId: string }
  | { type: 'answer'; approvalId: string; decision: 'allow' | 'always' | 'deny' }
  | { type: 'reply'; questionId: string; answer: string }
  | { type: 'carry out' }
  | { type: 'output'; sessionId: string; toolCallId: string }
  | { type: 'older'; sessionId: string }
  | { type: 'mentions'; request: number; query: string }
  | { type: 'review'; action: 'open' | 'accept' | 'reject'; uri: string | null; hunk: number | null }
  | { type: 'open'; path: string; line: number | null }
  | { type: 'link'; url: string }
  | { type: 'copy'; text: string }
  | { type: 'sessions' }
  | { type: 'resume'; sessionId: string }
  | { type: 'run'; command: PageCommand };

/** Commands that buttons of the page run. */
export const PAGE_COMMANDS = [
  'loopline.newSession', 'loopline.compact', 'loopline.chooseModel', 'loopline.openDashboard', 'loopline.installServer',
  'loopline.restartServer', 'loopline.setKey', 'loopline.showLog', 'loopline.openSettings', 'loopline.openFolder', 'loopline.trustFolder',
] as const;
export type PageCommand = (typeof PAGE_COMMANDS)[number];
