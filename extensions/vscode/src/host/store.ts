/** The host's copy of the state; whoever shows some of it listens. */
import { emptyApp } from '../state/model';
import type { AppEvent, AppState, SessionState, TurnState } from '../state/model';
import { reduce } from '../state/reducer';

type Listener = (events: readonly AppEvent[]) => void;

export class Store {
  readonly app: AppState = emptyApp();
  private readonly listeners = new Set<Listener>();

  put(...events: AppEvent[]): void {
    for (const event of events) reduce(this.app, event);
    for (const listener of this.listeners) listener(events);
  }

  listen(listener: Listener): { dispose(): void } {
    this.listeners.add(listener);
    return { dispose: () => void this.listeners.delete(listener) };
  }

  get session(): SessionState | undefined {
    return this.app.current === null ? undefined : this.app.states[this.app.current];
  }

  /** The turn of the shown session that runs, or that ran last. */
  get turn(): TurnState | undefined {
    const turns = this.session?.turns ?? [];
    return turns.findLast((turn) => turn.status === 'running') ?? turns.at(-1);
  }

  get running(): TurnState | undefined {
    return this.session?.turns.findLast((turn) => turn.status === 'running');
  }

  /** Any turn of any session that runs or waits for its turn. */
  get busy(): boolean {
    return Object.values(this.app.states).some((session) =>
      session.turns.some((turn) => turn.status === 'running' || turn.status === 'queued'));
  }
}
