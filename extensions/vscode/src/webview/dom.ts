/** Elements from data. Text goes in as text: nothing here, and nothing in the view, parses HTML, and nothing hides in it. */

import { visible } from './plain';

export type Child = Node | string | null | undefined | false;

export interface Attributes {
  readonly [name: string]: string | number | boolean | undefined | ((event: Event) => void);
}

/** An element; attributes whose name starts with "on" are listeners, false and undefined leave one out. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K, attributes: Attributes = {}, ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function') element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, '');
    else if (value !== undefined && value !== false) element.setAttribute(name, visible(String(value)));
  }
  append(element, children);
  return element;
}

export function append(parent: Element, children: readonly Child[]): void {
  for (const child of children) {
    if (child !== null && child !== undefined && child !== false) parent.append(typeof child === 'string' ? visible(child) : child);
  }
}

/** Replaces what an element holds; the focus stays on the control of the same `data-id`. */
export function fill(parent: Element, ...children: Child[]): void {
  const focused = parent.contains(document.activeElement) ? document.activeElement?.getAttribute('data-id') : undefined;
  parent.replaceChildren();
  append(parent, children);
  if (focused !== undefined && focused !== null) {
    parent.querySelector<HTMLElement>(`[data-id="${CSS.escape(focused)}"]`)?.focus();
  }
}

export function button(label: string, act: () => void, more: Attributes = {}): HTMLButtonElement {
  return h('button', { type: 'button', onclick: act, ...more }, label);
}

export function byId(id: string): HTMLElement {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`no element ${id}`);
  return found;
}
