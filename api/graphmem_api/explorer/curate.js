// Curating: annotations, a newer version of a fact, and forgetting with a dry run first.

import { parsed, patch, path, post } from "./api.js";
import { about, button, empty, field, fill, form, inline, link, make, moment, notice, sent } from "./dom.js";

const ANNOTATED = ["message", "episode", "fact", "reference"];
const COUNTS = ["total", "passages", "embeddings", "entities", "conversations", "sessions", "reads", "reviews", "contexts", "held_texts", "run_writes", "runs", "jobs", "statements", "titles"];

const listed = (text) => text.split(",").map((name) => name.trim()).filter(Boolean);

export function curation(memory) {
  return [
    ANNOTATED.includes(memory.kind) && annotations(memory),
    memory.kind === "fact" && memory.superseded_at == null && superseding(memory),
    forgetting({ memory_ids: [memory.id] }, "Forget this memory, with everything made of it"),
  ].filter(Boolean);
}

function annotations(memory) {
  const told = make("div", { "aria-live": "polite" });
  const save = (fields) => fill(told, async () => {
    const changed = { tags: listed(fields.tags.value), expires_at: sent(fields.expires_at.value) };
    const { value: text, defaultValue: filled } = fields.metadata;
    try {
      // What is not edited is not sent: the page may have rounded a large number in it.
      if (text !== filled) changed.metadata = parsed(text || "null");
    } catch (problem) {
      if (!(problem instanceof SyntaxError)) throw problem;
      return make("p", { class: "failure", role: "alert" }, "The metadata are no JSON: ", inline(problem.message));
    }
    const saved = await patch(path`/memories/${memory.id}`, changed);
    fields.metadata.defaultValue = text;
    return make("p", { class: "good" }, "Saved: ", inline(`${(saved.tags ?? []).join(", ") || "no tags"}; ${JSON.stringify(saved.metadata)}`), saved.expires_at && inline(`; expires at ${saved.expires_at}`));
  });
  return make(
    "details",
    { class: "annotate" },
    make("summary", {}, "Edit tags, metadata and expiry"),
    form(
      {},
      save,
      field("Tags, with commas", make("input", { name: "tags", size: 40, value: (memory.tags ?? []).join(", ") })),
      field("Metadata as JSON", make("textarea", { name: "metadata", class: "code" }, memory.metadata ? JSON.stringify(memory.metadata, null, 1) : "")),
      make("div", { class: "fields" }, moment("expires_at", "Expires at (your time; empty: unchanged)"), make("button", {}, "Save")),
    ),
    told,
  );
}

function superseding(memory) {
  const told = make("div", { "aria-live": "polite" });
  const save = (fields) => fill(told, async () => {
    const next = { fact: fields.fact.value, valid_at: sent(fields.valid_at.value) };
    if (fields.reason.value.trim()) next.reason = fields.reason.value.trim();
    const saved = await post(path`/facts/${memory.id}/supersede`, next);
    return make("p", { class: "good" }, `Version ${saved.version} is recorded: `, link("node", { id: saved.id }, "look at it"));
  });
  return make(
    "details",
    { class: "supersede" },
    make("summary", {}, "Supersede this fact"),
    form({}, save, field("What holds instead", make("textarea", { name: "fact", required: true }, memory.text)), make("div", { class: "fields" }, moment("valid_at", "Holds from (your time; empty: now)"), field("Reason", make("input", { name: "reason", size: 40 })), make("button", {}, "Supersede"))),
    told,
  );
}

// Counts first, and once more before the deletion: other numbers have to be confirmed anew.
function forgetting(asked, title) {
  const told = make("div", { "aria-live": "polite", class: "receipt" });
  return make("details", { class: "forget" }, make("summary", {}, title), button("Count what would go", () => fill(told, () => dryRun(asked, told))), told);
}

async function dryRun(asked, told) {
  return offered(asked, told, await post("/forget", { ...asked, dry_run: true }), "A dry run: nothing is deleted yet. This would go:");
}

function offered(asked, told, receipt, sentence) {
  if (!receipt.total && !receipt.conversations && !receipt.sessions) return empty("Nothing meets these conditions.");
  const really = () => fill(told, () => deletion(asked, told, receipt));
  return [notice(sentence), shown(receipt), make("p", {}, button("Forget it for good", really, "bad"))];
}

async function deletion(asked, told, counted) {
  const receipt = await post("/forget", { ...asked, dry_run: true });
  if (numbers(receipt) !== numbers(counted)) return offered(asked, told, receipt, "The numbers have changed, so nothing is deleted yet. This would go now:");
  return [notice("Forgotten. The receipt:"), shown(await post("/forget", { ...asked, dry_run: false }))];
}

const numbers = (receipt) => JSON.stringify([receipt.memories, COUNTS.map((name) => receipt[name])]);

function shown(receipt) {
  const counts = COUNTS.filter((name) => receipt[name]).map((name) => [name, receipt[name]]);
  return [about([["at", receipt.at], ...Object.entries(receipt.memories), ...counts]), make("p", {}, "What may hold a text for a while:"), make("ul", {}, receipt.remains.map((one) => make("li", {}, one)))];
}

export async function forget(given) {
  const told = make("div", { "aria-live": "polite", class: "receipt" });
  const entry = (name, label) => field(label, make("input", { name, value: given[name] ?? "" }));
  const count = (fields) => fill(told, () => {
    const asked = {};
    for (const name of ["name", "conversation_id", "session_id"]) if (fields[name].value.trim()) asked[name] = fields[name].value.trim();
    for (const name of ["since", "until"]) if (fields[name].value) asked[name] = sent(fields[name].value);
    if (fields.tags.value.trim()) asked.tags = listed(fields.tags.value);
    if (!Object.keys(asked).length) return make("p", { class: "failure", role: "alert" }, "Name at least one condition.");
    return dryRun(asked, told);
  });
  return [
    make("p", {}, "What meets all of the given conditions is counted first, and deleted only if you confirm. Deleting needs the role of the key."),
    form({}, count, make("div", { class: "fields" }, entry("name", "Mentions this name"), entry("conversation_id", "Conversation"), entry("session_id", "Session (its own id)"), entry("tags", "Tags, with commas"), moment("since", "Since (your time)"), moment("until", "Until (your time)"), make("button", {}, "Count what would go"))),
    told,
  ];
}
