// Charts over uPlot. Their data stands in the page: a list or a table that is there without any script.

const MAX_POINTS = 900;
const COLOURS = ["--inference", "--overhead", "--tools", "--approval", "--other", "--warning", "--error"];
const DASHES = [[], [6, 3], [2, 3], [8, 3, 2, 3], [4, 4], [1, 3], [10, 4]];

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function written(unit, value) {
  if (value === null || value === undefined) return "–";
  if (value === 0) return { ms: "0 ms", rate: "0 tok/s", share: "0 %", usd: "$0" }[unit] ?? "0";
  if (unit === "ms") return value < 1000 ? `${value < 10 ? value.toFixed(1) : value.toFixed(0)} ms` : `${(value / 1000).toFixed(2)} s`;
  if (unit === "rate") return `${value < 10 ? value.toFixed(1) : Math.round(value)} tok/s`;
  if (unit === "share") return `${(value * 100).toFixed(0)} %`;
  if (unit === "usd") return `$${value < 0.01 ? value.toFixed(4) : value.toFixed(2)}`;
  return Math.round(value).toLocaleString("en");
}

// The smallest height of an axis: nothing but zeros is a line at the bottom, not noise under a magnifying glass.
const LEAST = { ms: 1, rate: 1, share: 0.01, usd: 0.01, count: 1 };

// From how much on a unit is written as another one, so that its ticks fit beside the plot: what was reported by
// mistake may be of any size.
const SHORTER = [
  ["ms", 1000, 0.001, "% s"], ["count", 1e15, 1e-15, "%e15"], ["count", 1e12, 1e-12, "% tn"], ["count", 1e9, 1e-9, "% bn"],
  ["rate", 1e6, 1e-6, "% M tok/s"],
];

// Ticks as text, all in one unit and with the digits that tell each one exactly, so that no two read alike.
export function labels(unit, ticks) {
  const most = Math.max(...ticks.map(Math.abs));
  const own = `${unit === "usd" ? "$" : ""}%${{ ms: " ms", rate: " tok/s", share: " %" }[unit] ?? ""}`;
  const [factor, form] = SHORTER.find(([of, least]) => of === unit && most >= least)?.slice(2) ?? [unit === "share" ? 100 : 1, own];
  const values = ticks.map((tick) => tick * factor);
  const slack = Math.abs((values[1] ?? 0) - values[0] || 1) * 1e-6;
  let digits = unit === "usd" ? 2 : 0;
  while (digits < 12 && values.some((value) => Math.abs(value - Number(value.toFixed(digits))) > slack)) digits += 1;
  const exact = { minimumFractionDigits: digits, maximumFractionDigits: digits };
  return values.map((value) => form.replace("%", () => (value === 0 ? "0" : value.toLocaleString("en", exact))));
}

// Instants as text, in the reader's zone: the shortest form that tells them apart.
export function instants(ticks) {
  const apartS = ticks.length > 1 ? ticks[1] - ticks[0] : 0;
  const forms = apartS >= 86_400
    ? [{ day: "numeric", month: "short" }, { day: "numeric", month: "short", year: "2-digit" }]
    : [{ hour: "2-digit", minute: "2-digit" }, { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" }];
  let texts = [];
  for (const form of forms) {
    texts = ticks.map((tick) => new Date(tick * 1000).toLocaleString("en-GB", form).replace(/,? (?=\d\d:)/, "\n"));
    if (new Set(texts).size === texts.length) break;
  }
  return texts;
}

const WHOLE = [1, 2, 5].flatMap((digit) => Array.from({ length: 16 }, (_, power) => digit * 10 ** power)).sort((a, b) => a - b);

function axes(unit) {
  const line = { stroke: colour("--text-2"), grid: { stroke: colour("--tick"), width: 1 }, ticks: { show: false }, font: "12px system-ui" };
  return [
    { ...line, space: 72, size: (_, texts) => (texts?.some((text) => text?.includes("\n")) ? 40 : 24), values: (_, ticks) => instants(ticks) },
    { ...line, size: 76, space: 32, values: (_, ticks) => labels(unit, ticks), ...(unit === "count" ? { incrs: WHOLE } : {}) },
  ];
}

// An instant on an axis of so many seconds, in the reader's zone.
function instant(atS, spanS) {
  const at = new Date(atS * 1000);
  if (spanS > 2 * 86_400) return at.toLocaleDateString("en-GB", { day: "numeric", month: "short" });
  return at.toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });
}

function width(host) {
  return Math.max(240, host.getBoundingClientRect().width);
}

// The rate of now: a window of fixed length that moves on with the clock.
export class RateChart {
  #figure;
  #host;
  #span;
  #x = [];
  #y = [];
  #plot = null;
  #frame = 0;

  constructor(figure) {
    this.#figure = figure;
    this.#host = figure.querySelector(".plot");
    this.#span = Number(figure.dataset.span);
    for (const point of figure.querySelectorAll(".points > li")) {
      this.#x.push(Number(point.dataset.x));
      this.#y.push(Number(point.dataset.y));
    }
    this.#draw();
    new ResizeObserver(() => this.#plot?.setSize({ width: width(this.#host), height: 132 })).observe(this.#host);
  }

  add(atS, rate) {
    if (this.#x.length && atS <= this.#x[this.#x.length - 1]) return;
    if (this.#x.length && atS - this.#x[this.#x.length - 1] > 2) {
      this.#x.push(this.#x[this.#x.length - 1] + 1, atS - 1);
      this.#y.push(0, 0);
    }
    this.#x.push(atS);
    this.#y.push(rate);
    while (this.#x.length > MAX_POINTS) {
      this.#x.shift();
      this.#y.shift();
    }
    this.#row(atS, rate);
    this.#queue(atS);
  }

  tick(nowS) {
    this.#queue(nowS);
  }

  themed() {
    this.#plot?.destroy();
    this.#draw();
  }

  #queue(nowS) {
    if (this.#frame) return;
    this.#frame = requestAnimationFrame(() => {
      this.#frame = 0;
      this.#plot.setData([this.#x, this.#y], false);
      this.#plot.setScale("x", { min: nowS - this.#span, max: nowS });
      const highest = Math.max(10, ...this.#y.filter((_, index) => this.#x[index] >= nowS - this.#span));
      this.#plot.setScale("y", { min: 0, max: highest * 1.1 });
    });
  }

  #draw() {
    const nowS = Date.now() / 1000;
    const options = {
      width: width(this.#host), height: 132, legend: { show: false }, cursor: { show: false },
      scales: { x: { time: true, auto: false, range: [nowS - this.#span, nowS] }, y: { auto: false, range: [0, Math.max(10, ...this.#y) * 1.1] } },
      axes: axes("rate"),
      series: [{}, { stroke: colour("--inference"), width: 1, fill: `color-mix(in srgb, ${colour("--inference")} 18%, transparent)`, points: { show: false } }],
    };
    options.scales.x.range = (_, min, max) => [min, max];
    options.scales.y.range = (_, min, max) => [min, max];
    this.#plot = new uPlot(options, [this.#x, this.#y], this.#host);
    this.#queue(nowS);
  }

  #row(atS, rate) {
    if (atS % 30) return;
    const body = this.#figure.querySelector("tbody");
    const line = document.createElement("tr");
    const [time, value] = [document.createElement("td"), document.createElement("td")];
    time.textContent = new Date(atS * 1000).toLocaleTimeString();
    value.textContent = written("rate", rate);
    value.className = "num";
    line.append(time, value);
    body.append(line);
    while (body.children.length > 30) body.firstElementChild.remove();
  }
}

// A measure over time, from the table beneath it.
export class TrendChart {
  #figure;
  #host;
  #plot = null;

  constructor(figure, marker) {
    this.#figure = figure;
    this.#host = figure.querySelector(".plot");
    this.marker = marker;
    figure.querySelector("details").open = false;
    this.#draw();
    new ResizeObserver(() => this.#plot?.setSize({ width: width(this.#host), height: 168 })).observe(this.#host);
  }

  themed() {
    this.#plot.destroy();
    this.#draw();
  }

  #draw() {
    const { unit, band, since, until } = this.#figure.dataset;
    const names = [...this.#figure.querySelectorAll("thead th")].slice(1).map((head) => head.textContent);
    const rows = [...this.#figure.querySelectorAll("tbody tr")];
    const number = (text) => (text === "" ? null : Number(text));
    const data = [rows.map((row) => Number(row.dataset.x)), ...names.map((_, index) => rows.map((row) => number(row.children[index + 1].dataset.y)))];
    const isBand = band === "true";
    const series = names.map((name, index) => {
      const stroke = colour(isBand ? "--inference" : COLOURS[index % COLOURS.length]);
      const edge = isBand && index === 1;
      return {
        label: name, stroke: edge ? `color-mix(in srgb, ${stroke} 45%, transparent)` : stroke, width: edge ? 1 : 1.5,
        dash: isBand ? [] : DASHES[index % DASHES.length], points: { show: rows.length < 40, size: rows.length === 1 ? 9 : 5, fill: colour("--bg") }, value: (_, value) => written(unit, value),
      };
    });
    const options = {
      width: width(this.#host), height: 168, axes: axes(unit), series: [{ label: "Time" }, ...series],
      scales: { x: { time: true, range: [Number(since), Number(until)] }, y: { range: (_, min, max) => [Math.min(0, min ?? 0), unit === "share" && max > 0.5 ? 1 : (max > 0 ? max : LEAST[unit] ?? 1) * 1.15] } },
      bands: isBand ? [{ series: [2, 1], fill: `color-mix(in srgb, ${colour("--inference")} 14%, transparent)` }] : [],
      cursor: { sync: { key: "trends" }, drag: { x: false, y: false } }, legend: { show: names.length > 1 && !isBand, live: false },
      hooks: { draw: [(plot) => this.#mark(plot)], setCursor: [(plot) => this.#read(plot, unit, names)] },
    };
    this.#plot = new uPlot(options, data, this.#host);
  }

  // What the pointer is at, beside the title.
  #read(plot, unit, names) {
    const at = plot.cursor.idx;
    const place = this.#figure.querySelector(".readout");
    if (at === null || at === undefined) return void (place.textContent = "");
    const values = names.map((name, index) => `${names.length > 1 ? `${name} ` : ""}${written(unit, plot.data[index + 1][at])}`);
    place.textContent = `${instant(plot.data[0][at], plot.scales.x.max - plot.scales.x.min)}: ${values.slice(0, 3).join(", ")}`;
  }

  #mark(plot) {
    if (!this.marker) return;
    const x = Math.round(plot.valToPos(this.marker, "x", true));
    if (x < plot.bbox.left || x > plot.bbox.left + plot.bbox.width) return;
    const context = plot.ctx;
    context.save();
    context.strokeStyle = colour("--text");
    context.setLineDash([4, 4]);
    context.beginPath();
    context.moveTo(x, plot.bbox.top);
    context.lineTo(x, plot.bbox.top + plot.bbox.height);
    context.stroke();
    context.restore();
  }
}
