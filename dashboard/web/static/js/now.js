// The page of now: rows come and go, numbers change in place, the rate chart moves on.

import { RateChart } from "./charts.js";
import { age, runningTime } from "./time.js";

const ENDED_SHOWN = 10;
const ERRORS_SHOWN = 12;
const FULL_RATE = 1000; // tokens per second that fill the small bar

export class NowPage {
  #running = document.querySelector("#running tbody");
  #ended = document.querySelector("#ended tbody");
  #errors = document.getElementById("errors");
  #chart = new RateChart(document.getElementById("rate-chart"));
  #skewMs = Number(document.getElementById("main").dataset.now) - Date.now();
  #toSay = [];
  #saying = 0;

  turns({ rows, ended, errors, gone, shown, hidden }) {
    for (const row of ended) this.#end(row);
    for (const row of rows) if (row.status === "running") this.#place(this.#running, row);
    for (const turn of gone) this.#find(this.#running, turn)?.remove();
    const wanted = new Set(shown);
    for (const line of [...this.#running.children]) if (!wanted.has(line.dataset.turn)) line.remove();
    this.#sort(shown);
    for (const error of errors) this.#error(error);
    this.#text("hidden_text", hidden ? `and ${hidden} more` : "");
    this.#settle();
  }

  totals({ at_s, totals }) {
    for (const name of ["running", "ttft", "reused", "rate_text"]) this.#text(name, String(totals[name]));
    this.#chart.add(at_s, totals.rate);
    this.#connections(totals);
  }

  // Between events: running times and ages go on.
  tick() {
    const nowMs = Date.now() + this.#skewMs;
    for (const line of this.#running.children) {
      line.querySelector('[data-f="duration"]').textContent = runningTime(nowMs - Number(line.dataset.started));
    }
    for (const cell of document.querySelectorAll("#connections [data-since]")) {
      if (Number(cell.dataset.since)) cell.textContent = age((nowMs - Number(cell.dataset.since)) / 1000);
    }
    this.#chart.tick(nowMs / 1000);
  }

  themed() {
    this.#chart.themed();
  }

  #find(body, turn) {
    return body.querySelector(`:scope > tr[data-turn="${CSS.escape(turn)}"]`);
  }

  #place(body, row) {
    let line = this.#find(body, row.turn);
    if (!line) {
      line = document.getElementById("row").content.querySelector("tr").cloneNode(true);
      line.dataset.turn = row.turn;
      body.prepend(line);
    }
    line.dataset.status = row.status;
    line.dataset.started = row.started_ms;
    line.querySelector(".stage").dataset.stage = row.stage || row.status;
    for (const cell of line.querySelectorAll("[data-f]")) {
      const text = String(row[cell.dataset.f] ?? "");
      if (cell.dataset.f === "duration" && row.status === "running") continue;
      if (cell.textContent !== text) cell.textContent = text;
    }
    line.querySelector("a").href = `/turns/${encodeURIComponent(row.turn)}`;
    line.querySelector(".rate rect").setAttribute("width", `${Math.min(100, (100 * row.rate) / FULL_RATE)}%`);
    return line;
  }

  #end(row) {
    this.#find(this.#running, row.turn)?.remove();
    this.#find(this.#ended, row.turn)?.remove();
    this.#ended.prepend(this.#place(this.#ended, row));
    while (this.#ended.children.length > ENDED_SHOWN) this.#ended.lastElementChild.remove();
    this.#announce(`${row.title} ${row.status} after ${row.duration}`);
  }

  #error(error) {
    const key = `${error.at_ms} ${error.turn} ${error.code}`;
    if ([...this.#errors.children].some((item) => item.dataset.key === key)) return;
    const item = document.getElementById("error-item").content.querySelector("li").cloneNode(true);
    item.dataset.key = key;
    item.dataset.severity = error.severity;
    for (const part of item.querySelectorAll("[data-f]")) part.textContent = error[part.dataset.f];
    if (error.turn) item.querySelector("a").href = `/turns/${encodeURIComponent(error.turn)}`;
    const time = item.querySelector("time");
    time.dateTime = new Date(error.at_ms).toISOString();
    time.textContent = new Date(error.at_ms).toLocaleTimeString();
    this.#errors.prepend(item);
    while (this.#errors.children.length > ERRORS_SHOWN) this.#errors.lastElementChild.remove();
    if (error.severity === "error") this.#announce(`Error ${error.code}`);
  }

  #sort(shown) {
    shown.forEach((turn, index) => {
      const line = this.#find(this.#running, turn);
      if (line && this.#running.children[index] !== line) this.#running.insertBefore(line, this.#running.children[index] ?? null);
    });
  }

  #connections({ connections, more_connections }) {
    const body = document.querySelector("#connections tbody");
    body.replaceChildren(
      ...connections.map((one) => {
        const line = document.createElement("tr");
        const head = document.createElement("th");
        head.scope = "row";
        head.title = one.connection;
        head.textContent = one.agent;
        line.append(head);
        for (const text of ["–", one.calls, one.reused]) {
          const cell = document.createElement("td");
          cell.className = "num";
          cell.textContent = text;
          line.append(cell);
        }
        line.children[1].dataset.since = one.opened_ms;
        return line;
      }),
    );
    const more = document.getElementById("connections-more");
    more.hidden = connections.length > 0 && !more_connections;
    more.textContent = more_connections ? `and ${more_connections} more` : "None open.";
    this.tick();
  }

  #settle() {
    document.getElementById("running-none").hidden = this.#running.children.length > 0;
    document.getElementById("ended-none").hidden = this.#ended.children.length > 0;
    document.getElementById("errors-none").hidden = this.#errors.children.length > 0;
    if (this.#running.children.length || this.#ended.children.length) document.querySelector(".empty")?.remove();
  }

  #text(name, text) {
    for (const place of document.querySelectorAll(`[data-total="${name}"]`)) {
      if (place.textContent !== text) place.textContent = text;
    }
  }

  // Said aloud: ends and errors only, gathered to at most one message in two seconds.
  #announce(text) {
    this.#toSay.push(text);
    if (this.#saying) return;
    const say = () => {
      this.#saying = this.#toSay.length ? setTimeout(say, 2000) : 0;
      if (this.#toSay.length) document.getElementById("announce").textContent = this.#toSay.splice(0).slice(-3).join(". ");
    };
    say();
  }
}
