// A page's end of the live stream: the shared worker where there is one, else a stream of its own.

import { Stream } from "./stream-core.js";

const STALE_SHOWN_MS = 12_000;

export class Live {
  #handlers = new Map();
  #port = null;
  #stream = null;
  #turns = [];
  #paused = false;
  #state = "connecting";
  #heardMs = Date.now();
  #chip = document.getElementById("live");

  constructor(workerUrl) {
    if (typeof SharedWorker === "function") {
      this.#port = new SharedWorker(workerUrl, { type: "module", name: "loopline" }).port;
      this.#port.onmessage = ({ data }) => this.#take(data);
      this.#port.start();
    } else {
      this.#stream = new Stream((message) => this.#take(message));
    }
    document.addEventListener("visibilitychange", () => this.#say());
    addEventListener("pagehide", () => this.#port?.postMessage({ kind: "bye" }));
    addEventListener("pageshow", (event) => event.persisted && this.#say());
    setInterval(() => this.#show(), 1000);
  }

  on(kind, handler) {
    this.#handlers.set(kind, handler);
  }

  // Begin, and be told of these turns wherever they are in the list.
  watch(turns) {
    this.#turns = turns;
    this.#say();
  }

  get paused() {
    return this.#paused;
  }

  pause(paused) {
    this.#paused = paused;
    this.#say();
    this.#show();
  }

  #say() {
    const looks = !this.#paused && document.visibilityState === "visible";
    if (this.#port) this.#port.postMessage({ kind: "tab", turns: this.#turns, looks });
    else {
      this.#stream.watch(this.#turns);
      looks ? this.#stream.start() : this.#stream.stop();
    }
  }

  #take(message) {
    if (message.kind === "state") {
      this.#state = message.state;
      if (message.state === "live") this.#heardMs = Date.now();
      this.#show();
      return;
    }
    this.#state = "live";
    this.#heardMs = Date.now();
    if (!this.#paused) this.#handlers.get(message.kind)?.(message.data, message.cursor);
  }

  #show() {
    const silentMs = Date.now() - this.#heardMs;
    let [state, word] = [this.#state, { live: "live", connecting: "reconnecting", "signed-out": "signed out" }[this.#state]];
    if (this.#paused) [state, word] = ["paused", "paused"];
    else if (state === "connecting" && silentMs > STALE_SHOWN_MS) word = `stale for ${Math.round(silentMs / 1000)} s`;
    this.#chip.dataset.state = state === "connecting" && silentMs > STALE_SHOWN_MS ? "stale" : state;
    const shown = this.#chip.querySelector(".word");
    if (shown.textContent !== word) shown.textContent = word;
  }
}
