/**
 * A small Markdown reader: what models write, as a tree of blocks. Pure. HTML and images are no part of it and stay
 * text; links keep their address for whoever draws them.
 */

export type Inline =
  | { kind: 'text'; text: string }
  | { kind: 'code'; text: string }
  | { kind: 'strong' | 'em' | 'del'; children: Inline[] }
  | { kind: 'link'; url: string; children: Inline[] }
  | { kind: 'break' };

export type Block =
  | { kind: 'paragraph'; children: Inline[] }
  | { kind: 'heading'; level: number; children: Inline[] }
  | { kind: 'code'; language: string; text: string }
  | { kind: 'quote'; children: Block[] }
  | { kind: 'list'; ordered: boolean; start: number; items: Block[][] }
  | { kind: 'table'; head: Inline[][]; rows: Inline[][][] }
  | { kind: 'rule' };

const FENCE = /^ {0,3}(`{3,}|~{3,})\s*([^`\s]*)[^`]*$/;
const HEADING = /^ {0,3}(#{1,6})\s+(.*?)\s*#*\s*$/;
const RULE = /^ {0,3}([-*_])(?:\s*\1){2,}\s*$/;
const ITEM = /^( {0,3})([-*+]|(\d{1,9})[.)])( +|$)(.*)$/;
const QUOTE = /^ {0,3}> ?(.*)$/;
const TABLE_RULE = /^ {0,3}\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$/;
const MAX_DEPTH = 8;
/** How far the ends of emphasis and code spans, and of links, are looked for, in characters. */
const MAX_SPAN = 500;
const MAX_LINK = 1_500;

export function parse(text: string): Block[] {
  return blocks(text.replace(/\r\n?/g, '\n').split('\n'), 0);
}

function blocks(lines: readonly string[], depth: number): Block[] {
  const found: Block[] = [];
  let at = 0;
  while (at < lines.length) {
    const line = lines[at] ?? '';
    if (line.trim() === '') {
      at += 1;
      continue;
    }
    const read = fence(lines, at) ?? heading(line, at) ?? rule(line, at) ?? table(lines, at)
      ?? (depth < MAX_DEPTH ? (quote(lines, at, depth) ?? list(lines, at, depth)) : undefined) ?? paragraph(lines, at);
    found.push(read.block);
    at = read.next;
  }
  return found;
}

interface Read {
  block: Block;
  next: number;
}

function fence(lines: readonly string[], at: number): Read | undefined {
  const open = FENCE.exec(lines[at] ?? '');
  if (open === null) return undefined;
  const mark = open[1] ?? '```';
  const closes = new RegExp(`^ {0,3}${mark[0] === '~' ? '~' : '`'}{${mark.length},}\\s*$`);
  let next = at + 1;
  while (next < lines.length && !closes.test(lines[next] ?? '')) next += 1;
  const text = lines.slice(at + 1, next).join('\n');
  return { block: { kind: 'code', language: open[2] ?? '', text }, next: next + 1 };
}

function heading(line: string, at: number): Read | undefined {
  const found = HEADING.exec(line);
  if (found === null) return undefined;
  return { block: { kind: 'heading', level: found[1]?.length ?? 1, children: inline(found[2] ?? '') }, next: at + 1 };
}

function rule(line: string, at: number): Read | undefined {
  return RULE.test(line) ? { block: { kind: 'rule' }, next: at + 1 } : undefined;
}

function quote(lines: readonly string[], at: number, depth: number): Read | undefined {
  const inner: string[] = [];
  let next = at;
  for (; next < lines.length; next += 1) {
    const found = QUOTE.exec(lines[next] ?? '');
    if (found === null) break;
    inner.push(found[1] ?? '');
  }
  return next === at ? undefined : { block: { kind: 'quote', children: blocks(inner, depth + 1) }, next };
}

function list(lines: readonly string[], at: number, depth: number): Read | undefined {
  const first = ITEM.exec(lines[at] ?? '');
  if (first === null) return undefined;
  const ordered = first[3] !== undefined;
  const items: Block[][] = [];
  let next = at;
  while (next < lines.length) {
    const opened = ITEM.exec(lines[next] ?? '');
    if (opened === null || (opened[3] !== undefined) !== ordered || RULE.test(lines[next] ?? '')) break;
    const indent = (opened[1]?.length ?? 0) + (opened[2]?.length ?? 1) + 1;
    const inner = [opened[5] ?? ''];
    next += 1;
    while (next < lines.length) {
      const line = lines[next] ?? '';
      if (line.trim() === '') {
        const after = lines[next + 1] ?? '';
        if (!after.startsWith(' '.repeat(indent)) || after.trim() === '') break;
        inner.push('');
      } else if (line.startsWith(' '.repeat(indent))) inner.push(line.slice(indent));
      else if (ITEM.test(line) || inner.at(-1)?.trim() === '' || opensBlock(lines, next)) break;
      else inner.push(line);
      next += 1;
    }
    items.push(blocks(inner, depth + 1));
    if ((lines[next] ?? '').trim() === '' && ITEM.test(lines[next + 1] ?? '')) next += 1;
  }
  return { block: { kind: 'list', ordered, start: Number(first[3] ?? 1), items }, next };
}

function table(lines: readonly string[], at: number): Read | undefined {
  const head = lines[at] ?? '';
  if (!head.includes('|') || !TABLE_RULE.test(lines[at + 1] ?? '') || !(lines[at + 1] ?? '').includes('-')) return undefined;
  const names = cells(head);
  if (names.length !== cells(lines[at + 1] ?? '').length) return undefined;
  const rows: Inline[][][] = [];
  let next = at + 2;
  for (; next < lines.length && (lines[next] ?? '').includes('|'); next += 1) {
    const row = cells(lines[next] ?? '');
    rows.push(names.map((_, column) => inline(row[column] ?? '')));
  }
  return { block: { kind: 'table', head: names.map(inline), rows }, next };
}

function cells(line: string): string[] {
  const inner = line.trim().replace(/^\|/, '').replace(/(?<!\\)\|$/, '');
  return inner.split(/(?<!\\)\|/).map((cell) => cell.trim().replace(/\\\|/g, '|'));
}

function paragraph(lines: readonly string[], at: number): Read {
  let next = at + 1;
  while (next < lines.length && (lines[next] ?? '').trim() !== '' && !opensBlock(lines, next)) next += 1;
  return { block: { kind: 'paragraph', children: inline(lines.slice(at, next).join('\n')) }, next };
}

function opensBlock(lines: readonly string[], at: number): boolean {
  const line = lines[at] ?? '';
  return FENCE.test(line) || HEADING.test(line) || RULE.test(line) || QUOTE.test(line) || ITEM.test(line);
}

const SPECIAL = /[\\`*_~[!\n]/g;

/** Text with emphasis, code and links. What does not close is text. */
export function inline(text: string, depth = 0): Inline[] {
  const found: Inline[] = [];
  let plain = '';
  let at = 0;
  const flush = (): void => {
    if (plain !== '') found.push({ kind: 'text', text: plain });
    plain = '';
  };
  while (at < text.length) {
    SPECIAL.lastIndex = at;
    const special = SPECIAL.exec(text);
    if (special === null || depth > MAX_DEPTH) {
      plain += text.slice(at);
      break;
    }
    plain += text.slice(at, special.index);
    at = special.index;
    const read = span(text, at, depth);
    if (read === undefined) {
      plain += text[at] ?? '';
      at += 1;
    } else {
      if (read.piece.kind === 'text') plain += read.piece.text;
      else {
        flush();
        found.push(read.piece);
      }
      at = read.next;
    }
  }
  flush();
  return found;
}

function span(text: string, at: number, depth: number): { piece: Inline; next: number } | undefined {
  const sign = text[at] ?? '';
  if (sign === '\\') {
    const next = text[at + 1] ?? '';
    if (next === '\n') return { piece: { kind: 'break' }, next: at + 2 };
    return /[!-/:-@[-`{-~]/.test(next) ? { piece: { kind: 'text', text: next }, next: at + 2 } : undefined;
  }
  if (sign === '\n') {
    return text.slice(0, at).endsWith('  ') ? { piece: { kind: 'break' }, next: at + 1 } : undefined;
  }
  if (sign === '`') return codeSpan(text, at);
  if (sign === '!') return text[at + 1] === '[' ? image(text, at) : undefined;
  if (sign === '[') return link(text, at, depth);
  return emphasis(text, at, sign, depth);
}

function codeSpan(text: string, at: number): { piece: Inline; next: number } | undefined {
  const mark = /^`+/.exec(text.slice(at, at + 40))?.[0] ?? '`';
  const window = text.slice(0, at + MAX_SPAN);
  for (let end = window.indexOf(mark, at + mark.length); end >= 0; end = window.indexOf(mark, end + 1)) {
    if (text[end + mark.length] !== '`' && text[end - 1] !== '`') {
      const inner = text.slice(at + mark.length, end).replace(/\n/g, ' ');
      const trimmed = /^ .*[^ ].* $/.test(inner) ? inner.slice(1, -1) : inner;
      return { piece: { kind: 'code', text: trimmed }, next: end + mark.length };
    }
  }
  return { piece: { kind: 'text', text: mark }, next: at + mark.length };
}

const TARGET = /^\[((?:\\.|[^[\]\\]|\[[^\]]*\]){0,300})\]\(\s*<?([^\s<>()]{0,1000}(?:\([^\s()]*\)[^\s<>()]*)?)>?(?:\s+["'][^"']{0,300}["'])?\s*\)/;

/** An image is never fetched: its source text is what is shown. */
function image(text: string, at: number): { piece: Inline; next: number } | undefined {
  const found = TARGET.exec(text.slice(at + 1, at + MAX_LINK));
  if (found === null) return undefined;
  return { piece: { kind: 'text', text: `!${found[0]}` }, next: at + 1 + found[0].length };
}

function link(text: string, at: number, depth: number): { piece: Inline; next: number } | undefined {
  const found = TARGET.exec(text.slice(at, at + MAX_LINK));
  if (found === null || (found[1] ?? '').trim() === '') return undefined;
  return {
    piece: { kind: 'link', url: found[2] ?? '', children: inline(found[1] ?? '', depth + 1) },
    next: at + found[0].length,
  };
}

const EMPHASIS = { '**': 'strong', __: 'strong', '~~': 'del', '*': 'em', _: 'em' } as const;

function emphasis(text: string, at: number, sign: string, depth: number): { piece: Inline; next: number } | undefined {
  const double = text[at + 1] === sign;
  const mark = double ? sign + sign : sign;
  const kind = EMPHASIS[mark as keyof typeof EMPHASIS] as 'strong' | 'em' | 'del' | undefined;
  const after = text[at + mark.length] ?? ' ';
  if (kind === undefined || /\s/.test(after) || (sign === '_' && /\w/.test(text[at - 1] ?? ' '))) return skipRun(text, at, sign);
  const window = text.slice(0, at + MAX_SPAN);
  for (let end = window.indexOf(mark, at + mark.length + 1); end >= 0; end = window.indexOf(mark, end + 1)) {
    const closes = !/\s/.test(text[end - 1] ?? ' ') && (double || (text[end + 1] !== sign && text[end - 1] !== sign))
      && !(sign === '_' && /\w/.test(text[end + mark.length] ?? ' '));
    if (closes) {
      const inner = text.slice(at + mark.length, end);
      return { piece: { kind, children: inline(inner, depth + 1) }, next: end + mark.length };
    }
  }
  return skipRun(text, at, sign);
}

/** A whole run of a sign that opens nothing is text, so that long runs cost no more than their length. */
function skipRun(text: string, at: number, sign: string): { piece: Inline; next: number } {
  let end = at;
  while (text[end] === sign) end += 1;
  return { piece: { kind: 'text', text: text.slice(at, end) }, next: end };
}
