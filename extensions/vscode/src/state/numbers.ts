/** Numbers as people read them: unit beside the number, unknown is "–". Pure. */

export const UNKNOWN = '–';

export function showMs(ms: number | undefined): string {
  if (ms === undefined) return UNKNOWN;
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(ms < 10_000 ? 2 : 1)} s`;
  const seconds = Math.round(ms / 1_000);
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

export function showRate(tokensPerS: number | undefined): string {
  if (tokensPerS === undefined) return `${UNKNOWN} tok/s`;
  return `${tokensPerS < 10 ? tokensPerS.toFixed(1) : showCount(Math.round(tokensPerS))} tok/s`;
}

export function showShare(share: number | undefined): string {
  return share === undefined ? UNKNOWN : `${Math.round(share * 100)} %`;
}

/** `ctx 34 %` of what the model takes, `ctx 12,345` where that is not known; "" while nothing is. */
export function showContext(size: { tokens: number; windowTokens?: number; estimated?: boolean } | undefined): string {
  if (size === undefined) return '';
  const about = size.estimated === true ? '~' : '';
  if (size.windowTokens === undefined) return `ctx ${about}${showCount(size.tokens)}`;
  return `ctx ${about}${showShare(size.tokens / size.windowTokens)}`;
}

export function showCount(count: number | undefined): string {
  return count === undefined ? UNKNOWN : count.toLocaleString('en-US');
}

/** `3 calls`, `1 call`; 0 and undefined are not known yet. */
export function showCalls(calls: number | undefined): string {
  if (calls === undefined || calls === 0) return `${UNKNOWN} calls`;
  return `${showCount(calls)} call${calls === 1 ? '' : 's'}`;
}
