// Asking: the composed context, why each memory is in it, what was left out, and two answers side by side.

import { get, post } from "./api.js";
import { about, bar, block, button, choice, counted, empty, field, fill, form, inline, link, make, moment, notice, number, sent, table, tags, time, words } from "./dom.js";

const KINDS = ["message", "fact", "episode", "summary", "reference", "span"];
const RANKINGS = ["default", "rrf", "vector", "bm25"];
const OMITTED_SHOWN = 8;
const REASONS = { no_room: "no room within the budget", beyond_limit: "beyond the limit of memories" };

const listed = (text) => {
  const names = text.split(",").map((name) => name.trim()).filter(Boolean);
  return names.length ? names : undefined;
};

export async function ask(asked) {
  const answers = make("div", { id: "answers", "aria-live": "polite" });
  const second = side("b", "The other side");
  second.hidden = true;
  const compare = make("input", { type: "checkbox", name: "compare" });
  compare.addEventListener("change", () => (second.hidden = !compare.checked));
  const conversations = make("datalist", { id: "conversations" });
  const page = form(
    { id: "ask" },
    (fields) => answer(fields, answers),
    field("Question", make("textarea", { name: "query", required: true, maxlength: 8192 }, asked.query ?? "")),
    make(
      "div",
      { class: "fields" },
      field("Budget in tokens", make("input", { name: "max_tokens", type: "number", min: 1, max: 200000, value: asked.max_tokens ?? 2048, required: true })),
      field("Conversation", make("input", { name: "conversation_id", list: "conversations", value: asked.conversation_id ?? "", on: { focus: () => listConversations(conversations) } })),
      field("Tags, with commas", make("input", { name: "tags", value: asked.tags ?? "" })),
      field("Kind", choice("kinds", ["any", ...KINDS], "any")),
      field("Least relevance", make("input", { name: "min_relevance", type: "number", min: 0, max: 1, step: 0.01 })),
      field("Abstain if nothing is relevant", make("input", { type: "checkbox", name: "abstain" }), "check"),
    ),
    conversations,
    side("a", "Times and ranking"),
    field("Compare with another time or ranking", compare, "check"),
    second,
    make("p", {}, make("button", { class: "main" }, "Ask")),
  );
  if (asked.query) answer(page.elements, answers);
  else answers.append(empty("Nothing is asked yet: the answer, and the reasons for it, will be shown here."));
  return [page, answers];
}

function side(name, title) {
  return make(
    "fieldset",
    {},
    make("legend", {}, title),
    make(
      "div",
      { class: "fields" },
      moment(`as_of_${name}`, "As it held at (your time)"),
      moment(`known_as_of_${name}`, "As known at (your time)"),
      field("Ranking", choice(`ranking_${name}`, RANKINGS, "default")),
    ),
  );
}

async function listConversations(list) {
  if (list.children.length) return;
  try {
    const { conversations } = await get("/conversations", { limit: 100 });
    list.replaceChildren(...conversations.map((one) => make("option", { value: one.id, label: one.title ?? "" })));
  } catch {
    // The answer to the question tells what is wrong.
  }
}

function question(fields, name) {
  return {
    query: fields.query.value,
    max_tokens: Number(fields.max_tokens.value),
    conversation_id: fields.conversation_id.value.trim() || undefined,
    tags: listed(fields.tags.value),
    kinds: fields.kinds.value === "any" ? undefined : [fields.kinds.value],
    min_relevance: fields.min_relevance.value === "" ? undefined : Number(fields.min_relevance.value),
    abstain: fields.abstain.checked,
    as_of: sent(fields[`as_of_${name}`].value),
    known_as_of: sent(fields[`known_as_of_${name}`].value),
    ranking: fields[`ranking_${name}`].value,
  };
}

function answer(fields, place) {
  return fill(place, async () => {
    const asked = (fields.compare.checked ? ["a", "b"] : ["a"]).map((name) => question(fields, name));
    const found = await Promise.all(asked.map((one) => post("/recall", { ...one, explain: true })));
    const sides = found.map((one, index) => shown(one, asked[index], found[1 - index]));
    return make("div", { class: "columns" }, sides);
  });
}

function shown(found, asked, other) {
  return make(
    "section",
    {},
    make("h2", {}, sideName(asked)),
    budget(found, asked),
    found.degraded.length > 0 && notice("Degraded: ", inline(found.degraded.join(", "))),
    found.abstained && notice("graphmem abstains: nothing that it found is relevant enough."),
    found.items.length ? block(found.context, "text context") : empty("The context is empty: no memory answers this question with these conditions."),
    make("h3", {}, "What it is made of"),
    make("ol", { class: "items", "data-part": "items" }, found.items.map((one) => item(one, found, asked, other))),
    make("h3", {}, "What was left out"),
    omitted(found, asked, other),
    whyNot(asked),
    found.timings && make("details", {}, make("summary", {}, "Milliseconds by stage"), about(Object.entries(found.timings))),
  );
}

function sideName(asked) {
  const times = [asked.as_of && `as of ${asked.as_of}`, asked.known_as_of && `as known at ${asked.known_as_of}`];
  return ["Answer", `ranking ${asked.ranking}`, ...times].filter(Boolean).join(", ");
}

// Each part of the bar is one memory, by the length of its text.
function budget(found, asked) {
  const length = found.items.reduce((sum, one) => sum + one.text.length, 0) || 1;
  const parts = found.items.map((one) => [(found.tokens_used * one.text.length) / length, "", `rank ${one.rank}`]);
  const sentence = `${found.tokens_used.toLocaleString("en")} of ${counted(asked.max_tokens, "token")} used`;
  return make("div", { class: "budget" }, bar(parts, asked.max_tokens, sentence), make("p", { class: "soft" }, sentence));
}

const same = (one, other) => one.id === other.id && one.client_id === other.client_id;

// A memory of another client cannot be opened here: the page is about one client.
const opened = (one, text) => (one.client_id ? [text, " ", make("span", { class: "soft" }, "of ", inline(one.client_id))] : link("node", { id: one.id }, text));

function item(one, found, asked, other) {
  const elsewhere = other?.items.find((its) => same(its, one));
  return make(
    "li",
    { "data-id": one.id },
    make("div", {}, `${one.rank}. `, opened(one, one.kind), " ", one.name && inline(one.name, 60), " ", one.role, " ", time(one.occurred_at), " ", tags(one.tags), other && compared(one, elsewhere)),
    block(one.text),
    make("div", {}, "Relevance ", make("meter", { min: 0, max: 1, value: one.relevance, "aria-label": `relevance ${one.relevance.toFixed(2)}` }), ` ${one.relevance.toFixed(2)}, score ${number(one.score)}, ${counted(one.token_count, "token")}`),
    one.session_id && !one.client_id && link("session", { conversation_id: one.conversation_id, id: one.session_id, hit: one.id }, "its session"),
    make("details", {}, make("summary", {}, `Why it is here (rank ${one.rank})`), reasons(one, found.weights), lifts(one), excerpt(one)),
  );
}

function compared(one, elsewhere) {
  if (!elsewhere) return make("span", { class: "only" }, "only on this side");
  if (elsewhere.rank !== one.rank) return make("span", { class: "soft" }, `rank ${elsewhere.rank} on the other side`);
  return null;
}

function reasons(one, weights) {
  const rows = Object.entries(one.scores).map(([signal, found]) => {
    const weight = weights?.[signal];
    return { signal: words(signal), value: found, weight, adds: weight == null ? null : weight * found };
  });
  rows.sort((a, b) => (b.adds ?? -1) - (a.adds ?? -1));
  const most = Math.max(...rows.map((row) => Math.abs(row.adds ?? 0)), 0.001);
  for (const row of rows) row.share = row.adds == null ? "" : bar([[Math.abs(row.adds), row.adds < 0 ? "against" : ""]], most, number(row.adds));
  const legs = Object.entries(one.ranks ?? {}).map(([leg, rank]) => `${leg}: ${rank == null ? "not found" : `rank ${rank}`}`);
  return [make("p", { class: "soft" }, legs.join(", ")), table(["signal", "value", "weight", "adds", "share"], rows, { label: "Signals" })];
}

function lifts(one) {
  if (!one.lifted_by?.length) return null;
  return [make("p", {}, "Lifted by"), make("ul", {}, one.lifted_by.map((lift) => make("li", {}, `${words(lift.signal)}: `, opened({ ...lift, client_id: one.client_id }, lift.external_id ?? lift.id), ` (${number(lift.score)})`)))];
}

function excerpt(one) {
  if (!one.excerpt) return null;
  return make("p", {}, `An excerpt: bytes ${one.excerpt.start}–${one.excerpt.end} of a long memory.`);
}

function omitted(found, asked, other) {
  if (!found.omitted_total) return empty("Nothing was left out.");
  const rows = found.omitted.map((one) => {
    const why = make("div");
    const taken = other?.items.some((its) => same(its, one));
    return make(
      "li",
      { "data-id": one.id },
      `${one.rank}. `,
      opened(one, one.external_id ?? one.id),
      ` ${REASONS[one.reason] ?? words(one.reason)}; ${counted(one.tokens, "token")}, score ${number(one.score)} `,
      taken && make("span", { class: "only" }, "taken on the other side"),
      " ",
      button("Why", () => fill(why, () => explained(one.id, asked, one.client_id))),
      why,
    );
  });
  const rest = found.omitted_total - found.omitted.length;
  const later = rows.splice(OMITTED_SHOWN);
  const further = later.length > 0 && make("details", {}, make("summary", {}, `${later.length} more`), make("ul", { class: "items" }, later));
  return [make("ul", { class: "items", "data-part": "omitted" }, rows), further, rest > 0 && make("p", { class: "soft" }, `and ${rest.toLocaleString("en")} that the answer does not name`)];
}

function whyNot(asked) {
  const place = make("div");
  const asking = (fields) => fill(place, () => explained(fields.memory_id.value.trim(), asked));
  return make("details", {}, make("summary", {}, "Why is another memory not here?"), form({}, asking, field("Its id ", make("input", { name: "memory_id", required: true })), " ", make("button", {}, "Explain")), place);
}

async function explained(id, asked, owner) {
  const told = await post("/explain", { ...asked, memory_id: id, client_id: owner ?? undefined });
  const rows = [told, told.last_taken].filter(Boolean).map((one, index) => ({ memory: index ? "the last one taken" : "this one", rank: one.rank, score: one.score, ...one.scores }));
  const columns = ["memory", "rank", "score", ...Object.keys(told.scores ?? {})];
  return [
    make("p", { class: "explained" }, make("strong", {}, words(told.stage)), ": ", inline(told.reason, 600)),
    about([["relevance", told.relevance], ["min_relevance", told.min_relevance], ["filters", told.filters.length ? told.filters : null], ["tokens_needed", told.tokens_needed], ["tokens_left", told.tokens_left], ["candidates", told.candidates], ["superseded_by", told.superseded_by && opened({ id: told.superseded_by, client_id: told.client_id }, told.superseded_by)]]),
    table(columns, rows, { label: "Scores compared" }),
  ];
}
