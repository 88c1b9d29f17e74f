import assert from 'node:assert/strict';
import { test } from 'node:test';
import { taskOf } from '../src/host/task';
import { page, policy } from '../src/view/html';
import type { Mention } from '../src/view/messages';
import { inline, parse } from '../src/webview/markdown';
import type { Block, Inline } from '../src/webview/markdown';
import { complete, kept, mentionAt } from '../src/webview/mention';
import { output, visible } from '../src/webview/plain';
import { pathOf, subject } from '../src/webview/tool_text';

/** Processor time, which a busy machine does not stretch. */
function cpuMs(): number {
  return process.cpuUsage().user / 1_000;
}

/** Every character that a tree shows, in order. */
function textOf(pieces: readonly (Block | Inline | Block[] | Inline[])[]): string {
  return pieces.map((piece) => {
    if (Array.isArray(piece)) return textOf(piece);
    if ('children' in piece) return textOf(piece.children);
    if ('items' in piece) return textOf(piece.items.flat());
    if ('head' in piece) return textOf([...piece.head, ...piece.rows.flat()]);
    return 'text' in piece ? piece.text : '';
  }).join('');
}

test('blocks', () => {
  const found = parse('# Title\n\nSome *words*\nand more\n\n- one\n- two\n  - inner\n\n1. first\n2) second\n\n> said\n\n---\n\n```py\nx = 1\n\n```\nafter');
  assert.deepEqual(found.map((block) => block.kind), ['heading', 'paragraph', 'list', 'list', 'quote', 'rule', 'code', 'paragraph']);
  const [, , bullets, numbers, , , code] = found;
  assert.ok(bullets?.kind === 'list' && !bullets.ordered && bullets.items.length === 2);
  assert.equal(bullets.items[1]?.[1]?.kind, 'list');
  assert.ok(numbers?.kind === 'list' && numbers.ordered && numbers.items.length === 2);
  assert.deepEqual(code, { kind: 'code', language: 'py', text: 'x = 1\n' });
});

test('a fence that does not close holds the rest: it still streams', () => {
  assert.deepEqual(parse('```\n<b>'), [{ kind: 'code', language: '', text: '<b>' }]);
});

test('tables', () => {
  const [table] = parse('| a | b |\n|---|--:|\n| 1 | x \\| y |\n| 2 |\n');
  assert.ok(table?.kind === 'table');
  assert.equal(table.rows.length, 2);
  assert.deepEqual(table.rows[0]?.[1], [{ kind: 'text', text: 'x | y' }]);
  assert.equal(parse('a | b\nno table')[0]?.kind, 'paragraph');
});

test('emphasis, code and links', () => {
  assert.deepEqual(inline('a **b _c_** `d*e*` ~~f~~'), [
    { kind: 'text', text: 'a ' },
    { kind: 'strong', children: [{ kind: 'text', text: 'b ' }, { kind: 'em', children: [{ kind: 'text', text: 'c' }] }] },
    { kind: 'text', text: ' ' }, { kind: 'code', text: 'd*e*' }, { kind: 'text', text: ' ' },
    { kind: 'del', children: [{ kind: 'text', text: 'f' }] },
  ]);
  assert.deepEqual(inline('snake_case_name 2 * 3 * 4'), [{ kind: 'text', text: 'snake_case_name 2 * 3 * 4' }]);
  assert.deepEqual(inline('[x](https://a.b/c_(d) "t")'), [{ kind: 'link', url: 'https://a.b/c_(d)', children: [{ kind: 'text', text: 'x' }] }]);
});

test('HTML and images are text', () => {
  const hostile = '<script>alert(1)</script> <img src=x onerror=alert(1)> ![pic](http://bait/x.png "t")';
  assert.deepEqual(inline(hostile), [{ kind: 'text', text: hostile }]);
  assert.deepEqual(parse('<div>\n![a][b]\n</div>').map((block) => block.kind), ['paragraph']);
});

test('no word is lost', () => {
  for (const text of ['a*b', '**', '`', '[a](', '![', '\\', '_a_b_', '***x***', '~~', '[a]()', '`` a ` b ``', 'x\\*y', '1.', '-', '> ', '#', '| |']) {
    const letters = (given: string): string => given.replace(/[^a-z]/g, '');
    assert.equal(letters(textOf(parse(text))), letters(text), text);
  }
});

test('a text that is made to be slow is not', () => {
  const began = cpuMs();
  for (const piece of ['*a ', '_a ', '**a', '`a ', '[a](', '![', '> ', '- ', '~~a', '[', '<', '|', '\\']) parse(piece.repeat(30_000));
  parse(`${'> '.repeat(2_000)}deep`);
  parse(Array.from({ length: 2_000 }, (_, at) => `${' '.repeat(at)}- x`).join('\n'));
  assert.ok(cpuMs() - began < 6_000, `${cpuMs() - began} ms`);
});

test('control characters and marks that reorder text are seen', () => {
  for (const found of ['\u061c', '\u200b', '\u2028', '\u2066', '\ufeff', '\u00ad', '\u{e0041}', '\u009b', '\u007f']) {
    const shown = visible(`a${found}b`);
    assert.ok(!shown.includes(found) && shown.length > 2, JSON.stringify(found));
    assert.equal(visible(shown), shown, 'once is enough');
  }
  assert.equal(visible('a\u001b[31mred\u0007\r\nb\u202ec\u0000\td'), 'a\u241b[31mred\u2407\nb\u27e8U+202E\u27e9c\u2400\td');
  assert.equal(output('\u001b[31mred\u001b[0m \u001b]0;title\u0007x'), 'red x');
});

test('the page may load nothing from elsewhere, and only our script runs', () => {
  const parts = { nonce: 'abc', source: 'https://webview.example', script: 's.js', style: 's.css' };
  const rules = new Map(policy(parts).split('; ').map((rule): [string, string] => [rule.split(' ')[0] ?? '', rule.slice(rule.indexOf(' ') + 1)]));
  assert.equal(rules.get('default-src'), "'none'");
  assert.equal(rules.get('script-src'), "'nonce-abc'");
  for (const kind of ['img-src', 'connect-src', 'frame-src', 'font-src', 'form-action', 'base-uri']) assert.equal(rules.get(kind), "'none'");
  assert.ok(!policy(parts).includes('unsafe'));
  assert.ok(page(parts).indexOf('Content-Security-Policy') < page(parts).indexOf('<link'));
});

const FILE: Mention = { kind: 'file', label: 'src/a.py', detail: '', reference: 'src/a.py' };

test('mentions', () => {
  assert.deepEqual(mentionAt('look at @src', 12), { start: 8, query: 'src' });
  assert.deepEqual(mentionAt('@', 1), { start: 0, query: '' });
  assert.equal(mentionAt('me@example', 10), null);
  assert.equal(mentionAt('@src done', 9), null);
  assert.deepEqual(complete('look at @sr please', 8, 11, FILE), { text: 'look at @src/a.py please', caret: 18 });
  assert.deepEqual(kept('see @src/a.py', [FILE, FILE]), [FILE]);
  assert.deepEqual(kept('see nothing', [FILE]), []);
  assert.equal(taskOf('see @src/a.py', [FILE]), 'see @src/a.py\n\nMentioned: `src/a.py`');
});

test('what a tool call is about', () => {
  assert.equal(subject({ name: 'read', arguments: '{"path":"a.py","start":3,"end":9}' }), 'a.py:3-9');
  assert.equal(subject({ name: 'shell', arguments: '{"command":"make test\\nrm -r"}' }), 'make test');
  assert.equal(subject({ name: 'x', arguments: 'not json' }), '');
  assert.deepEqual(pathOf({ name: 'edit', arguments: '{"path":"a.py"}', files: [] }), { path: 'a.py', line: null });
  assert.equal(pathOf({ name: 'shell', arguments: '{"path":"a.py"}', files: [] }), null);
});
