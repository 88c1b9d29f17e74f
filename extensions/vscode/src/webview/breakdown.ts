/** Where the time of a turn went: its five stages as one bar, and its calls. */
import { showCount, showMs, showRate, showShare } from '../state/numbers';
import { reuseMarker } from '../state/status_text';
import { stagesOf } from './stages';
import { button, fill, h } from './dom';
import { figuresTurn, shownSession } from './page';
import type { Page } from './page';
import { visible } from './plain';

export class Breakdown {
  readonly element = h('section', { id: 'breakdown', 'aria-label': 'Turn breakdown', tabindex: -1, hidden: true });
  private drawn = '';

  constructor(private readonly page: Page) {}

  toggle(open = this.element.hidden): void {
    this.element.hidden = !open;
    if (!open) return;
    this.drawn = '';
    this.refresh();
    this.element.focus();
  }

  refresh(): void {
    if (this.element.hidden) return;
    const turn = figuresTurn(shownSession(this.page));
    const now = JSON.stringify([turn?.turnId, turn?.stages, turn?.calls, turn?.status]);
    if (now === this.drawn) return;
    this.drawn = now;
    const close = button('Close', () => this.toggle(false), { class: 'quiet', 'data-id': 'close-breakdown' });
    if (turn === undefined) {
      fill(this.element, h('p', { class: 'empty' }, 'Start a turn to see where its time goes.'), close);
      return;
    }
    const stages = stagesOf(turn.stages);
    const total = stages.reduce((sum, stage) => sum + stage.ms, 0);
    const bar = h('div', { class: 'stages', role: 'img', 'aria-label': stages.map((one) => `${one.label} ${showMs(one.ms)}`).join(', ') });
    for (const stage of stages) {
      const part = h('span', { 'data-stage': stage.name, title: `${stage.label} ${showMs(stage.ms)}` });
      part.style.flexGrow = String(stage.ms);
      bar.append(part);
    }
    fill(this.element,
      h('h2', {}, `${visible(turn.title || 'Turn')}: ${showMs(total)}`), bar,
      h('ul', { class: 'legend' }, ...stages.map((stage) => h('li', { 'data-legend': stage.name },
        h('span', { class: 'key', 'aria-hidden': 'true' }), `${stage.label} `, h('span', { class: 'number' }, showMs(stage.ms))))),
      h('div', { class: 'wide', tabindex: 0 }, h('table', {},
        h('thead', {}, h('tr', {}, ...['call', 'ttft', 'time', 'in', 'cached', 'out', 'tok/s', 'chain'].map((name) => h('th', { scope: 'col' }, name)))),
        h('tbody', {}, ...turn.calls.map((call) => h('tr', { 'data-call': call.number },
          ...[String(call.number), showMs(call.ttftMs), showMs(call.durationMs), showCount(call.inputTokens), showShare(call.cachedShare),
            showCount(call.outputTokens), showRate(call.tokensPerS).replace(' tok/s', ''), reuseMarker(call.reuse)].map((cell) => h('td', {}, cell))))))),
      close);
  }
}
