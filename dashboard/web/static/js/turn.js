// A turn's page: bars of what runs grow with the clock, and the page is fetched anew when the turn changes.

const REFRESH_MS = 1000;
const withKeys = new WeakSet(); // waterfalls that answer to arrow keys; one outlives many refreshes

export class TurnPage {
  #main = document.getElementById("main");
  #lastMs = 0;
  #timer = 0;
  #refresh;

  constructor(refresh) {
    this.#refresh = refresh;
    this.turn = this.#main.dataset.turn;
    const fall = document.getElementById("fall");
    if (fall && !withKeys.has(fall)) {
      withKeys.add(fall);
      fall.addEventListener("keydown", move);
    }
  }

  turns({ rows, ended }) {
    if ([...rows, ...ended].some((row) => row.turn === this.turn)) this.#soon();
  }

  totals() {}

  tick() {
    if (this.#main.dataset.running === "true") this.#grow();
  }

  themed() {}

  #soon() {
    clearTimeout(this.#timer);
    const waitMs = Math.max(0, this.#lastMs + REFRESH_MS - Date.now());
    this.#timer = setTimeout(() => {
      this.#lastMs = Date.now();
      this.#refresh();
    }, waitMs);
  }

  // The axis ends now: everything drawn moves to the left, what runs reaches to the end.
  #grow() {
    const skewMs = Number(this.#main.dataset.now) - this.#loadedMs();
    const nowMs = Date.now() + skewMs - Number(this.#main.dataset.started);
    const spanMs = Math.max(Number(this.#main.dataset.span), nowMs);
    const percent = (ms) => `${((100 * ms) / spanMs).toFixed(3)}%`;
    for (const bar of document.querySelectorAll("#fall rect[data-from]")) {
      const [from, to] = [Number(bar.dataset.from), "grows" in bar.dataset ? spanMs : Number(bar.dataset.to)];
      bar.setAttribute("x", percent(from));
      bar.setAttribute("width", `${Math.max(0.15, (100 * (to - from)) / spanMs).toFixed(3)}%`);
    }
    for (const mark of document.querySelectorAll("#fall line[data-at-ms]")) {
      mark.setAttribute("x1", percent(Number(mark.dataset.atMs)));
      mark.setAttribute("x2", percent(Number(mark.dataset.atMs)));
    }
  }

  #loadedMs() {
    this.#main.dataset.loaded ??= String(Date.now());
    return Number(this.#main.dataset.loaded);
  }
}

function move(event) {
  const lines = [...document.querySelectorAll("#fall .bars > li")];
  const at = lines.indexOf(event.target.closest("li"));
  const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: lines.length - 1, j: at + 1, k: at - 1 }[event.key];
  if (at < 0 || to === undefined || !lines[to]) return;
  event.preventDefault();
  lines[at].tabIndex = -1;
  lines[to].tabIndex = 0;
  lines[to].focus();
}
