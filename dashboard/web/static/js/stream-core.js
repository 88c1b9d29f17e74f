// One live stream: opens it, keeps its position, comes back after it broke. Runs in a shared worker or in a page.

const STALE_MS = 25_000; // the hub is never silent for longer than 10 s
const FIRST_RETRY_MS = 500;
const LONGEST_RETRY_MS = 15_000;
const KINDS = ["hello", "turns", "totals", "resync", "beat", "signed_out"];

export class Stream {
  #tell;
  #source = null;
  #after = "";
  #turns = [];
  #wanted = false;
  #retryMs = FIRST_RETRY_MS;
  #timer = 0;
  #watch = 0;

  constructor(tell) {
    this.#tell = tell; // ({kind, data, cursor}) for events, ({kind: "state", state}) for the connection
  }

  // Watch these turns as well; a change opens the stream anew, at the position it had.
  watch(turns) {
    const next = [...new Set(turns)].sort().slice(0, 8);
    if (next.join("\n") === this.#turns.join("\n")) return;
    this.#turns = next;
    if (this.#source) this.#open();
  }

  start() {
    if (this.#wanted) return;
    this.#wanted = true;
    this.#open();
  }

  stop() {
    this.#wanted = false;
    this.#close();
    clearTimeout(this.#timer);
  }

  #open() {
    this.#close();
    clearTimeout(this.#timer);
    this.#tell({ kind: "state", state: "connecting" });
    const query = new URLSearchParams(this.#turns.map((turn) => ["turn", turn]));
    if (this.#after) query.set("after", this.#after);
    const source = (this.#source = new EventSource(`/api/stream?${query}`));
    for (const kind of KINDS) source.addEventListener(kind, (event) => this.#take(kind, event));
    source.addEventListener("error", () => this.#broken());
    this.#alive();
  }

  #close() {
    clearTimeout(this.#watch);
    this.#source?.close();
    this.#source = null;
  }

  #take(kind, event) {
    this.#alive();
    if (event.lastEventId) this.#after = event.lastEventId;
    this.#retryMs = FIRST_RETRY_MS;
    if (kind === "signed_out") return this.#signedOut();
    this.#tell({ kind: "state", state: "live" });
    if (kind !== "beat") this.#tell({ kind, data: JSON.parse(event.data), cursor: this.#after });
  }

  #alive() {
    clearTimeout(this.#watch);
    this.#watch = setTimeout(() => this.#broken(), STALE_MS);
  }

  async #broken() {
    this.#close();
    if (!this.#wanted) return;
    this.#tell({ kind: "state", state: "connecting" });
    const waitMs = this.#retryMs * (0.5 + Math.random());
    this.#retryMs = Math.min(LONGEST_RETRY_MS, this.#retryMs * 2);
    clearTimeout(this.#timer);
    this.#timer = setTimeout(async () => {
      const answer = await fetch("/api/me").catch(() => null);
      if (!this.#wanted) return;
      if (answer?.status === 401) this.#signedOut();
      else if (answer?.ok) this.#open();
      else this.#broken();
    }, waitMs);
  }

  #signedOut() {
    this.stop();
    this.#tell({ kind: "state", state: "signed-out" });
  }
}
