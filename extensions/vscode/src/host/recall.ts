/** Which session is shown after a window or the server came back. Pure. */
import type { Session } from '../protocol';

export interface Recall {
  readonly sessionId: string;
  /** Open it with the server: a turn of it runs, or something in it waits. Else only its transcript is shown. */
  readonly resume: boolean;
}

/** `last` is what was shown before; it wins over others, unless another one runs and it does not. */
export function recall(sessions: readonly Session[], last: string | null): Recall | null {
  const running = sessions.filter(runs);
  const before = sessions.find((one) => one.sessionId === last);
  if (before?.state === 'elsewhere' && before.turns === undefined) return { sessionId: before.sessionId, resume: true };
  const chosen = running.find((one) => one.sessionId === last) ?? running[0] ?? before;
  return chosen === undefined ? null : { sessionId: chosen.sessionId, resume: runs(chosen) };
}

function runs(session: Session): boolean {
  if ((session.approvals ?? []).length > 0) return true;
  return (session.turns ?? []).some((turn) => turn.status === 'running' || turn.status === 'queued');
}
