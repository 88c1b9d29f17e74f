// openai-node, unchanged: WebSocket and HTTP. One JSON line per fact.
import OpenAI from "openai";
import { ResponsesWS } from "openai/resources/responses/ws";

const client = new OpenAI({ baseURL: process.env.BASE_URL, apiKey: process.env.KEY, maxRetries: 0 });
const model = "scripted";
const tool = {
  type: "function",
  name: "read",
  strict: false,
  parameters: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
};
const tell = (name, value) => console.log(JSON.stringify([name, value]));
const ENDS = ["response.completed", "response.incomplete", "response.failed", "error"];

async function overWebSocket() {
  const socket = new ResponsesWS(client);
  const waiting = [];
  let events = [];
  socket.on("event", (event) => {
    events.push(event);
    if (ENDS.includes(event.type)) {
      waiting.shift()?.(events);
      events = [];
    }
  });
  socket.on("error", () => {});
  const call = (fields) =>
    new Promise((resolve) => {
      waiting.push(resolve);
      socket.send({ type: "response.create", model, store: false, ...fields });
    });
  const first = (await call({ input: "go", tools: [tool] })).at(-1).response;
  const output = { type: "function_call_output", call_id: first.output[0].call_id, output: "ok" };
  const second = await call({ input: [output], tools: [tool], previous_response_id: first.id });
  tell("ws.loop", [first.output[0].type, second.at(-1).response.output[0].type, second[0].type]);
  const bad = (await call({ input: "x", previous_response_id: "resp_none" })).at(-1);
  tell("ws.error", [bad.type, bad.status ?? bad.error?.status, bad.error?.code ?? bad.code]);
  tell("ws.after", (await call({ input: "x" })).at(-1).type);
  socket.close();
}

async function overHttp() {
  const first = await client.responses.create({ model, input: "go", tools: [tool] });
  const output = { type: "function_call_output", call_id: first.output[0].call_id, output: "ok" };
  const stream = await client.responses.create({
    model,
    input: [output],
    previous_response_id: first.id,
    stream: true,
  });
  const kinds = [];
  for await (const event of stream) kinds.push(event.type);
  tell("http.loop", [first.output[0].type, kinds[0], kinds.at(-1)]);
  tell("http.retrieve", (await client.responses.retrieve(first.id)).id === first.id);
  try {
    await client.responses.create({ model, input: "x", top_p: 7 });
  } catch (error) {
    tell("http.invalid", [error.status, error.code, error.param]);
  }
}

await overWebSocket();
await overHttp();
