/** The top of the page: the server's state, sessions, the model, live numbers and the plan. */
import { callsOf } from '../state/model';
import { showCalls, showContext, showCount, showMs, showRate, showShare } from '../state/numbers';
import { noModel, reuseMarker } from '../state/status_text';
import type { PageCommand } from '../view/messages';
import { button, fill, h } from './dom';
import { figuresTurn, runningTurn, shownSession } from './page';
import type { Page } from './page';
import { visible } from './plain';

export class Head {
  readonly element: HTMLElement;
  private readonly bar = h('div', { class: 'bar' });
  private readonly host = h('div', { id: 'host', role: 'status', hidden: true });
  private readonly live = h('div', { id: 'live', 'aria-label': 'Live numbers', hidden: true });
  private readonly notes = h('div', { id: 'notes', role: 'status', hidden: true });
  private readonly plan = h('section', { id: 'plan', 'aria-label': 'Plan', hidden: true });
  private readonly list = h('section', { id: 'sessions', 'aria-label': 'Sessions', hidden: true });
  private drawn: Record<string, string> = {};

  constructor(private readonly page: Page, private readonly toggleBreakdown: () => void) {
    this.element = h('header', {}, this.bar, this.host, this.notes, this.list, this.live, this.plan);
  }

  refresh(): void {
    this.refreshBar();
    this.refreshHost();
    this.refreshNotes();
    this.refreshLive();
    this.refreshPlan();
    if (!this.list.hidden) this.refreshList();
  }

  showSessions(open = this.list.hidden): void {
    this.list.hidden = !open;
    this.drawn = { ...this.drawn, bar: '' };
    this.refreshBar();
    if (open) {
      this.page.send({ type: 'sessions' });
      this.refreshList();
      this.list.querySelector<HTMLElement>('button')?.focus();
    }
  }

  private refreshBar(): void {
    const { app } = this.page;
    const session = shownSession(this.page);
    const task = session?.items.find((item) => item.kind === 'user');
    const title = session?.turns.at(0)?.title || app.sessions.find((one) => one.sessionId === app.current)?.title
      || (task?.kind === 'user' ? task.text.split('\n', 1)[0] : '') || 'New session';
    const model = app.status.find((one) => one.category === 'model');
    const name = model === undefined ? 'model' : noModel(model.text) ? `${model.state} (no model)` : model.state;
    if (!this.changed('bar', [title, name, this.list.hidden, session?.hosting])) return;
    fill(this.bar,
      button(title, () => this.showSessions(), {
        id: 'sessions-button', class: 'title', 'data-id': 'sessions-button', 'aria-expanded': String(!this.list.hidden),
        'aria-controls': 'sessions', title: 'Sessions',
      }),
      h('span', { class: 'line' },
        this.does(visible(name), 'loopline.chooseModel', { id: 'model', 'aria-label': `Model: ${name}. Choose another`, title: `${model?.text ?? ''} (choose another)` }),
        session !== undefined && session.hosting !== 'live' && h('span', { class: 'tag' }, session.hosting === 'attached' ? 'runs elsewhere' : 'not connected'),
        this.does('Dashboard', 'loopline.openDashboard', { id: 'dashboard', title: 'Open the dashboard in the browser' }),
        this.does('New', 'loopline.newSession', { id: 'new-session', 'aria-label': 'New session', title: 'New session' })));
  }

  private refreshHost(): void {
    const { phase, text } = this.page.app.host;
    if (!this.changed('host', [phase, text])) return;
    this.host.hidden = phase === 'running';
    this.host.setAttribute('data-phase', phase);
    const offers: Partial<Record<typeof phase, [string, PageCommand][]>> = {
      missing: [['Install the server', 'loopline.installServer'], ['Settings', 'loopline.openSettings'], ['Look again', 'loopline.restartServer']],
      failed: [['Start again', 'loopline.restartServer'], ['Show log', 'loopline.showLog']],
      stopped: [['Start', 'loopline.restartServer']],
      'no folder': [['Open a folder', 'loopline.openFolder']],
    };
    fill(this.host, h('p', {}, visible(text)),
      h('div', { class: 'buttons' }, ...(offers[phase] ?? []).map(([label, command]) => this.does(label, command))));
  }

  /** What of the server's state asks for something: settings that do not count, a folder that is not trusted. */
  private refreshNotes(): void {
    const notes = this.page.app.status.filter((one) => (one.severity !== 'info' && one.category !== 'approvals') || one.state === 'untrusted');
    if (!this.changed('notes', notes)) return;
    this.notes.hidden = notes.length === 0;
    fill(this.notes, ...notes.map((one) => h('p', { 'data-category': one.category }, visible(one.text),
      one.category === 'settings' && this.does('Settings', 'loopline.openSettings', { class: 'quiet' }),
      one.category === 'trust' && this.does('Trust…', 'loopline.trustFolder', { class: 'quiet' }))));
  }

  private refreshLive(): void {
    const session = shownSession(this.page);
    const running = runningTurn(session);
    const turn = figuresTurn(session);
    const call = turn?.calls.at(-1);
    this.live.hidden = turn === undefined;
    if (turn === undefined || !this.changed('live', [call, session?.context, running?.turnId, callsOf(turn)])) return;
    const number = (name: string, value: string, what: string): HTMLElement =>
      h('span', { class: 'number', 'data-number': name, title: what }, value);
    fill(this.live,
      h('span', { class: running === undefined ? 'state idle' : 'state running', 'aria-hidden': 'true' }, running === undefined ? '○' : '◉'),
      number('rate', showRate(call?.tokensPerS), 'output tokens per second of this call'),
      number('ttft', showMs(call?.ttftMs), 'time to the first token of this call'),
      number('cached', showShare(call?.cachedShare), 'share of the input tokens that the service had cached'),
      number('reuse', reuseMarker(call?.reuse), 'what the call built on'),
      number('calls', showCalls(callsOf(turn)), 'model calls of this turn'),
      session?.context !== undefined && this.does(showContext(session.context), 'loopline.compact', {
        class: 'quiet number', 'data-number': 'context', 'aria-label': `Conversation: ${showContext(session.context)}. Make it shorter`,
        title: `${showCount(session.context.tokens)} tokens${session.context.windowTokens === undefined ? '' : ` of ${showCount(session.context.windowTokens)}`}: click to make the conversation shorter`,
      }),
      button('Breakdown', this.toggleBreakdown, { class: 'quiet', 'data-id': 'breakdown-button', 'aria-controls': 'breakdown' }));
  }

  private refreshPlan(): void {
    const session = shownSession(this.page);
    const turn = runningTurn(session) ?? session?.turns.at(-1);
    const steps = turn?.plan ?? [];
    this.plan.hidden = steps.length === 0;
    if (!this.changed('plan', steps)) return;
    const done = steps.filter((step) => step.status === 'completed' || step.status === 'done').length;
    const sign = (status: string): string => (status === 'completed' || status === 'done' ? '✓' : status === 'in_progress' ? '▸' : '·');
    fill(this.plan, h('details', { open: true }, h('summary', { 'data-id': 'plan' }, `Plan, ${done} of ${steps.length} done`),
      h('ol', {}, ...steps.map((step) => h('li', { 'data-status': step.status },
        h('span', { 'aria-hidden': 'true' }, `${sign(step.status)} `), visible(step.text), h('span', { class: 'unseen' }, `, ${step.status}`))))));
  }

  private refreshList(): void {
    const { sessions, current } = this.page.app;
    if (!this.changed('list', [sessions, current])) return;
    const words = { live: '', attached: 'runs elsewhere, watched', elsewhere: 'runs elsewhere', stored: '' };
    fill(this.list, sessions.length === 0 && h('p', { class: 'empty' }, 'No sessions in this folder yet.'),
      h('ul', {}, ...sessions.map((one) => h('li', {},
        button('', () => {
          this.page.send({ type: 'resume', sessionId: one.sessionId });
          this.showSessions(false);
        }, { 'data-id': one.sessionId, 'data-session': one.sessionId, 'data-state': one.state, 'aria-current': one.sessionId === current ? 'true' : 'false' })))));
    sessions.forEach((one, at) => {
      const row = this.list.querySelectorAll('li button')[at];
      if (row === undefined) return;
      const running = (one.turns ?? []).some((turn) => turn.status === 'running');
      row.append(h('span', { class: 'name' }, visible(one.title || 'untitled')),
        h('span', { class: 'detail' }, [running ? 'running' : '', words[one.state], one.model ?? '', (one.created ?? '').slice(0, 16).replace('T', ' ')].filter((part) => part !== '').join(' · ')));
    });
  }

  private does(label: string, command: PageCommand, more: Record<string, string> = {}): HTMLButtonElement {
    return button(label, () => this.page.send({ type: 'run', command }), { 'data-id': command, 'data-command': command, ...more });
  }

  /** Whether what a part shows differs from what is drawn. */
  private changed(part: string, shown: unknown): boolean {
    const now = JSON.stringify(shown);
    if (this.drawn[part] === now) return false;
    this.drawn[part] = now;
    return true;
  }
}
