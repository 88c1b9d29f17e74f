/**
 * The transcript as a window over any number of items. Items come in chunks; a chunk far from what is seen holds no
 * elements, only its height. A chunk that holds the focus or a selection stays.
 */
import type { Change, Item, SessionState } from '../state/model';
import { button, h } from './dom';
import { drawItem, refreshItem } from './items';
import { shownSession } from './page';
import type { Page } from './page';

const CHUNK = 20;
const MARGIN_PX = 1_200;
const GUESS_PX = 44;
const AT_END_PX = 40;

interface Chunk {
  readonly element: HTMLElement;
  items: Item[];
  drawn: boolean;
}

export class TranscriptView {
  private chunks: Chunk[] = [];
  private chunkOf = new Map<string, Chunk>();
  private readonly chunkAt = new WeakMap<Element, Chunk>();
  private readonly elements = new Map<string, HTMLElement>();
  private readonly near: IntersectionObserver;
  private readonly older: HTMLElement;
  private atEnd = true;
  private top = 0;
  private height = 0;

  constructor(private readonly root: HTMLElement, private readonly page: Page) {
    this.older = button('Show earlier', () => {
      const session = shownSession(page);
      if (session !== undefined) page.send({ type: 'older', sessionId: session.sessionId });
    }, { class: 'quiet older' });
    this.near = new IntersectionObserver((seen) => this.seen(seen), { root, rootMargin: `${MARGIN_PX}px 0px` });
    root.addEventListener('scroll', () => this.scrolled(), { passive: true });
    root.addEventListener('keydown', (event) => this.move(event));
    new ResizeObserver(() => this.follow()).observe(root);
  }

  /** Draws a session from its beginning. */
  reset(): void {
    const before = this.root.scrollHeight - this.root.scrollTop;
    this.near.disconnect();
    this.chunks = [];
    this.chunkOf = new Map();
    this.elements.clear();
    const session = shownSession(this.page);
    this.root.replaceChildren();
    if (session?.more === true) this.root.append(this.older);
    for (const item of session?.items ?? []) this.push(item, false);
    this.draw(this.chunks.at(-1));
    if (this.atEnd) this.follow();
    else this.root.scrollTop = this.root.scrollHeight - before;
  }

  apply(changes: readonly Change[]): void {
    const session = shownSession(this.page);
    const ours = changes.filter((change) => change.sessionId === this.page.app.current);
    if (session === undefined || ours.some((change) => change.all)) {
      if (ours.length > 0) this.reset();
      return;
    }
    const keys = new Set(ours.flatMap((change) => change.items));
    if (keys.size === 0) return;
    const known = this.chunks.reduce((sum, chunk) => sum + chunk.items.length, 0);
    for (const item of session.items.slice(known)) this.push(item, true);
    for (const key of keys) this.refresh(key, session);
    this.follow();
  }

  /** Puts the focus on the first approval that waits. */
  focusApproval(): boolean {
    const session = shownSession(this.page);
    const waiting = session?.items.find((item) => item.kind === 'approval' && item.decision === undefined);
    const chunk = waiting === undefined ? undefined : this.chunkOf.get(waiting.key);
    if (waiting === undefined || chunk === undefined) return false;
    this.draw(chunk);
    const element = this.elements.get(waiting.key);
    element?.scrollIntoView({ block: 'nearest' });
    element?.querySelector('button')?.focus();
    return true;
  }

  private push(item: Item, draw: boolean): void {
    let chunk = this.chunks.at(-1);
    if (chunk === undefined || chunk.items.length >= CHUNK) {
      chunk = { element: h('div', { class: 'chunk' }), items: [], drawn: false };
      this.chunks.push(chunk);
      this.chunkAt.set(chunk.element, chunk);
      this.root.append(chunk.element);
      this.near.observe(chunk.element);
    }
    chunk.items.push(item);
    this.chunkOf.set(item.key, chunk);
    if (chunk.drawn) chunk.element.append(...this.make([item]));
    else chunk.element.style.height = `${chunk.items.length * GUESS_PX}px`;
    if (draw && this.atEnd) this.draw(chunk);
  }

  private make(items: readonly Item[]): HTMLElement[] {
    const session = shownSession(this.page);
    if (session === undefined) return [];
    return items.map((item) => {
      const element = drawItem(item, session, this.page);
      this.elements.set(item.key, element);
      return element;
    });
  }

  private refresh(key: string, session: SessionState): void {
    const element = this.elements.get(key);
    const item = this.chunkOf.get(key)?.items.find((one) => one.key === key);
    if (element !== undefined && item !== undefined) refreshItem(element, item, session, this.page);
  }

  private draw(chunk: Chunk | undefined): void {
    if (chunk === undefined || chunk.drawn) return;
    chunk.drawn = true;
    chunk.element.style.height = '';
    chunk.element.append(...this.make(chunk.items));
  }

  private drop(chunk: Chunk, height: number): void {
    const held = chunk.element.contains(document.activeElement) || selects(chunk.element)
      || chunk.element.querySelector('details[open]') !== null || chunk === this.chunks.at(-1);
    if (!chunk.drawn || held) return;
    chunk.drawn = false;
    chunk.element.replaceChildren();
    chunk.element.style.height = `${height}px`;
    for (const item of chunk.items) this.elements.delete(item.key);
  }

  private seen(entries: readonly IntersectionObserverEntry[]): void {
    for (const entry of entries) {
      const chunk = this.chunkAt.get(entry.target);
      if (chunk === undefined) continue;
      if (entry.isIntersecting) this.draw(chunk);
      else this.drop(chunk, entry.boundingClientRect.height);
    }
    this.follow();
  }

  private follow(): void {
    if (this.atEnd) this.root.scrollTop = this.root.scrollHeight;
  }

  /** Only a person scrolls up: what is drawn late makes the page longer, and does not move it. */
  private scrolled(): void {
    const { scrollTop, scrollHeight, clientHeight } = this.root;
    if (scrollHeight - scrollTop - clientHeight < AT_END_PX) this.atEnd = true;
    else if (scrollTop < this.top && scrollHeight >= this.height) this.atEnd = false;
    this.top = scrollTop;
    this.height = scrollHeight;
  }

  /** Arrow keys go from item to item; Home and End to the first and last. */
  private move(event: KeyboardEvent): void {
    const target = event.target as HTMLElement;
    if (event.altKey || event.ctrlKey || event.metaKey || target.closest('pre, textarea') !== null) return;
    const items = [...this.root.querySelectorAll<HTMLElement>('.item')];
    const at = items.findIndex((item) => item.contains(document.activeElement));
    const to = event.key === 'ArrowDown' || event.key === 'j' ? at + 1
      : event.key === 'ArrowUp' || event.key === 'k' ? Math.max(0, at - 1)
        : event.key === 'End' ? items.length - 1 : event.key === 'Home' ? 0 : undefined;
    const next = to === undefined ? undefined : items[Math.min(to, items.length - 1)];
    if (next === undefined) return;
    event.preventDefault();
    (next.querySelector<HTMLElement>('summary') ?? next).focus();
    next.scrollIntoView({ block: 'nearest' });
  }
}

function selects(element: Element): boolean {
  const selection = document.getSelection();
  return selection !== null && !selection.isCollapsed && selection.containsNode(element, true);
}
