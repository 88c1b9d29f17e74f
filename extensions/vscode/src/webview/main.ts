/**
 * The page of the session view.
 *
 * Hooks that tests and assistive technology rely on:
 *   main[aria-label="Loopline session"]
 *   #host[data-phase]            the server's state while it does not run, with its buttons [data-command]
 *   #sessions-button, #sessions  sessions: button[data-session][data-state][aria-current]; #new-session, #model, #dashboard
 *   #live                        [data-number="rate|ttft|cached|reuse|calls"], a button "Breakdown"
 *   #breakdown                   .stages [data-stage], table tr[data-call]
 *   #notes                       what of the server's state needs attention: p[data-category]
 *   #plan                        ol li[data-status]
 *   #transcript[role="log"]      article.item[data-kind="user|text|tool|approval|notice|end"][data-turn][data-key]
 *       tool                     [data-name][data-status="running|ok|error|denied|timeout|cancelled"] details > summary
 *       approval                 [role="group"][data-approval][data-decision="waiting|allow|always|deny|closed"], buttons by name
 *       end                      .end[data-status], a button "Undo the changes of this turn"
 *   #changes                     details[data-path], .hunk[data-hunk], buttons by aria-label ("Accept change 1 of a.py")
 *   #composer, #context          #with-selection, #mentions [role="option"], #send, #queue, #stop
 *   #announcements[role="status"]
 */
import type { AppState, Change } from '../state/model';
import { emptyApp } from '../state/model';
import { reduce } from '../state/reducer';
import type { ToHost, ToPage } from '../view/messages';
import { Breakdown } from './breakdown';
import { Changes } from './changes';
import { Composer } from './composer';
import { byId, h } from './dom';
import { Head } from './head';
import { runningTurn, shownSession } from './page';
import type { Page } from './page';
import { TranscriptView } from './transcript';

declare function acquireVsCodeApi(): { postMessage(message: unknown): void };

const host = acquireVsCodeApi();
const announcements = h('div', { id: 'announcements', role: 'status', 'aria-live': 'polite', class: 'unseen' });
let app: AppState = emptyApp();

const page: Page = {
  get app() {
    return app;
  },
  send: (message: ToHost) => host.postMessage(message),
  link: (url) => host.postMessage({ type: 'link', url } satisfies ToHost),
  copy: (text) => host.postMessage({ type: 'copy', text } satisfies ToHost),
  announce: (text) => {
    announcements.textContent = text;
  },
};

const breakdown = new Breakdown(page);
const head = new Head(page, () => breakdown.toggle());
const log = h('div', { id: 'transcript', role: 'log', 'aria-label': 'Transcript', 'aria-live': 'off', tabindex: 0 });
const empty = h('p', { class: 'empty', id: 'empty' }, 'Say what to do, or use "Fix with Loopline" on a problem in the editor.');
const changes = new Changes(page);
const composer = new Composer(page);
byId('app').append(h('main', { 'aria-label': 'Loopline session' },
  h('h1', { class: 'unseen' }, 'Loopline session'), head.element, breakdown.element, log, empty, changes.element, composer.element, announcements));
const transcript = new TranscriptView(log, page);

let said = '';

function refresh(): void {
  head.refresh();
  breakdown.refresh();
  composer.refresh();
  const session = shownSession(page);
  empty.hidden = (session?.items.length ?? 0) > 0;
  const turn = runningTurn(session) ?? session?.turns.at(-1);
  const waiting = session?.items.some((item) => item.kind === 'approval' && item.decision === undefined) === true;
  const now = turn === undefined ? '' : waiting ? 'An approval waits' : `The turn is ${turn.status}`;
  if (now !== said) page.announce(now);
  said = now;
}

function receive(message: ToPage): void {
  switch (message.type) {
    case 'state':
      app = message.app;
      transcript.reset();
      changes.take(message.review);
      composer.select(message.selection);
      refresh();
      return;
    case 'events': {
      const made: Change[] = message.events.map((event) => reduce(app, event));
      transcript.apply(made);
      refresh();
      return;
    }
    case 'review':
      changes.take(message.files);
      return;
    case 'selection':
      composer.select(message.selection);
      return;
    case 'mentions':
      composer.take(message);
      return;
    case 'insert':
      composer.insert(message.text);
      return;
    case 'do':
      act(message.what);
  }
}

function act(what: Extract<ToPage, { type: 'do' }>['what']): void {
  if (what === 'breakdown') breakdown.toggle(true);
  else if (what === 'sessions') head.showSessions(true);
  else if (what === 'focus' || !transcript.focusApproval()) composer.focus();
}

window.addEventListener('message', (event: MessageEvent<ToPage>) => receive(event.data));
page.send({ type: 'ready' });
