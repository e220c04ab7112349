/** What is sent again, and what failures become; without a service. */

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  Client,
  Conflict,
  CypherRefused,
  GraphmemError,
  InvalidInput,
  NotFound,
  TooMany,
  Unavailable,
} from "../src/index.js";

type Answer = Response | Error;

/** Return a client whose service gives these answers in turn, what was sent, and how long it waited. */
function stubbed(...answers: Answer[]) {
  const sent: Request[] = [];
  const waited: number[] = [];
  const client = new Client({
    url: "http://memory.test/",
    clientId: "acme",
    fetch: async (request) => {
      sent.push(request);
      const answer = answers.shift();
      assert.ok(answer, "one request more than answers");
      if (answer instanceof Error) throw answer;
      return answer;
    },
    sleep: async (seconds) => void waited.push(seconds),
  });
  return { client, sent, waited };
}

function ok(body: unknown, status = 200): Response {
  return Response.json(body, { status });
}

function problem(status: number, code: string, more: object = {}, headers: HeadersInit = {}): Response {
  const body = { type: `urn:graphmem:problem:${code}`, title: code, status, detail: `it is ${code}`, code, ...more };
  return Response.json(body, { status, headers: { "Content-Type": "application/problem+json", ...headers } });
}

function failedFetch(code: string): Error {
  return new TypeError("fetch failed", { cause: Object.assign(new Error(code), { code }) });
}

const BOOKMARK = "X-Graphmem-Bookmark";
const NAMED = { role: "user", content: "a", external_id: "1" } as const;
const UNNAMED = { role: "user", content: "a" } as const;

test("the bookmark of an answer is on the next request of the same client only", async () => {
  const marked = (bookmark: string) => Response.json({ ids: ["m"] }, { status: 201, headers: { [BOOKMARK]: bookmark } });
  const { client, sent } = stubbed(marked("one"), marked("two"), ok({ ids: ["m"] }, 201), ok({ ids: ["m"] }, 201));
  for (const one of [client, client.forClient("acme"), client, client.forClient("other")]) {
    await one.remember("talk", [UNNAMED]);
  }
  assert.deepEqual(sent.map((request) => request.headers.get(BOOKMARK)), [null, "one", "two", null]);
});

test("a bookmark that the service does not know is left out, once", async () => {
  const marked = Response.json({ ids: ["m"] }, { status: 201, headers: { [BOOKMARK]: "old" } });
  const refused = problem(400, "invalid_input", { field: BOOKMARK });
  const { client, sent, waited } = stubbed(marked, refused, ok({ ids: ["m"] }, 201));
  await client.remember("talk", [UNNAMED]);
  await client.remember("talk", [UNNAMED]);
  assert.deepEqual(sent.map((request) => request.headers.get(BOOKMARK)), [null, "old", null]);
  assert.deepEqual(waited, []);
});

test("a busy service is asked again after the pause that it asks for, also to write", async () => {
  for (const code of ["overloaded", "too_many_requests"]) {
    const { client, sent, waited } = stubbed(problem(503, code, {}, { "Retry-After": "7" }), ok({ ids: ["m"] }, 201));
    const remembered = await client.remember("talk", [UNNAMED]);
    assert.deepEqual(remembered.ids, ["m"]);
    assert.deepEqual(waited, [7]);
    assert.equal(await sent[1]?.text(), await sent[0]?.text());
  }
});

test("a service that stays busy is asked after longer pauses", async () => {
  const busy = () => problem(429, "too_many_requests", {}, { "Retry-After": "25" });
  const { client, waited } = stubbed(busy(), busy(), busy(), ok({ ids: ["m"] }, 201));
  await client.remember("talk", [UNNAMED]);
  assert.deepEqual(waited, [25, 50, 60]);
});

test("a pause of more than a minute is reported at once", async () => {
  const { client, waited } = stubbed(problem(503, "overloaded", {}, { "Retry-After": "61" }));
  await assert.rejects(client.recall("pump"), (error: Unavailable) => error.retryAfter === 61);
  assert.deepEqual(waited, []);
});

test("a lost answer is asked for again where that is safe, with longer pauses", async () => {
  const lost = () => failedFetch("ECONNRESET");
  const reading = stubbed(lost(), lost(), lost(), ok({ context: "" }));
  await reading.client.recall("pump");
  assert.deepEqual(reading.waited, [0.25, 0.5, 1]);

  const named = stubbed(lost(), ok({ ids: [] }, 201));
  await named.client.remember("talk", [NAMED]);
  assert.equal(named.sent.length, 2);

  const spent = stubbed(lost(), lost(), lost(), lost());
  await assert.rejects(spent.client.recall("pump"), Unavailable);
});

test("a lost answer is told from a service that was not reached", async () => {
  const told = (code: string) => stubbed(...Array(4).fill(failedFetch(code))).client.rememberFact("The lamp is red.");
  await assert.rejects(told("ECONNRESET"), /is lost \(ECONNRESET\): what was asked for may have been done/);
  await assert.rejects(told("ECONNREFUSED"), /does not answer \(ECONNREFUSED\); check the address/);
});

test("a lost answer to what may not be done twice is reported", async () => {
  const lost = [
    (client: Client) => client.remember("talk", [NAMED, UNNAMED]),
    (client: Client) => client.rememberFact("Ida sails"),
    (client: Client) => client.supersedeFact("f", "Ida rows"),
    (client: Client) => client.forget({ memory_ids: ["m"] }),
    (client: Client) => client.runs.start({ agent_type: "a", episode_id: "e" }),
    (client: Client) => client.runs.retrieve("r", { query: "q", max_tokens: 5 }),
  ];
  for (const ask of lost) {
    const { client, sent } = stubbed(failedFetch("ECONNRESET"));
    await assert.rejects(ask(client), Unavailable);
    assert.equal(sent.length, 1);
  }
  const named = stubbed(failedFetch("ECONNRESET"), ok({ spans: [] }));
  await named.client.runs.retrieve("r", { query: "q", max_tokens: 5, operation_id: "o" });
  const dry = stubbed(failedFetch("ECONNRESET"), ok({ total: 0 }));
  await dry.client.forget({ memory_ids: ["m"], dry_run: true });
});

test("a service that cannot be reached has done nothing, so that anything is sent again", async () => {
  const { client, sent } = stubbed(failedFetch("ECONNREFUSED"), ok({ id: "f" }, 201));
  await client.rememberFact("Ida sails");
  assert.equal(sent.length, 2);
});

test("an answer whose body breaks off is a lost answer", async () => {
  const broken = () =>
    new Response(new ReadableStream({ pull: (stream) => stream.error(new TypeError("terminated")) }));
  const reading = stubbed(broken(), ok({ context: "whole" }));
  assert.equal((await reading.client.recall("pump")).context, "whole");
  const writing = stubbed(broken());
  await assert.rejects(writing.client.rememberFact("Ida sails"), Unavailable);
});

test("a full disk is reported at once, to the reader too", async () => {
  const { client, sent } = stubbed(problem(507, "disk_full"));
  await assert.rejects(client.setCategories(["a"]), (error: Unavailable) => error.code === "disk_full");
  assert.equal(sent.length, 1);
});

test("each failure is an error of its kind, with what the problem says", async () => {
  const kinds: [Response, new (...of: never[]) => GraphmemError][] = [
    [problem(400, "invalid_input", { field: "limit" }), InvalidInput],
    [problem(413, "too_large"), InvalidInput],
    [problem(404, "memory_not_found"), NotFound],
    [problem(409, "budget_exhausted", { requested: 9, remaining: 3 }), Conflict],
    [problem(403, "cypher_writes"), CypherRefused],
    [problem(429, "too_many_runs", {}, { "Retry-After": "5" }), TooMany],
    [problem(507, "store_limit_reached", { limit: 5 }), TooMany],
  ];
  for (const [answer, kind] of kinds) {
    const { client } = stubbed(answer);
    await assert.rejects(client.recall("pump"), (error: GraphmemError) => {
      assert.equal(error.constructor, kind);
      assert.equal(error.name, kind.name);
      assert.equal(error.message, error.problem?.detail);
      assert.equal(error.status, error.problem?.status);
      return true;
    });
  }
});

test("what is no answer of graphmem says so", async () => {
  const proxy = stubbed(new Response("<h1>no</h1>", { status: 404 }));
  await assert.rejects(proxy.client.recall("pump"), (error: GraphmemError) => {
    assert.equal(error.constructor, GraphmemError);
    assert.match(error.message, /^http:\/\/memory\.test\/api\/v0\/recall answered 404, which is not an answer of graphmem/);
    return true;
  });
});

test("a page of another program is no answer, and no deletion that was done", async () => {
  const page = () => new Response("<html>", { headers: { "Content-Type": "text/html; charset=utf-8" } });
  const { client } = stubbed(page(), page(), page());
  for (const asked of [client.recall("pump"), client.conversations(), client.endHold()]) {
    await assert.rejects(Promise.resolve(asked), (error: GraphmemError) => {
      assert.equal(error.constructor, GraphmemError);
      assert.match(error.message, /answered 200, which is not an answer of graphmem; check the address/);
      return true;
    });
  }
});

test("an address that cannot be asked is refused with the name of the option", () => {
  for (const url of ["", "127.0.0.1:8000", "memory", "ftp://memory.test", "http://ada:secret@memory.test"]) {
    assert.throws(() => new Client({ url }), (error: InvalidInput) => {
      assert.equal(error.constructor, InvalidInput);
      assert.ok(!error.message.includes("secret"));
      return error.field === "url";
    });
  }
});

test("a request that its caller ends is not sent again", async () => {
  const control = new AbortController();
  const { client, sent } = stubbed(failedFetch("ECONNRESET"));
  control.abort(new Error("enough"));
  await assert.rejects(client.recall("pump", {}, { signal: control.signal }), /enough/);
  assert.ok(sent.length <= 1);
});

test("the client and the key are headers, and an operator's key names a client in the path alone", async () => {
  const { client, sent } = stubbed(ok({ context: "" }), ok({ total: 0 }));
  await client.recall("pump");
  await client.forgetClient({ dry_run: true });
  assert.deepEqual(
    sent.map((one) => one.headers.get("X-Client-Id")),
    ["acme", "acme"],
  );
  const seen: Request[] = [];
  const fetch = async (request: Request) => {
    seen.push(request);
    return ok({ total: 0 });
  };
  await new Client({ key: "k", clientId: "acme", fetch }).forgetClient();
  assert.equal(seen[0]?.headers.get("Authorization"), "Bearer k");
  assert.equal(seen[0]?.headers.get("X-Client-Id"), null);
  assert.match(seen[0]?.url ?? "", /\/clients\/acme$/);
  assert.throws(() => new Client({ key: "k", fetch }).forgetClient(), InvalidInput);
});

test("lists are written with commas, and an item or an id that would be read otherwise is refused", async () => {
  const { client, sent } = stubbed(ok({ memories: [], total: 0, cursor: null }), ok({ id: "a/b" }));
  await client.memories({ kinds: ["fact", "message"], include_superseded: false });
  assert.equal(new URL(sent[0]?.url ?? "").searchParams.get("kinds"), "fact,message");
  await client.memory("a/b");
  assert.match(sent[1]?.url ?? "", /\/memories\/a%2Fb$/);
  await assert.rejects(client.memories({ tags: ["a,b"] }).then(), InvalidInput);
  for (const id of ["", ".", ".."]) await assert.rejects(client.memory(id), InvalidInput);
});

test("a run whose work fails ends with the outcome of the error, which is thrown", async () => {
  const { client, sent } = stubbed(ok({ id: "r" }, 201), problem(409, "budget_exhausted"), ok({ outcome: "x" }));
  const work = client.runs.within({ agent_type: "a", episode_id: "e" }, (run) =>
    client.runs.retrieve(run.id, { query: "q", max_tokens: 5 }),
  );
  await assert.rejects(work, (error: Conflict) => error.code === "budget_exhausted");
  assert.deepEqual(await sent[2]?.json(), { outcome: "budget_exhausted" });
});

test("a client or a key that no header can have is refused with the name of the option", () => {
  for (const settings of [{ clientId: "客户" }, { clientId: "bücher" }, { key: "ключ" }, { key: "“abc”" }, { key: "a\nb" }]) {
    const [name] = Object.keys(settings);
    const isRefused = (error: unknown) => error instanceof InvalidInput && error.field === name;
    assert.throws(() => new Client(settings), isRefused);
  }
  assert.throws(() => new Client().forClient("客户"), InvalidInput);
});

test("an export that breaks off is an error of the service, or the reason of its caller", async () => {
  const broken = () => {
    let parts = 0;
    const pull = (stream: ReadableStreamDefaultController) =>
      parts++ ? stream.error(new TypeError("terminated")) : stream.enqueue(new Uint8Array([1]));
    return new Response(new ReadableStream({ pull }));
  };
  const whole = async (client: Client, signal?: AbortSignal) => {
    const parts: Uint8Array[] = [];
    for await (const part of client.export({}, signal && { signal })) parts.push(part);
  };
  const { client } = stubbed(broken(), broken());
  await assert.rejects(whole(client), (error: Unavailable) => {
    assert.equal(error.constructor, Unavailable);
    return error.cause instanceof TypeError;
  });
  const control = new AbortController();
  control.abort(new Error("enough"));
  await assert.rejects(whole(client, control.signal), /enough/);
});

test("a timeout or a number of retries that cannot be used is refused with its name", async () => {
  for (const timeout of [-1, Number.NaN, 1e10]) {
    assert.throws(() => new Client({ timeout }), (error: InvalidInput) => error.field === "timeout");
  }
  for (const retries of [-1, Number.NaN, 0.5]) {
    assert.throws(() => new Client({ retries }), (error: InvalidInput) => error.field === "retries");
  }
  const fetch = async () => ok({ context: "whole" });
  for (const timeout of [0, 0.0005, 1.0005, 2_147_483]) {
    assert.equal((await new Client({ timeout, fetch }).recall("pump")).context, "whole");
  }
});

test("what is missing is refused by the service, in words", async () => {
  const none = null as never;
  const ask = [
    (client: Client) => client.remember("talk", none),
    (client: Client) => client.remember("talk", "abc" as never),
    (client: Client) => client.remember("talk", [none]),
    (client: Client) => client.forget(none),
    (client: Client) => client.registerSpan(none),
    (client: Client) => client.runs.start(none),
    (client: Client) => client.runs.retrieve("r", none),
    (client: Client) => client.runs.write("r", none),
  ];
  for (const asked of ask) {
    const { client, sent } = stubbed(problem(400, "invalid_input"));
    await assert.rejects(asked(client), InvalidInput);
    assert.equal(sent.length, 1);
  }
});
