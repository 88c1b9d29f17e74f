/** When a server that ended by itself is started again. Pure. */

export interface Backoff {
  /** Times of the latest crashes in ms, oldest first. */
  readonly crashes: readonly number[];
}

export const CALM_MS = 60_000;
export const MAX_CRASHES = 5;
const FIRST_MS = 500;
const LONGEST_MS = 15_000;

export const calm: Backoff = { crashes: [] };

/** After a crash at `nowMs`: how long to wait, or null to give up and leave it to the user. */
export function crashed(before: Backoff, nowMs: number): { after: Backoff; waitMs: number | null } {
  const crashes = [...before.crashes.filter((at) => nowMs - at < CALM_MS), nowMs];
  const waitMs = crashes.length >= MAX_CRASHES ? null : Math.min(LONGEST_MS, FIRST_MS * 2 ** (crashes.length - 1));
  return { after: { crashes }, waitMs };
}
