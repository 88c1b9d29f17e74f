/** Where a person writes: tasks, words for the turn that runs, mentions of files and symbols, and the selection. */
import type { Mention, Selection, ToPage } from '../view/messages';
import { button, fill, h } from './dom';
import { complete, kept, mentionAt } from './mention';
import { runningTurn, shownSession } from './page';
import type { Page } from './page';

const MAX_HEIGHT_PX = 240;

export class Composer {
  readonly element: HTMLElement;
  private readonly text: HTMLTextAreaElement;
  private readonly list: HTMLElement;
  private readonly context: HTMLElement;
  private readonly buttons: HTMLElement;
  private chosen: Mention[] = [];
  private found: readonly Mention[] = [];
  private active = 0;
  private request = 0;
  private selection: Selection | null = null;
  private withSelection = true;
  private drawnFor = '';

  constructor(private readonly page: Page) {
    this.text = h('textarea', {
      id: 'composer', rows: 2, 'aria-label': 'Message to Loopline', 'aria-autocomplete': 'list', 'aria-controls': 'mentions',
      'aria-haspopup': 'listbox', placeholder: 'What should be done? @ mentions files and symbols',
      oninput: () => this.typed(), onkeydown: (event) => this.key(event as KeyboardEvent), onclick: () => this.typed(),
      onblur: () => this.offer([]),
    });
    this.list = h('ul', { id: 'mentions', role: 'listbox', 'aria-label': 'Files and symbols', hidden: true });
    this.context = h('div', { id: 'context', hidden: true });
    this.buttons = h('div', { class: 'buttons' });
    this.element = h('form', { class: 'composer', 'aria-label': 'Composer', onsubmit: (event) => event.preventDefault() },
      this.list, this.context, this.text, this.buttons);
    this.refresh();
  }

  focus(): void {
    this.text.focus();
  }

  insert(text: string): void {
    this.text.setRangeText(text, this.text.selectionStart, this.text.selectionEnd, 'end');
    this.resize();
    this.text.focus();
  }

  select(selection: Selection | null): void {
    if (selection?.label !== this.selection?.label) this.withSelection = true;
    this.selection = selection;
    this.context.hidden = selection === null;
    if (selection === null) return;
    const shown = h('label', { title: 'The task is then about these lines' },
      h('input', {
        type: 'checkbox', id: 'with-selection', 'data-id': 'with-selection', checked: this.withSelection,
        onchange: (event) => {
          this.withSelection = (event.target as HTMLInputElement).checked;
        },
      }), ` selection ${selection.label}`);
    fill(this.context, shown);
  }

  offer(found: readonly Mention[], request = this.request): void {
    if (request !== this.request) return;
    this.found = found;
    this.active = 0;
    this.list.hidden = found.length === 0;
    fill(this.list, ...found.map((one, at) => h('li', {
      role: 'option', id: `mention-${at}`, 'aria-selected': String(at === 0), 'data-kind': one.kind,
      onmousedown: (event) => {
        event.preventDefault();
        this.choose(one);
      },
    }, h('span', {}, one.label), h('span', { class: 'detail' }, one.detail))));
    this.mark();
  }

  /** Which buttons there are follows from whether a turn runs. */
  refresh(): void {
    const running = runningTurn(shownSession(this.page));
    const usable = this.page.app.host.phase === 'running';
    const now = `${running?.turnId ?? ''} ${usable}`;
    if (now === this.drawnFor) return;
    this.drawnFor = now;
    const can = { disabled: !usable };
    if (running === undefined) {
      fill(this.buttons,
        button('Send', () => this.submit('start'), { id: 'send', class: 'primary', 'data-id': 'send', title: 'Enter', ...can }),
        button('Plan', () => this.submit('plan'), { id: 'plan-first', 'data-id': 'plan-first', title: 'Change nothing, and answer with a plan', ...can }));
      return;
    }
    fill(this.buttons,
      button('Steer', () => this.submit('steer'), { id: 'send', class: 'primary', 'data-id': 'send', title: 'Enter: say it to the turn that runs', ...can }),
      button('Queue', () => this.submit('queue'), { id: 'queue', 'data-id': 'queue', title: 'Alt+Enter: a turn of its own, after this one', ...can }),
      button('Stop', () => this.page.send({ type: 'cancel', turnId: running.turnId }), { id: 'stop', 'data-id': 'stop', title: 'Escape twice', ...can }));
  }

  private submit(how: Extract<Parameters<Page['send']>[0], { type: 'send' }>['how']): void {
    const text = this.text.value.trim();
    if (text === '' || this.page.app.host.phase !== 'running') return;
    const selection = this.withSelection && this.selection !== null;
    this.page.send({ type: 'send', text, mentions: kept(text, this.chosen), selection, how });
    this.text.value = '';
    this.chosen = [];
    this.offer([]);
    this.resize();
  }

  private lastEscape = 0;

  private key(event: KeyboardEvent): void {
    if (event.isComposing) return;
    if (this.found.length > 0 && this.keyInList(event)) {
      event.preventDefault();
      return;
    }
    if (event.key === 'Enter' && !event.shiftKey) {
      event.preventDefault();
      const running = runningTurn(shownSession(this.page)) !== undefined;
      this.submit(!running ? 'start' : event.altKey ? 'queue' : 'steer');
    } else if (event.key === 'Escape') {
      const running = runningTurn(shownSession(this.page));
      if (running !== undefined && event.timeStamp - this.lastEscape < 800) this.page.send({ type: 'cancel', turnId: running.turnId });
      this.lastEscape = event.timeStamp;
    }
  }

  private keyInList(event: KeyboardEvent): boolean {
    const count = this.found.length;
    if (event.key === 'ArrowDown') this.active = (this.active + 1) % count;
    else if (event.key === 'ArrowUp') this.active = (this.active + count - 1) % count;
    else if (event.key === 'Enter' || event.key === 'Tab') {
      const one = this.found[this.active];
      if (one !== undefined) this.choose(one);
      return true;
    } else if (event.key === 'Escape') {
      this.offer([]);
      return true;
    } else return false;
    this.mark();
    return true;
  }

  private mark(): void {
    [...this.list.children].forEach((option, at) => option.setAttribute('aria-selected', String(at === this.active)));
    if (this.found.length > 0) this.text.setAttribute('aria-activedescendant', `mention-${this.active}`);
    else this.text.removeAttribute('aria-activedescendant');
    this.list.children[this.active]?.scrollIntoView({ block: 'nearest' });
  }

  private choose(mention: Mention): void {
    const caret = this.text.selectionStart;
    const at = mentionAt(this.text.value, caret);
    if (at === null) return;
    const done = complete(this.text.value, at.start, caret, mention);
    this.text.value = done.text;
    this.text.setSelectionRange(done.caret, done.caret);
    this.chosen.push(mention);
    this.offer([]);
  }

  private typed(): void {
    this.resize();
    const at = mentionAt(this.text.value, this.text.selectionStart);
    this.request += 1;
    if (at === null) this.offer([]);
    else this.page.send({ type: 'mentions', request: this.request, query: at.query });
  }

  private resize(): void {
    this.text.style.height = 'auto';
    this.text.style.height = `${Math.min(MAX_HEIGHT_PX, this.text.scrollHeight + 2)}px`;
  }

  take(message: Extract<ToPage, { type: 'mentions' }>): void {
    this.offer(message.found, message.request);
  }
}
