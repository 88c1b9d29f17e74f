/** Reading a unified diff, and taking it back from a text. Pure. */
import { splitLines } from './lines';

interface PatchHunk {
  /** Where it begins in the new text, from 0. */
  readonly at: number;
  /** How many lines its header says it has on either side. */
  readonly counts: readonly [number, number];
  readonly before: string[];
  readonly after: string[];
}

export interface Patch {
  readonly created: boolean;
  readonly deleted: boolean;
  readonly hunks: readonly PatchHunk[];
}

const AT = /^@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/;

/** undefined: it is no whole diff of one file. */
export function readPatch(text: string): Patch | undefined {
  const lines = splitLines(text);
  const hunks: PatchHunk[] = [];
  let created = false;
  let deleted = false;
  let current: PatchHunk | undefined;
  let last: string[][] = [];
  for (const line of lines) {
    const at = AT.exec(line);
    if (at !== null) {
      const start = Number(at[2]);
      const counts = [Number(at[1] ?? 1), Number(at[3] ?? 1)] as const;
      current = { at: at[3] === '0' ? start : start - 1, counts, before: [], after: [] };
      hunks.push(current);
    } else if (current === undefined) {
      if (line.startsWith('--- /dev/null')) created = true;
      if (line.startsWith('+++ /dev/null')) deleted = true;
    } else if (line.startsWith('\\')) {
      for (const side of last) {
        const end = side.pop();
        if (end !== undefined) side.push(end.replace(/\n$/, ''));
      }
    } else {
      const sign = line[0] ?? '';
      if (!' +-'.includes(sign) || !line.endsWith('\n')) return undefined;
      last = sign === ' ' ? [current.before, current.after] : sign === '-' ? [current.before] : [current.after];
      for (const side of last) side.push(line.slice(1));
    }
  }
  const whole = hunks.every(({ before, after, counts }) => before.length === counts[0] && after.length === counts[1]);
  return hunks.length === 0 || !whole ? undefined : { created, deleted, hunks };
}

/**
 * The text as it was before the patch. Hunks are looked for around where they should be, as somebody may have typed
 * since. undefined: they are not there.
 */
export function takeBack(now: string, patch: Patch): string | undefined {
  const lines = splitLines(now);
  const before: string[] = [];
  let done = 0;
  let shift = 0;
  for (const hunk of patch.hunks) {
    const at = nearest(lines, hunk.after, hunk.at + shift, done);
    if (at === undefined) return undefined;
    shift = at - hunk.at;
    before.push(...lines.slice(done, at), ...hunk.before);
    done = at + hunk.after.length;
  }
  before.push(...lines.slice(done));
  return before.join('');
}

function nearest(lines: readonly string[], wanted: readonly string[], at: number, from: number): number | undefined {
  const fits = (start: number): boolean =>
    start >= from && start + wanted.length <= lines.length && wanted.every((line, index) => lines[start + index] === line);
  for (let away = 0; away <= lines.length; away += 1) {
    if (fits(at + away)) return at + away;
    if (away > 0 && fits(at - away)) return at - away;
  }
  return undefined;
}
