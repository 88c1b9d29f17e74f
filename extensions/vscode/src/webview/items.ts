/** One element for each item of the transcript. */
import type { ApprovalItem, EndItem, Item, QuestionItem, SessionState, ThoughtItem, ToolItem, UserItem } from '../state/model';
import { showMs } from '../state/numbers';
import { byWhom } from './changes';
import { diffView } from './diff_view';
import { button, fill, h } from './dom';
import { markdown } from './markdown_view';
import type { Page } from './page';
import { output, visible } from './plain';
import { pathOf, subject } from './tool_text';

const SIGNS: Record<ToolItem['status'], string> = {
  running: '○', ok: '●', error: '✗', denied: '⊘', timeout: '⧖', cancelled: '◌', unknown: '●',
};
const DECIDED: Record<string, string> = { allow: 'Allowed', always: 'Always allowed', deny: 'Denied', closed: 'No longer asked' };
const STREAM_TAIL = 12_000;

export function drawItem(item: Item, session: SessionState, page: Page): HTMLElement {
  const article = h('article', {
    class: 'item', tabindex: -1, 'data-kind': item.kind, 'data-key': item.key, 'data-turn': item.turnId,
  });
  refreshItem(article, item, session, page);
  return article;
}

/** Draws an item anew into its element. What is open stays open. */
export function refreshItem(article: HTMLElement, item: Item, session: SessionState, page: Page): void {
  switch (item.kind) {
    case 'user':
      fill(article, ...task(item, session, page));
      return;
    case 'text':
      article.setAttribute('aria-busy', String(!item.done));
      fill(article, h('div', { class: 'markdown' }, markdown(item.done ? item.text : item.text.slice(-STREAM_TAIL), page)));
      return;
    case 'thought':
      thought(article, item, page);
      return;
    case 'tool':
      tool(article, item, session, page);
      return;
    case 'approval':
      fill(article, approval(item, page));
      return;
    case 'question':
      fill(article, question(item, page));
      return;
    case 'notice':
      article.setAttribute('data-severity', item.severity);
      fill(article, h('p', { class: 'notice' }, visible(item.text)));
      return;
    case 'end':
      fill(article, ...end(item, session, page));
      return;
  }
}

function task(item: UserItem, session: SessionState, page: Page): HTMLElement[] {
  const text = h('p', { class: 'task' }, visible(item.text));
  const turn = session.turns.findLast((one) => one.turnId === item.turnId);
  if (item.fate === 'task' && turn?.status === 'queued') {
    return [h('p', { class: 'fate' }, 'queued ',
      button('Remove', () => page.send({ type: 'cancel', turnId: item.turnId }), { class: 'quiet', 'data-id': `remove-${item.key}` })), text];
  }
  if (item.fate === 'task') return [text];
  const said = { steered: 'said in between', queued: 'queued for the turn', refused: 'refused: the turn was over' }[item.fate];
  return [h('p', { class: 'fate' }, said), text];
}

/** Open while the model thinks, folded to one line when it is done; a person may open it again. */
function thought(article: HTMLElement, item: ThoughtItem, page: Page): void {
  let details = article.querySelector<HTMLDetailsElement>('details');
  if (details === null) {
    details = h('details', { class: 'tool thought' }, h('summary', { 'data-id': `thought-${item.key}` }), h('div', { class: 'body markdown' }));
    details.open = !item.done;
    article.replaceChildren(details);
  } else if (item.done && article.getAttribute('data-done') === 'false') {
    details.open = false;
  }
  article.setAttribute('data-done', String(item.done));
  const [heading, body] = [details.querySelector('summary'), details.querySelector('.body')];
  const took = item.durationMs === undefined ? '' : ` for ${showMs(item.durationMs)}`;
  if (heading !== null) {
    fill(heading, h('span', { class: 'sign', 'aria-hidden': 'true' }, '∴'), h('span', { class: 'took' }, item.done ? `Thought${took}` : 'Thinking'));
  }
  if (body !== null) fill(body, markdown(item.done ? item.text : item.text.slice(-STREAM_TAIL), page));
}

function tool(article: HTMLElement, item: ToolItem, session: SessionState, page: Page): void {
  article.setAttribute('data-status', item.status);
  article.setAttribute('data-name', item.name);
  let details = article.querySelector<HTMLDetailsElement>('details');
  if (details === null) {
    details = h('details', { class: 'tool', ontoggle: () => body(true) }, h('summary', { 'data-id': `tool-${item.key}` }), h('div', { class: 'body' }));
    article.replaceChildren(details);
  }
  const drawn = details;
  const heading = drawn.querySelector('summary');
  if (heading !== null) {
    fill(heading,
      h('span', { class: 'sign', 'aria-hidden': 'true' }, SIGNS[item.status]),
      h('span', { class: 'name' }, item.name),
      h('span', { class: 'subject' }, visible(subject(item))),
      h('span', { class: 'outcome' }, visible(item.status === 'running' ? (item.lines.at(-1) ?? '') : item.summary)),
      h('span', { class: 'number' }, item.durationMs === undefined ? '' : showMs(item.durationMs)),
      h('span', { class: 'unseen' }, `, ${item.status}`));
  }
  function body(opened: boolean): void {
    const place = drawn.querySelector('.body');
    if (place === null) return;
    if (!drawn.open) {
      place.replaceChildren();
      return;
    }
    const path = pathOf(item);
    if (opened && item.output === undefined && item.status !== 'running') {
      page.send({ type: 'output', sessionId: session.sessionId, toolCallId: item.toolCallId });
    }
    const shown = item.output ?? (item.lines.length > 0 ? item.lines.join('\n') : item.summary);
    fill(place,
      h('pre', { class: 'arguments', tabindex: 0, 'aria-label': 'Arguments' }, visible(pretty(item.arguments))),
      path !== null && button('Open file', () => page.send({ type: 'open', path: path.path, line: path.line }), { class: 'quiet' }),
      item.diff !== '' && diffView(item.diff),
      shown !== '' && h('pre', { class: 'output', tabindex: 0, 'aria-label': 'Output' }, output(shown)));
  }
  body(false);
}

function pretty(text: string): string {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null) return text;
    return Object.entries(value).map(([name, one]) => `${name}: ${typeof one === 'string' ? one : JSON.stringify(one)}`).join('\n');
  } catch {
    return text;
  }
}

function approval(item: ApprovalItem, page: Page): HTMLElement {
  const { approval: asked } = item;
  const what = asked.kind === 'command' ? 'run' : 'use';
  const question = h('div', {},
    h('p', {}, `Loopline wants to ${what} `, h('b', {}, visible(asked.name))),
    asked.subject !== asked.name && h('pre', { tabindex: 0, 'aria-label': 'What is asked for' }, visible(asked.subject)),
    asked.rule !== undefined && asked.rule !== '' && h('p', { class: 'rule' }, visible(asked.rule)));
  const group = h('div', {
    class: 'approval', role: 'group', 'aria-label': `Approval: ${asked.name}`, 'data-approval': asked.approvalId,
    'data-decision': item.decision ?? 'waiting',
  });
  if (item.decision !== undefined) {
    const line = h('summary', { 'data-id': `decided-${item.key}` },
      h('span', { class: 'sign', 'aria-hidden': 'true' }, item.decision === 'allow' || item.decision === 'always' ? '✓' : '⊘'),
      h('span', { class: 'decided' }, DECIDED[item.decision] ?? item.decision), h('span', { class: 'name' }, visible(asked.name)),
      h('span', { class: 'subject' }, asked.subject === asked.name ? '' : visible(asked.subject.split('\n', 1)[0] ?? '')));
    group.append(h('details', { class: 'tool' }, line, h('div', { class: 'body' }, question)));
    return group;
  }
  group.append(question);
  const answer = (decision: 'allow' | 'always' | 'deny') => (): void =>
    page.send({ type: 'answer', approvalId: asked.approvalId, decision });
  group.append(h('div', { class: 'buttons' },
    button('Allow', answer('allow'), { class: 'primary', 'data-id': `allow-${item.key}` }),
    asked.always !== false && button('Always allow', answer('always'), { 'data-id': `always-${item.key}` }),
    button('Deny', answer('deny'), { 'data-id': `deny-${item.key}` })));
  return group;
}

/** Buttons for what there is to choose from, and a line for anything else. */
function question(item: QuestionItem, page: Page): HTMLElement {
  const waits = item.answer === undefined;
  const group = h('div', {
    class: 'approval question', role: 'group', 'aria-label': 'Question', 'data-question': item.questionId, 'data-decision': waits ? 'waiting' : 'answered',
  }, h('p', {}, visible(item.question)));
  if (!waits) {
    group.append(h('p', { class: 'rule' }, item.answer === '' ? 'No answer' : visible(item.answer ?? '')));
    return group;
  }
  const send = (answer: string): void => {
    if (answer.trim() !== '') page.send({ type: 'reply', questionId: item.questionId, answer });
  };
  const own = h('input', {
    type: 'text', class: 'own', 'aria-label': 'Your own answer', placeholder: 'waits for you', 'data-id': `own-${item.key}`,
    onkeydown: (event) => {
      if ((event as KeyboardEvent).key === 'Enter') send((event.target as HTMLInputElement).value);
    },
  });
  group.append(h('div', { class: 'buttons' },
    ...item.options.map((option, at) => button(visible(option), () => send(option), { 'data-id': `option-${at}-${item.key}` })), own));
  return group;
}

function end(item: EndItem, session: SessionState, page: Page): HTMLElement[] {
  const turn = session.turns.findLast((one) => one.turnId === item.turnId);
  const sign = item.status === 'completed' ? '✓' : item.status === 'failed' ? '✗' : '◌';
  const files = turn?.files ?? [];
  const added = files.reduce((sum, file) => sum + file.added, 0);
  const removed = files.reduce((sum, file) => sum + file.removed, 0);
  const change = files.length === 0 ? '' : `${files.length} file${files.length === 1 ? '' : 's'}, +${added} −${removed}`;
  const line = h('div', { class: 'end', 'data-status': item.status },
    h('span', { class: 'sign', 'aria-hidden': 'true' }, sign),
    h('span', {}, item.status),
    h('span', { class: 'change' }, change),
    h('span', { class: 'number' }, (item.durationMs ?? 0) > 0 ? showMs(item.durationMs) : ''),
    (files.length > 0 || item.durationMs === undefined) && turn?.undone === undefined && button('Undo', () => page.send({ type: 'undo', turnId: item.turnId }),
      { class: 'quiet', 'data-id': `undo-${item.key}`, 'aria-label': 'Undo the changes of this turn' }),
    item.plan === true && item.status === 'completed' && session.items.at(-1) === item
      && button('Carry it out', () => page.send({ type: 'carry out' }), { class: 'primary', 'data-id': `carry-${item.key}` }));
  const diff = files.length > 0 && h('details', { class: 'turn-diff' }, h('summary', { 'data-id': `diff-${item.key}` }, 'Diff of the turn'),
    ...files.flatMap((file) => [h('p', { class: 'detail' }, visible(file.path) + byWhom(file.by)), ...(file.diff === '' ? [] : [diffView(file.diff)])]));
  const parts: HTMLElement[] = diff === false ? [line] : [line, diff];
  if (turn?.undone === undefined) return parts;
  const { restored, conflicts, undoId } = turn.undone;
  const words = [
    restored.length > 0 ? `took back ${restored.join(', ')}` : conflicts.length > 0 ? '' : 'nothing had to be taken back',
    conflicts.length > 0 ? `left what changed since in ${conflicts.join(', ')}` : '',
  ].filter((part) => part !== '');
  return [...parts, h('p', { class: 'undone' }, visible(`Undone: ${words.join('; ')} `),
    undoId !== undefined && button('Undo the undo', () => page.send({ type: 'undo', turnId: undoId }), { class: 'quiet', 'data-id': `redo-${item.key}` }))];
}
