/** A unified diff as lines; what each does is said by its sign as well as by colour. */
import { h } from './dom';
import { visible } from './plain';

const MAX_LINES = 2_000;

export function diffView(diff: string): HTMLElement {
  const lines = diff.replace(/\n$/, '').split('\n');
  const drawn = lines.slice(0, MAX_LINES).map((line) => h('span', { class: `line ${kind(line)}` }, `${visible(line)}\n`));
  if (lines.length > MAX_LINES) drawn.push(h('span', { class: 'line' }, `… ${lines.length - MAX_LINES} more lines`));
  return h('pre', { class: 'diff', tabindex: 0, 'aria-label': 'Diff' }, ...drawn);
}

function kind(line: string): string {
  if (line.startsWith('+++') || line.startsWith('---')) return 'file';
  if (line.startsWith('@@')) return 'at';
  return line.startsWith('+') ? 'added' : line.startsWith('-') ? 'removed' : '';
}
