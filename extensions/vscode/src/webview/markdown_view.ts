/** Draws Markdown blocks. Links open only by a click, through the host, and only http(s) ones. */
import { h } from './dom';
import { parse } from './markdown';
import type { Block, Inline } from './markdown';
import { visible } from './plain';

export interface Opens {
  link(url: string): void;
  copy(text: string): void;
}

export function markdown(text: string, opens: Opens): DocumentFragment {
  const fragment = document.createDocumentFragment();
  fragment.append(...parse(visible(text)).map((block) => drawBlock(block, opens)));
  return fragment;
}

function drawBlock(block: Block, opens: Opens): Node {
  switch (block.kind) {
    case 'paragraph':
      return h('p', {}, ...draw(block.children, opens));
    case 'heading':
      return h(`h${Math.min(6, block.level + 2)}` as 'h3', {}, ...draw(block.children, opens));
    case 'code':
      return h('figure', { class: 'code' },
        h('figcaption', {}, h('span', {}, block.language),
          h('button', { type: 'button', 'aria-label': 'Copy code', onclick: () => opens.copy(block.text) }, 'Copy')),
        h('pre', { tabindex: 0 }, h('code', {}, block.text)));
    case 'quote':
      return h('blockquote', {}, ...block.children.map((child) => drawBlock(child, opens)));
    case 'list': {
      const items = block.items.map((item) => h('li', {}, ...tight(item, opens)));
      return block.ordered ? h('ol', { start: block.start }, ...items) : h('ul', {}, ...items);
    }
    case 'table':
      return h('div', { class: 'wide', tabindex: 0 }, h('table', {},
        h('thead', {}, h('tr', {}, ...block.head.map((cell) => h('th', {}, ...draw(cell, opens))))),
        h('tbody', {}, ...block.rows.map((row) => h('tr', {}, ...row.map((cell) => h('td', {}, ...draw(cell, opens))))))));
    case 'rule':
      return h('hr');
  }
}

/** A list item of one paragraph is drawn without one. */
function tight(item: readonly Block[], opens: Opens): Node[] {
  const [first, ...rest] = item;
  if (first?.kind !== 'paragraph') return item.map((block) => drawBlock(block, opens));
  return [...draw(first.children, opens), ...rest.map((block) => drawBlock(block, opens))];
}

function draw(pieces: readonly Inline[], opens: Opens): Node[] {
  return pieces.map((piece) => {
    switch (piece.kind) {
      case 'text':
        return document.createTextNode(piece.text);
      case 'code':
        return h('code', {}, piece.text);
      case 'break':
        return h('br');
      case 'link': {
        const { url } = piece;
        if (!/^https?:\/\//i.test(url)) return h('span', {}, ...draw(piece.children, opens), ` (${url})`);
        return h('button', { type: 'button', class: 'link', title: url, onclick: () => opens.link(url) }, ...draw(piece.children, opens));
      }
      default:
        return h(piece.kind, {}, ...draw(piece.children, opens));
    }
  });
}
