// A small editor for one document: a text area, kept in step with a language server by vscode-ws-jsonrpc.
import { TextDocument } from "vscode-languageserver-textdocument";
import { createWebSocketConnection, toSocket } from "vscode-ws-jsonrpc";

const facts = Object.fromEntries(new URLSearchParams(location.search));
const token = location.hash.slice(1);
const shown = (id) => document.getElementById(id);
const code = shown("code");

let text = TextDocument.create(facts.file, "python", 1, facts.text);
let turn;
code.value = text.getText();

const logger = { error: say, warn: say, info: () => {}, log: () => {} };
const socket = new WebSocket(facts.server, ["loopline", `token.${token}`]);
socket.onopen = () => begin(createWebSocketConnection(toSocket(socket), logger));
socket.onclose = () => say("closed");

function say(state) {
  shown("connection").textContent = state;
}

async function begin(connection) {
  connection.onRequest("workspace/applyEdit", ({ edit }) => applied(connection, edit));
  connection.onRequest("workspace/configuration", ({ items }) => items.map(() => null));
  connection.onRequest("window/workDoneProgress/create", () => null);
  connection.onNotification("$/progress", ({ value }) => {
    shown("progress").textContent = `${value.kind} ${value.title ?? value.message ?? ""}`;
  });
  connection.onNotification("$/loopline/event", ({ events }) => events.forEach(told));
  connection.onUnhandledNotification(() => {});
  connection.listen();

  const answer = await connection.sendRequest("initialize", {
    processId: null,
    rootUri: facts.root,
    workspaceFolders: [{ uri: facts.root, name: "project" }],
    initializationOptions: JSON.parse(facts.options),
    capabilities: {
      general: { positionEncodings: ["utf-16"] },
      window: { workDoneProgress: true },
      workspace: { applyEdit: true, configuration: true, workspaceEdit: { documentChanges: true } },
      experimental: { loopline: { answers: true, userSettings: true } },
    },
  });
  await connection.sendNotification("initialized", {});
  await connection.sendNotification("textDocument/didOpen", {
    textDocument: { uri: text.uri, languageId: text.languageId, version: text.version, text: text.getText() },
  });
  code.oninput = () => changed(connection, [{ text: code.value }]);
  shown("start").onclick = () => start(connection);
  shown("stop").onclick = () => run(connection, "loopline.turn.cancel", { turnId: turn });
  say(`${socket.protocol} ${answer.serverInfo.name} ${answer.capabilities.positionEncoding}`);
}

function run(connection, command, argument) {
  return connection.sendRequest("workspace/executeCommand", { command, arguments: [argument] });
}

async function start(connection) {
  shown("state").textContent = "asked";
  const textDocument = { uri: text.uri };
  ({ turnId: turn } = await run(connection, "loopline.turn.start", { task: shown("task").value, textDocument }));
  shown("stop").disabled = false;
}

// One versioned edit of the one document, as editors take it: an older version is refused.
function applied(connection, edit) {
  const [change] = edit.documentChanges;
  if (change.textDocument.uri !== text.uri || change.textDocument.version !== text.version) {
    return { applied: false, failureReason: "it was made for another version" };
  }
  const ranges = change.edits.map(({ range, newText }) => ({ range, text: newText }));
  code.value = TextDocument.applyEdits(text, change.edits);
  changed(connection, ranges.reverse());
  return { applied: true };
}

function changed(connection, contentChanges) {
  text = TextDocument.update(text, contentChanges, text.version + 1);
  const textDocument = { uri: text.uri, version: text.version };
  connection.sendNotification("textDocument/didChange", { textDocument, contentChanges });
}

function told(event) {
  const row = document.createElement("li");
  row.textContent = event.type;
  shown("events").append(row);
  if (event.type === "turn.started") shown("state").textContent = "running";
  if (event.type === "turn.finished") {
    shown("state").textContent = event.status;
    shown("answer").textContent = event.text;
    shown("stop").disabled = true;
  }
}
