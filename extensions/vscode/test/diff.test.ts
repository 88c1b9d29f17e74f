import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compare, splitLines } from '../src/diff/lines';
import { readPatch, takeBack } from '../src/diff/patch';
import { ReviewBook } from '../src/diff/review';
import type { LineEdit } from '../src/diff/review';

/** Processor time, which a busy machine does not stretch. */
function cpuMs(): number {
  return process.cpuUsage().user / 1_000;
}

/** A generator with a seed, so that a failure can be had again. */
function random(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

function apply(text: string, edits: readonly LineEdit[]): string {
  const lines = splitLines(text);
  for (const { start, end, text: put } of edits) lines.splice(start, end - start, put);
  return lines.join('');
}

test('hunks turn one text into the other, and are as few lines as can be', () => {
  for (let seed = 1; seed <= 400; seed += 1) {
    const next = random(seed);
    const line = (): string => `${'abcd'[Math.floor(next() * 4)] ?? ''}\n`;
    const base = Array.from({ length: Math.floor(next() * 12) }, line);
    const now = base.flatMap((one) => (next() < 0.2 ? [] : next() < 0.2 ? [one, line()] : [one]));
    const hunks = compare(base, now);
    const made = base.slice();
    for (const hunk of hunks.toReversed()) made.splice(hunk.baseStart, hunk.baseEnd - hunk.baseStart, ...now.slice(hunk.nowStart, hunk.nowEnd));
    assert.deepEqual(made, now, `seed ${seed}`);
    const kept = base.length - hunks.reduce((sum, hunk) => sum + hunk.baseEnd - hunk.baseStart, 0);
    assert.equal(kept, longestCommon(base, now), `seed ${seed}`);
  }
});

function longestCommon(one: readonly string[], other: readonly string[]): number {
  const row = new Array<number>(other.length + 1).fill(0);
  for (const a of one) {
    let before = 0;
    other.forEach((b, at) => {
      const above = row[at + 1] ?? 0;
      row[at + 1] = a === b ? before + 1 : Math.max(above, row[at] ?? 0);
      before = above;
    });
  }
  return row.at(-1) ?? 0;
}

test('two texts that share nothing are one hunk, and quickly so', () => {
  const one = Array.from({ length: 30_000 }, (_, at) => `a${at}\n`);
  const other = Array.from({ length: 30_000 }, (_, at) => `b${at}\n`);
  const began = cpuMs();
  assert.deepEqual(compare(one, other), [{ baseStart: 0, baseEnd: 30_000, nowStart: 0, nowEnd: 30_000 }]);
  assert.ok(cpuMs() - began < 3_000);
});

const PATCH = '--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n x\n-y\n-z\n\\ No newline at end of file\n+Y\n+z\n';

test('a diff is taken back, also where lines were typed above it', () => {
  const patch = readPatch(PATCH);
  assert.ok(patch);
  assert.equal(takeBack('x\nY\nz\n', patch), 'x\ny\nz');
  assert.equal(takeBack('typed\nx\nY\nz\n', patch), 'typed\nx\ny\nz');
  assert.equal(takeBack('something else\n', patch), undefined);
});

test('a diff that was cut off is no diff', () => {
  assert.equal(readPatch('--- a/a\n+++ b/a\n@@ -1 +1 @@\n-a\n+b'), undefined);
  assert.equal(readPatch('--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n-a\n+b\n'), undefined);
  assert.equal(readPatch(''), undefined);
});

const CREATED = '--- /dev/null\n+++ b/n.txt\n@@ -0,0 +1 @@\n+new\n\\ No newline at end of file\n';
const DELETED = '--- a/d.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n';

function diffOf(path: string, diff: string): { path: string; uri: string; added: number; removed: number; diff: string } {
  const count = (sign: string): number => diff.split('\n').filter((line) => line.startsWith(sign) && !line.startsWith(sign.repeat(3))).length;
  return { path, uri: `file:///w/${path}`, added: count('+'), removed: count('-'), diff };
}

test('created and deleted files are kept or put back as a whole', () => {
  const book = new ReviewBook();
  book.note('t1', [diffOf('n.txt', CREATED), diffOf('d.txt', DELETED)], new Map([['file:///w/n.txt', 'new']]));
  assert.deepEqual(book.files().map((file) => [file.path, file.kind]), [['d.txt', 'deleted'], ['n.txt', 'created']]);
  assert.deepEqual(book.reject('file:///w/n.txt', null), { remove: true });
  assert.deepEqual(book.reject('file:///w/d.txt', null), { write: 'gone\n' });
  book.accept('file:///w/n.txt', null);
  assert.deepEqual(book.files().map((file) => file.path), ['d.txt']);
});

const TWO = '--- a/a\n+++ b/a\n@@ -1,7 +1,7 @@\n-1\n+one\n 2\n 3\n 4\n 5\n 6\n-7\n+seven\n';
const BEFORE = '1\n2\n3\n4\n5\n6\n7\n';
const AFTER = 'one\n2\n3\n4\n5\n6\nseven\n';
const URI = 'file:///w/a';

function reviewed(): ReviewBook {
  const book = new ReviewBook();
  book.note('t1', [diffOf('a', TWO)], new Map([[URI, AFTER]]));
  return book;
}

test('a hunk that is accepted is no longer reviewed, one that is rejected is edited away', () => {
  const book = reviewed();
  assert.deepEqual(book.files()[0]?.hunks.map((hunk) => hunk.line), [1, 7]);
  assert.equal(book.base(URI), BEFORE);
  book.accept(URI, 0);
  assert.equal(book.base(URI), BEFORE.replace('1', 'one'));
  const found = book.reject(URI, 0);
  assert.ok(found !== null && 'edits' in found);
  book.update(URI, apply(AFTER, found.edits));
  assert.deepEqual(book.files(), []);
  assert.equal(apply(AFTER, found.edits), 'one\n2\n3\n4\n5\n6\n7\n');
});

test('rejecting a file brings the text before back', () => {
  const found = reviewed().reject(URI, null);
  assert.ok(found !== null && 'edits' in found);
  assert.equal(apply(AFTER, found.edits), BEFORE);
});

test('what was accepted stays accepted when the same turn goes on, and the next turn starts from it', () => {
  const book = reviewed();
  book.accept(URI, null);
  book.note('t1', [diffOf('a', TWO)], new Map([[URI, AFTER]]));
  assert.deepEqual(book.files(), []);
  const next = AFTER.replace('3', 'three');
  book.note('t2', [diffOf('a', '--- a/a\n+++ b/a\n@@ -1,4 +1,4 @@\n one\n 2\n-3\n+three\n 4\n')], new Map([[URI, next]]));
  assert.deepEqual(book.files()[0]?.hunks.map((hunk) => hunk.line), [3]);
});

test('what nobody decided on stays for review when the next turn changes the file', () => {
  const book = reviewed();
  const next = AFTER.replace('3', 'three');
  book.note('t2', [diffOf('a', '--- a/a\n+++ b/a\n@@ -1,4 +1,4 @@\n one\n 2\n-3\n+three\n 4\n')], new Map([[URI, next]]));
  assert.deepEqual(book.files()[0]?.hunks.map((hunk) => hunk.line), [1, 3, 7]);
});

test('a diff that is older than the text it came with is put right by the next one', () => {
  const book = new ReviewBook();
  book.note('t1', [diffOf('a', '--- a/a\n+++ b/a\n@@ -1,3 +1,3 @@\n-1\n+one\n 2\n 3\n')], new Map([[URI, AFTER]]));
  book.note('t1', [diffOf('a', TWO)], new Map([[URI, AFTER]]));
  assert.deepEqual(book.files()[0]?.hunks.map((hunk) => hunk.line), [1, 7]);
});

test('undoing a turn leaves nothing to review of it', () => {
  const untouched = reviewed();
  untouched.update(URI, BEFORE);
  untouched.undone(['a']);
  assert.deepEqual(untouched.files(), []);
  const accepted = reviewed();
  accepted.accept(URI, null);
  accepted.update(URI, BEFORE);
  accepted.undone(['a']);
  assert.deepEqual(accepted.files(), []);
});

test('a file whose diff was cut between hunks is named, and not taken back wrongly', () => {
  const book = new ReviewBook();
  const cut = { ...diffOf('a', TWO.slice(0, TWO.indexOf('@@ -1,7'))), added: 2, removed: 2 };
  book.note('t1', [cut], new Map([[URI, AFTER]]));
  assert.deepEqual(book.files().map((file) => file.kind), ['unknown']);
  const part = { ...diffOf('a', '--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n-1\n+one\n 2\n'), added: 3, removed: 2 };
  book.note('t1', [part], new Map([[URI, AFTER]]));
  assert.deepEqual(book.files().map((file) => file.kind), ['unknown']);
  book.accept(URI, null);
  assert.deepEqual(book.files(), []);
});

test('when a turn ends, the server says what the files were before it', () => {
  const file = { path: 'a', uri: URI, existed: true, exists: true, before: BEFORE, after: AFTER, added: 2, removed: 2 };
  const cut = new ReviewBook();
  cut.note('t1', [{ ...diffOf('a', TWO.slice(0, 20)), added: 2, removed: 2 }], new Map([[URI, AFTER]]));
  cut.settle('t1', [file], new Map([[URI, AFTER]]));
  assert.deepEqual(cut.files().map((one) => [one.kind, one.hunks.length]), [['changed', 2]]);
  const decided = reviewed();
  decided.accept(URI, 0);
  decided.settle('t1', [file], new Map([[URI, AFTER]]));
  assert.deepEqual(decided.files()[0]?.hunks.map((hunk) => hunk.line), [7]);
  const late = new ReviewBook();
  late.settle('t1', [file], new Map([[URI, AFTER]]));
  late.note('t1', [diffOf('a', '--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n-1\n+one\n 2\n')], new Map([[URI, AFTER]]));
  assert.equal(late.base(URI), BEFORE);
  const large = { path: 'a', uri: URI, existed: true, exists: true };
  const unknown = new ReviewBook();
  unknown.settle('t1', [large], new Map([[URI, AFTER]]));
  const typed = new ReviewBook();
  typed.settle('t1', [{ ...file, diff: TWO }], new Map([[URI, `${AFTER}typed\n`]]));
  assert.equal(typed.base(URI), `${BEFORE}typed\n`);
  assert.deepEqual(unknown.files().map((one) => one.kind), ['unknown']);
});

test('going from change to change wraps around', () => {
  const book = reviewed();
  assert.equal(book.hunkAt(URI, 0, 'here'), 0);
  assert.equal(book.hunkAt(URI, 3, 'here'), null);
  assert.equal(book.hunkAt(URI, 0, 'next'), 1);
  assert.equal(book.hunkAt(URI, 6, 'next'), 0);
  assert.equal(book.hunkAt(URI, 0, 'previous'), 1);
});
