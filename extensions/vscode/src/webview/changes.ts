/** What is left to review: files and hunks, each to accept, reject or look at. */
import type { By, ReviewFile } from '../diff/review';
import { button, fill, h } from './dom';
import type { Page } from './page';
import { visible } from './plain';

const WORDS: Readonly<Record<By, string>> = { edit: '', command: 'by a command', both: 'in part by a command' };

/** Of who changed a file, what is said of it: nothing where the agent edited it. */
export function byWhom(by: By = 'edit'): string {
  return by === 'edit' ? '' : ` (${WORDS[by]})`;
}

function told(by: By): string {
  return by === 'edit' ? '' : `, ${WORDS[by]}`;
}

export class Changes {
  readonly element = h('section', { id: 'changes', 'aria-label': 'Changes', hidden: true });
  private open = new Set<string>();

  constructor(private readonly page: Page) {}

  take(files: readonly ReviewFile[]): void {
    this.element.hidden = files.length === 0;
    const added = files.reduce((sum, file) => sum + file.added, 0);
    const removed = files.reduce((sum, file) => sum + file.removed, 0);
    fill(this.element,
      h('div', { class: 'row' },
        h('span', { class: 'name' }, `${files.length} file${files.length === 1 ? '' : 's'} to review`),
        h('span', { class: 'number' }, `+${added} −${removed}`)),
      h('div', { class: 'row actions' },
        this.does('Review', 'open', null, null, 'Review the changes in the diff editor'),
        this.does('Accept all', 'accept', null, null, 'Accept all changes'),
        this.does('Reject all', 'reject', null, null, 'Reject all changes')),
      ...files.map((file) => this.file(file)));
  }

  private file(file: ReviewFile): HTMLElement {
    if (file.kind === 'unknown') {
      return h('div', { class: 'row', title: 'There is no diff to review here; undo takes the whole turn back', 'data-uri': file.uri, 'data-path': file.path },
        h('span', { class: 'name' }, `${visible(file.path)} (${file.added + file.removed > 0 ? 'diff too long' : 'no text'}${told(file.by)})`), h('span', { class: 'number' }, `+${file.added} −${file.removed}`),
        this.does('Accept', 'accept', file.uri, null, `Accept ${file.path}`));
    }
    const kind = file.kind === 'changed' ? byWhom(file.by) : ` (${file.kind}${told(file.by)})`;
    const details = h('details', {
      'data-uri': file.uri, 'data-path': file.path, open: this.open.has(file.uri),
      ontoggle: (event) => {
        if ((event.target as HTMLDetailsElement).open) this.open.add(file.uri);
        else this.open.delete(file.uri);
      },
    }, h('summary', { 'data-id': `file-${file.uri}` },
      h('span', { class: 'name' }, visible(file.path) + kind), h('span', { class: 'number' }, `+${file.added} −${file.removed}`)),
    h('div', { class: 'row' },
      this.does('Diff', 'open', file.uri, null, `Open the diff of ${file.path}`),
      this.does('Accept', 'accept', file.uri, null, `Accept ${file.path}`),
      this.does('Reject', 'reject', file.uri, null, `Reject ${file.path}`)));
    if (file.kind !== 'changed') return details;
    file.hunks.forEach((hunk, at) => details.append(h('div', { class: 'row hunk', 'data-hunk': at },
      h('span', { class: 'name' }, `line ${hunk.line}`), h('span', { class: 'number' }, `+${hunk.added} −${hunk.removed}`),
      this.does('Accept', 'accept', file.uri, at, `Accept change ${at + 1} of ${file.path}`),
      this.does('Reject', 'reject', file.uri, at, `Reject change ${at + 1} of ${file.path}`))));
    return details;
  }

  private does(label: string, action: 'open' | 'accept' | 'reject', uri: string | null, hunk: number | null, spoken: string): HTMLElement {
    return button(label, () => this.page.send({ type: 'review', action, uri, hunk }),
      { class: 'quiet', 'aria-label': spoken, title: spoken, 'data-id': `${action}-${uri ?? ''}-${hunk ?? ''}` });
  }
}
