/** What differs between two texts, line by line. Pure. */

/** Lines `base[baseStart, baseEnd)` became lines `now[nowStart, nowEnd)`; all from 0. */
export interface Hunk {
  readonly baseStart: number;
  readonly baseEnd: number;
  readonly nowStart: number;
  readonly nowEnd: number;
}

const MAX_COST = 2_000;

/** Lines with their ends, so that joining them gives the text again. Line ends count as "\n". */
export function splitLines(text: string): string[] {
  const lines = text.replace(/\r\n?/g, '\n').split(/(?<=\n)/);
  return lines.length === 1 && lines[0] === '' ? [] : lines;
}

/** Hunks in order. Beyond a cost that no person reviews, everything between the equal ends is one hunk. */
export function compare(base: readonly string[], now: readonly string[]): Hunk[] {
  let head = 0;
  while (head < base.length && head < now.length && base[head] === now[head]) head += 1;
  let tail = 0;
  while (tail < base.length - head && tail < now.length - head && base[base.length - 1 - tail] === now[now.length - 1 - tail]) tail += 1;
  const from = base.slice(head, base.length - tail);
  const to = now.slice(head, now.length - tail);
  if (from.length === 0 && to.length === 0) return [];
  const whole: Hunk = { baseStart: head, baseEnd: head + from.length, nowStart: head, nowEnd: head + to.length };
  if (from.length === 0 || to.length === 0) return [whole];
  const script = shortest(from, to);
  if (script === null) return [whole];
  return gather(script).map((hunk) => ({
    baseStart: hunk.baseStart + head, baseEnd: hunk.baseEnd + head, nowStart: hunk.nowStart + head, nowEnd: hunk.nowEnd + head,
  }));
}

type Step = 'keep' | 'remove' | 'add';

/** The shortest edit script after Myers ("An O(ND) difference algorithm and its variations", 1986); null: too long. */
function shortest(from: readonly string[], to: readonly string[]): Step[] | null {
  const n = from.length;
  const m = to.length;
  const limit = Math.min(n + m, MAX_COST);
  const reach = new Int32Array(2 * limit + 3);
  const at = (k: number): number => reach[k + limit + 1] ?? 0;
  const trace: Int32Array[] = [];
  for (let d = 0; d <= limit; d += 1) {
    trace.push(reach.slice(limit + 1 - d - 1, limit + 1 + d + 2));
    for (let k = -d; k <= d; k += 2) {
      let x = k === -d || (k !== d && at(k - 1) < at(k + 1)) ? at(k + 1) : at(k - 1) + 1;
      while (x < n && x - k < m && from[x] === to[x - k]) x += 1;
      reach[k + limit + 1] = x;
      if (x >= n && x - k >= m) return backtrack(trace, d, n, m);
    }
  }
  return null;
}

function backtrack(trace: readonly Int32Array[], depth: number, n: number, m: number): Step[] {
  const steps: Step[] = [];
  let x = n;
  let y = m;
  for (let d = depth; d > 0; d -= 1) {
    const reached = trace[d] ?? new Int32Array();
    const at = (k: number): number => reached[k + d + 1] ?? 0;
    const k = x - y;
    const before = k === -d || (k !== d && at(k - 1) < at(k + 1)) ? k + 1 : k - 1;
    const fromX = at(before);
    const fromY = fromX - before;
    while (x > fromX && y > fromY) {
      steps.push('keep');
      x -= 1;
      y -= 1;
    }
    steps.push(before === k + 1 ? 'add' : 'remove');
    x = fromX;
    y = fromY;
  }
  for (; x > 0 && y > 0; x -= 1, y -= 1) steps.push('keep');
  return steps.reverse();
}

function gather(script: readonly Step[]): Hunk[] {
  const hunks: Hunk[] = [];
  let base = 0;
  let now = 0;
  let open: { baseStart: number; nowStart: number } | null = null;
  const close = (): void => {
    if (open !== null) hunks.push({ ...open, baseEnd: base, nowEnd: now });
    open = null;
  };
  for (const step of script) {
    if (step === 'keep') close();
    else open ??= { baseStart: base, nowStart: now };
    if (step !== 'add') base += 1;
    if (step !== 'remove') now += 1;
  }
  close();
  return hunks;
}
