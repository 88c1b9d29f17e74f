/** What the parts of the page share: the state, and the way to the host. */
import type { AppState, SessionState, TurnState } from '../state/model';
import type { ToHost } from '../view/messages';
import type { Opens } from './markdown_view';

export interface Page extends Opens {
  readonly app: AppState;
  send(message: ToHost): void;
  /** Say something to those who listen instead of look. */
  announce(text: string): void;
}

export function shownSession(page: Page): SessionState | undefined {
  return page.app.current === null ? undefined : page.app.states[page.app.current];
}

export function runningTurn(session: SessionState | undefined): TurnState | undefined {
  return session?.turns.findLast((turn) => turn.status === 'running');
}

/** The turn whose figures are shown: the one that runs, else the last. */
export function figuresTurn(session: SessionState | undefined): TurnState | undefined {
  return runningTurn(session) ?? session?.turns.findLast((turn) => turn.calls.length > 0 || turn.stages !== undefined);
}
