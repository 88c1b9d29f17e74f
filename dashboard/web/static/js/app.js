// Starts what the page needs. Everything here adds to pages that work without it.

import { TrendChart } from "./charts.js";
import { Live } from "./live.js";
import { NowPage } from "./now.js";
import { localise } from "./time.js";
import { TurnPage } from "./turn.js";

document.documentElement.classList.add("js");
const live = new Live(new URL("./stream-worker.js", import.meta.url));
let page = null;

function begin() {
  const main = document.getElementById("main");
  const { page: name, marker } = main.dataset;
  page = null;
  if (name === "now") page = new NowPage();
  if (name === "turn") page = new TurnPage(refresh);
  if (name === "trends") {
    const charts = [...document.querySelectorAll('figure[data-kind="trend"]')].map((figure) => new TrendChart(figure, Number(marker) || 0));
    page = { turns() {}, totals() {}, tick() {}, themed: () => charts.forEach((chart) => chart.themed()) };
  }
  main.dataset.begun = "true";
  localise(document);
  live.watch(page?.turn ? [page.turn] : []);
}

// Fetch the page anew and put its content in place, without losing focus or scroll.
function refresh() {
  htmx.ajax("GET", location.href, { target: "#main", select: "#main", swap: name() === "turn" ? "outerMorph" : "outerHTML" });
}

function name() {
  return document.getElementById("main").dataset.page;
}

function seq(cursor) {
  const [epoch, number] = [cursor.slice(0, cursor.lastIndexOf("-")), cursor.slice(cursor.lastIndexOf("-") + 1)];
  return { epoch, number: Number(number) };
}

live.on("turns", (data) => page?.turns(data));
live.on("totals", (data) => page?.totals(data));
live.on("resync", () => (name() === "now" || name() === "turn") && refresh());
live.on("hello", (_, cursor) => {
  const [mine, theirs] = [seq(document.getElementById("main").dataset.cursor), seq(cursor)];
  if ((name() === "now" || name() === "turn") && (mine.epoch !== theirs.epoch || mine.number < theirs.number)) refresh();
});

document.addEventListener("htmx:after:swap", () => {
  if (document.getElementById("main").dataset.begun !== "true") begin();
  else localise(document);
});
setInterval(() => document.visibilityState === "visible" && !live.paused && page?.tick(), 250);

// Pause and theme, by button and by key

const pause = document.getElementById("pause");
function togglePause() {
  live.pause(!live.paused);
  pause.setAttribute("aria-pressed", String(live.paused));
  pause.textContent = live.paused ? "Go on" : "Pause";
  if (!live.paused && (name() === "now" || name() === "turn")) refresh();
}
pause.addEventListener("click", togglePause);

function toggleTheme() {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  document.cookie = `loopline_theme=${root.dataset.theme}; path=/; max-age=31536000; samesite=lax`;
  page?.themed();
}
document.getElementById("theme").addEventListener("click", toggleTheme);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => page?.themed());

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select")) return;
  if (event.key === " " && !event.target.closest("button, a, summary, .bars")) togglePause();
  else if (event.key === "t") toggleTheme();
  else if (/^[1-5]$/.test(event.key)) document.querySelectorAll(".top nav a")[Number(event.key) - 1]?.click();
  else return;
  event.preventDefault();
});

begin();
