/** The client against a running service, whose address is in GRAPHMEM_URL. */

import assert from "node:assert/strict";
import { before, test } from "node:test";

import { Client, Conflict, InvalidInput, NotFound } from "../src/index.js";

const url = process.env["GRAPHMEM_URL"];
const memory = new Client({ ...(url ? { url } : {}), clientId: process.env["GRAPHMEM_CLIENT"] ?? "typescript" });
const skip = url ? false : "GRAPHMEM_URL names no running service";

const SAID = ["The deploy window moves to Tuesdays.", "The ferry to Lund is late.", "Mara keeps the harbour keys."];

before(async () => {
  if (!url) return;
  const messages = SAID.map((content, place) => ({
    role: "user" as const,
    content,
    external_id: `${place}`,
    occurred_at: `2026-03-0${place + 1}T09:00:00Z`,
  }));
  const remembered = await memory.remember("tidewater", messages, { create: true });
  assert.equal(remembered.ids.length, SAID.length);
  assert.deepEqual((await memory.remember("tidewater", messages)).ids, remembered.ids);
});

test("what was remembered is recalled within a budget", { skip }, async () => {
  const recalled = await memory.recall("When may I deploy?", { max_tokens: 200 });
  assert.match(recalled.context, /moves to Tuesdays/);
  assert.ok(recalled.tokens_used <= 200);
  assert.equal(recalled.items[0]?.kind, "message");
});

test("it is searched for, and another client finds nothing", { skip }, async () => {
  const asked = { max_results: 5 };
  const found = await memory.search("harbour keys", asked);
  assert.match(found.items[0]?.snippet ?? "", /Mara/);
  const foreign = await memory.forClient("typescript-rival").search("harbour keys", asked);
  assert.deepEqual(foreign.items, []);
});

test("a fact is remembered, superseded and read back with its versions", { skip }, async () => {
  const kept = await memory.rememberFact("Mara lives in Ghent.", { category: "identity", tags: ["home"] });
  const next = await memory.supersedeFact(kept.id, "Mara lives in Lyon.", { reason: "she moved" });
  assert.equal(next.supersedes, kept.id);
  const { versions } = await memory.versions(next.id);
  assert.equal(versions.length, 2);
  await assert.rejects(memory.supersedeFact(kept.id, "Mara lives in Oslo."), (error: Conflict) => {
    assert.equal(error.code, "not_head");
    return error.problem?.head_id === next.id;
  });
  const [one, two] = await memory.rememberFacts([{ fact: "Ida sails." }, { fact: "Tom rows." }]);
  assert.notEqual(one?.id, two?.id);
});

test("a list is its first page, all its pages, and all its items", { skip }, async () => {
  const list = () => memory.memories({ kinds: ["message"], limit: 2, order: "oldest" });
  const first = await list();
  assert.deepEqual([first.memories.length, first.total], [2, 3]);
  const sizes: number[] = [];
  for await (const page of list().pages()) sizes.push(page.memories.length);
  assert.deepEqual(sizes, [2, 1]);
  const texts: string[] = [];
  for await (const one of list()) texts.push(one.text);
  assert.deepEqual(texts, SAID);
  for await (const one of memory.conversations()) assert.equal(one.id, "tidewater");
});

test("a run reads within its budget and ends", { skip }, async () => {
  const source = { source_type: "knowledge_base" as const, source_id: "plan", start_byte: 0, end_byte: 31 };
  await memory.registerSpan({ ...source, content: "The plan says: sail on Tuesday." });
  const about = { agent_type: "reader", episode_id: "task", budget: { max_tokens: 500 } };
  let id = "";
  const spans = await memory.runs.within(about, async (run) => {
    id = run.id;
    const found = await memory.runs.retrieve(run.id, { query: "when to sail", max_tokens: 100, operation_id: "first" });
    return found.spans.length;
  });
  assert.equal(spans, 1);
  const ended = await memory.runs.show(id);
  assert.deepEqual([ended.status, ended.outcome], ["completed", "success"]);
  const names: string[] = [];
  for await (const access of memory.runs.accesses(id)) names.push(access.operation);
  assert.ok(names.includes("retrieve"));
  await assert.rejects(memory.runs.retrieve(id, { query: "q", max_tokens: 5 }), Conflict);
});

test("failures name their field, or what is missing", { skip }, async () => {
  await assert.rejects(memory.recall(""), (error: InvalidInput) => error instanceof InvalidInput);
  await assert.rejects(memory.recall("pump", { limit: 100_000 }), (error: InvalidInput) => error.field === "limit");
  await assert.rejects(memory.memory("nowhere"), (error: NotFound) => error.code === "memory_not_found");
});

test("texts, links and empty answers come as their types", { skip }, async () => {
  const [first, second] = (await memory.memories({ kinds: ["message"] })).memories;
  assert.ok(first && second);
  const link = await memory.link(first.id, second.id, "relates_to");
  assert.equal(link.type, "relates_to");
  assert.equal(await memory.unlink(first.id, second.id, "relates_to"), undefined);
  const context = await memory.createContext({ max_tokens: 900 });
  await memory.addToContext(context.id, first.id);
  assert.match(await memory.composeContext(context.id), /\w/);
  const talk = await memory.openConversation(undefined, { title: "by its own id" });
  assert.equal(typeof (await memory.retrieveMemory("Where does Mara live?", talk.id)), "string");
});

test("everything is exported as lines", { skip }, async () => {
  const parts: Uint8Array[] = [];
  for await (const part of memory.export({ vectors: false })) parts.push(part);
  const lines = Buffer.concat(parts).toString().trimEnd().split("\n");
  assert.ok(lines.length > SAID.length);
  for (const line of lines) JSON.parse(line);
});

test("what is forgotten is counted first, and then gone", { skip }, async () => {
  const dry = await memory.forget({ conversation_id: "tidewater", dry_run: true });
  assert.ok(dry.total >= SAID.length);
  const receipt = await memory.forget({ conversation_id: "tidewater" });
  assert.equal(receipt.total, dry.total);
  assert.deepEqual((await memory.memories({ kinds: ["message"] })).memories, []);
});
