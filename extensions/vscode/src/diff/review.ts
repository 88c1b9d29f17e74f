/**
 * What is left to review of files that turns changed. Pure.
 *
 * Each file has a base: its text before the first change that nobody decided on yet. Accepting a hunk moves it into the
 * base, rejecting one is an edit of the file that brings the base's lines back.
 */
import type { FileDiff, TurnFile } from '../protocol';
import { compare, splitLines } from './lines';
import type { Hunk } from './lines';
import { readPatch, takeBack } from './patch';

export interface ReviewHunk {
  /** First line in the file as it is now, from 1. */
  readonly line: number;
  readonly added: number;
  readonly removed: number;
}

export interface ReviewFile {
  readonly uri: string;
  readonly path: string;
  /** `unknown`: its diff was too long to be sent whole, so the text before is not known here. */
  readonly kind: 'changed' | 'created' | 'deleted' | 'unknown';
  readonly added: number;
  readonly removed: number;
  readonly hunks: readonly ReviewHunk[];
  readonly by: By;
}

/** Who changed it: the agent's own edits, commands that it ran, or both. */
export type By = NonNullable<FileDiff['by']>;

/** What of a file counts where its diff is not read. */
type Counted = Pick<FileDiff, 'uri' | 'path' | 'added' | 'removed' | 'by'>;

/** null: there is no such file. */
type Text = string | null;

interface Entry {
  readonly path: string;
  turnId: string;
  /** The turn whose diff the base comes from. */
  readonly since: string;
  /** Part of it was accepted, so undoing the turn goes behind the base. */
  accepted: boolean;
  /** The user accepted or rejected something of it. */
  decided: boolean;
  /** The base is the server's own word, and not taken back from a diff. */
  exact: boolean;
  by: By;
  base: Text;
  now: Text;
}

/** Replace lines `[start, end)`, from 0, by `text`. */
export interface LineEdit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

export class ReviewBook {
  private readonly entries = new Map<string, Entry>();
  private readonly unknown = new Map<string, Counted>();

  /** A turn changed these files so far; `now` is each one's text. */
  note(turnId: string, files: readonly FileDiff[], now: ReadonlyMap<string, Text>): void {
    for (const file of files) {
      const text = now.get(file.uri) ?? null;
      this.take(turnId, file, text, () => baseOf(file, text), false);
    }
  }

  /** A turn ended, and the server says what the files were before it. */
  settle(turnId: string, files: readonly TurnFile[], now: ReadonlyMap<string, Text>): void {
    for (const file of files) {
      const { path, uri, added = 0, removed = 0, diff = '', by = 'edit' } = file;
      const counted = { path, uri, added, removed, diff, by };
      const text = now.get(uri) ?? null;
      // where somebody typed since, the text before would make their words look like the turn's
      const untouched = same(text, file.exists ? (file.after ?? null) : null);
      const before = (): Text | undefined => (!file.existed ? null : untouched ? file.before : (baseOf(counted, text) ?? file.before));
      this.take(turnId, counted, text, before, untouched);
    }
  }

  private take(
    turnId: string, file: Counted, now: Text, before: () => Text | undefined, exact: boolean,
  ): void {
    const known = this.entries.get(file.uri);
    if (known !== undefined) known.now = now;
    const by = file.by ?? 'edit';
    if (known !== undefined && (known.turnId === turnId || differs(known))) {
      // a turn says of itself all there is, an earlier one's part stays
      known.by = known.by === by || known.since === turnId ? by : 'both';
      known.turnId = turnId;
      // a diff may be older than the text that it came with, the turn's last one is not
      if (known.since !== turnId || known.decided || (known.exact && !exact)) return;
      const base = before();
      if (base !== undefined) Object.assign(known, { base, exact });
      return;
    }
    const base = before();
    if (base === undefined) {
      this.unknown.set(file.uri, file);
      return;
    }
    this.unknown.delete(file.uri);
    this.entries.set(file.uri, { path: file.path, turnId, since: turnId, accepted: false, decided: false, exact, by, base, now });
  }

  /** A file's text is now this. */
  update(uri: string, now: Text): void {
    const entry = this.entries.get(uri);
    if (entry !== undefined) entry.now = now;
  }

  /** Files were put back by the user's own word, which leaves nothing to decide on where part was accepted. */
  undone(paths: readonly string[]): void {
    for (const [uri, file] of this.unknown) if (paths.includes(file.path)) this.unknown.delete(uri);
    for (const [uri, entry] of this.entries) {
      if (paths.includes(entry.path) && entry.accepted) this.entries.delete(uri);
    }
  }

  has(uri: string): boolean {
    return this.entries.has(uri);
  }

  uris(): string[] {
    return [...this.entries.keys()];
  }

  base(uri: string): Text | undefined {
    return this.entries.get(uri)?.base;
  }

  /** Files with something to decide on, by path. */
  files(): ReviewFile[] {
    const found: ReviewFile[] = [];
    for (const [uri, entry] of this.entries) {
      if (!differs(entry)) continue;
      const hunks = hunksOf(entry).map((hunk) => ({
        line: hunk.nowStart + 1, added: hunk.nowEnd - hunk.nowStart, removed: hunk.baseEnd - hunk.baseStart,
      }));
      const kind = entry.base === null ? 'created' : entry.now === null ? 'deleted' : 'changed';
      const sum = (side: 'added' | 'removed'): number => hunks.reduce((total, hunk) => total + hunk[side], 0);
      found.push({ uri, path: entry.path, kind, added: sum('added'), removed: sum('removed'), hunks, by: entry.by });
    }
    for (const { uri, path, added, removed, by = 'edit' } of this.unknown.values()) {
      found.push({ uri, path, kind: 'unknown', added, removed, hunks: [], by });
    }
    return found.sort((one, other) => (one.path < other.path ? -1 : 1));
  }

  /** Accept a hunk, or without one the whole file. */
  accept(uri: string, index: number | null): void {
    this.unknown.delete(uri);
    const entry = this.entries.get(uri);
    if (entry === undefined) return;
    entry.accepted = true;
    entry.decided = true;
    if (index === null || entry.base === null || entry.now === null) {
      entry.base = entry.now;
      return;
    }
    const hunk = hunksOf(entry)[index];
    if (hunk === undefined) return;
    const base = splitLines(entry.base);
    base.splice(hunk.baseStart, hunk.baseEnd - hunk.baseStart, ...splitLines(entry.now).slice(hunk.nowStart, hunk.nowEnd));
    entry.base = base.join('');
  }

  /**
   * What rejecting a hunk (without one: the whole file) comes to: edits of the file, last one first; or that the file is
   * to be deleted, or written again.
   */
  reject(uri: string, index: number | null): { edits: LineEdit[] } | { remove: true } | { write: string } | null {
    const entry = this.entries.get(uri);
    if (entry === undefined || !differs(entry)) return null;
    entry.decided = true;
    if (entry.base === null) return { remove: true };
    if (entry.now === null) return { write: entry.base };
    const base = splitLines(entry.base);
    const hunks = hunksOf(entry);
    const chosen = index === null ? hunks : hunks.slice(index, index + 1);
    const edits = chosen.map((hunk) => ({
      start: hunk.nowStart, end: hunk.nowEnd, text: base.slice(hunk.baseStart, hunk.baseEnd).join(''),
    }));
    return edits.length === 0 ? null : { edits: edits.reverse() };
  }

  /** The hunk at or after a line (from 0), wrapping around; null if there is none. */
  hunkAt(uri: string, line: number, direction: 'here' | 'next' | 'previous'): number | null {
    const entry = this.entries.get(uri);
    if (entry === undefined || entry.base === null || entry.now === null) return null;
    const hunks = hunksOf(entry);
    if (hunks.length === 0) return null;
    const within = hunks.findIndex((hunk) => line >= hunk.nowStart && line < Math.max(hunk.nowEnd, hunk.nowStart + 1));
    if (direction === 'here') return within >= 0 ? within : null;
    if (direction === 'next') {
      const next = hunks.findIndex((hunk) => hunk.nowStart > line);
      return next >= 0 ? next : 0;
    }
    const previous = hunks.findLastIndex((hunk) => hunk.nowStart < line);
    return previous >= 0 ? previous : hunks.length - 1;
  }

  hunk(uri: string, index: number): Hunk | undefined {
    const entry = this.entries.get(uri);
    return entry === undefined ? undefined : hunksOf(entry)[index];
  }
}

function differs(entry: Entry): boolean {
  return !same(entry.base, entry.now);
}

/** Whatever ends their lines. */
function same(one: Text, other: Text): boolean {
  if (one === null || other === null) return one === other;
  return splitLines(one).join('') === splitLines(other).join('');
}

function hunksOf(entry: Entry): Hunk[] {
  return compare(splitLines(entry.base ?? ''), splitLines(entry.now ?? ''));
}

function baseOf(file: FileDiff, now: Text): Text | undefined {
  const patch = readPatch(file.diff);
  if (patch === undefined) return undefined;
  const count = (side: 'before' | 'after'): number => patch.hunks.reduce((sum, hunk) => sum + hunk[side].length, 0);
  if (count('after') - count('before') !== file.added - file.removed) return undefined;
  if (patch.created) return null;
  return takeBack(now ?? '', patch);
}
