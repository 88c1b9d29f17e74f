// Shared by all tabs of a browser: one stream for them together, open while one of them looks.

import { Stream } from "./stream-core.js";

const IDLE_MS = 30_000;
const tabs = new Map(); // port -> {turns, looks}
let state = "connecting";
let cursor = "";
let idle = 0;

const stream = new Stream((message) => {
  if (message.kind === "state") {
    if (message.state === state) return;
    state = message.state;
  }
  if (message.cursor) cursor = message.cursor;
  for (const port of tabs.keys()) port.postMessage(message);
});

function consider() {
  const looking = [...tabs.values()].filter((tab) => tab.looks);
  stream.watch(looking.flatMap((tab) => tab.turns));
  clearTimeout(idle);
  if (looking.length) stream.start();
  else idle = setTimeout(() => stream.stop(), IDLE_MS);
}

self.onconnect = (event) => {
  const port = event.ports[0];
  port.onmessage = ({ data }) => {
    if (data.kind === "bye") tabs.delete(port);
    else {
      const signedOut = state === "signed-out";
      if (signedOut) state = "connecting"; // this tab has signed in anew
      tabs.set(port, { turns: data.turns, looks: data.looks });
      port.postMessage({ kind: "state", state });
      if (cursor && state === "live") port.postMessage({ kind: "hello", data: {}, cursor });
    }
    consider();
  };
  port.start();
};
