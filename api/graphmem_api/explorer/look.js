// Looking: lists of conversations, sessions, memories and names, and everything about one node.

import { get, path, post } from "./api.js";
import { curation } from "./curate.js";
import { about, block, button, choice, counted, draw, empty, failure, field, fill, form, inline, link, make, notice, table, tags, time, value } from "./dom.js";
import { Graph } from "./graph.js";
import { arcs } from "./pictures.js";

const LINKED = 40; // sessions whose links are asked for, the newest
const AT_ONCE = 4;
const KINDS = ["any", "message", "fact", "episode", "summary", "reference", "span"];

// FSRS: the probability of remembering is .9 after `stability` days.
const EXPONENT = -0.1542;
const FACTOR = 0.9 ** (1 / EXPONENT) - 1;
const DAY = 86_400_000;

const at = (text) => new Date(text).getTime();
const day = (moment) => new Date(moment).toISOString().slice(0, 10);

// A list that continues on request.
export async function pages(place, asked, name, row, sentence) {
  const first = await get(place, asked);
  if (!first[name].length) return [empty(sentence)];
  const list = make("ul", { class: "items" }, first[name].map(row));
  const count = first.total == null ? null : make("p", { class: "soft" }, `${first.total.toLocaleString("en")} in all`);
  const more = make("p");
  const offer = (cursor) => {
    const next = async () => {
      try {
        const page = await get(place, { ...asked, cursor });
        list.append(...page[name].map(row));
        offer(page.cursor);
      } catch (problem) {
        more.replaceChildren(failure(problem));
      }
    };
    more.replaceChildren(...(cursor ? [button("Show more", next)] : []));
  };
  offer(first.cursor);
  return [count, list, more];
}

export const conversations = () =>
  pages("/conversations", { limit: 50 }, "conversations", (one) =>
    make("li", {}, link("conversation", { id: one.id }, one.title || one.id), " ", tags(one.tags), make("div", { class: "soft" }, `${counted(one.messages, "message")} in ${counted(one.sessions, "session")}, last `, time(one.last_active_at))),
  "There is no conversation of this client yet. Its name is in the field above.");

export async function conversation({ id }) {
  const place = path`/conversations/${id}/sessions`;
  const first = await get(place, { limit: 200 });
  const list = make("ul", { class: "items" }, first.sessions.map(listedSession(id)));
  const links = make("div");
  if (first.sessions.length > 1) fill(links, () => crossLinks(id, first.sessions));
  return [
    make("p", {}, make("code", {}, inline(id)), " ", link("node", { id: `conversation:${id}` }, "as a node"), " · ", link("ask", { conversation_id: id }, "ask it"), " · ", link("forget", { conversation_id: id }, "forget")),
    links,
    first.sessions.length ? list : empty("This conversation has no session."),
    first.cursor && notice(`The newest 200 of ${first.total.toLocaleString("en")} sessions.`),
  ];
}

// Each pair of sessions once for each reason, whichever of them tells of it.
async function crossLinks(conversationId, sessions) {
  const asked = sessions.slice(0, LINKED);
  const names = new Map(sessions.map((one) => [one.id, one.external_id || one.id]));
  const found = new Map();
  const next = asked.map((one) => one.id);
  const ask = async () => {
    for (let id = next.shift(); id; id = next.shift()) {
      const { related } = await get(path`/sessions/${id}/related`);
      for (const one of related) {
        const ends = [id, one.session_id].sort();
        const other = one.session_external_id || one.session_id;
        found.set(`${ends} ${one.basis}`, { ...one, from: id, to: one.session_id, title: `${names.get(id)} – ${other}: ${one.basis}, ${one.score.toFixed(2)}`, other });
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, ask));
  const links = [...found.values()];
  const said = (one) => make("li", {}, link("session", { conversation_id: conversationId, id: one.from }, names.get(one.from)), " – ", link("session", { conversation_id: one.conversation_id, id: one.to }, one.other), ` by ${one.basis}, ${one.score.toFixed(2)} `, tags(one.entities));
  return [
    arcs(sessions, links),
    sessions.length > LINKED && notice(`Links of the newest ${LINKED} sessions.`),
    links.length ? make("details", {}, make("summary", {}, counted(links.length, "link"), " as a list, other conversations included"), make("ul", { class: "items", "data-part": "links" }, links.map(said))) : empty("No session is linked to another: links are made when sessions are summarized."),
  ];
}

const listedSession = (conversationId) => (one) =>
  make("li", {}, link("session", { conversation_id: conversationId, id: one.id }, one.external_id || one.id), make("span", { class: "soft" }, ` ${counted(one.messages, "message")}, begun `, time(one.started_at), ", last written ", time(one.last_active_at)));

export async function session({ conversation_id: conversationId, id, hit }) {
  const related = make("div");
  fill(related, () => relatedTo(id));
  const spoken = (one) =>
    make("li", { class: one.id === hit ? "hit" : null, "data-id": one.id }, make("div", {}, one.id === hit && make("strong", {}, "The hit. "), one.role, " ", one.name && inline(one.name, 60), " ", time(one.occurred_at), " ", link("node", { id: one.id }, "look"), " ", tags(one.tags)), block(one.text));
  const messages = conversationId
    ? await pages(path`/conversations/${conversationId}/messages`, { session_id: id, limit: 200 }, "messages", spoken, "This session has no message.")
    : [empty("The conversation of this session is not known.")];
  return [make("p", {}, link("node", { id }, "as a node"), " · ", link("forget", { session_id: id }, "forget")), make("h2", {}, "Messages"), hit && !messages.some((one) => one?.querySelector?.(".hit")) && notice("The hit is not among these messages: show more, or ", link("node", { id: hit }, "look at it"), "."), messages, make("h2", {}, "Related sessions"), related];
}

async function relatedTo(id) {
  const { related } = await get(path`/sessions/${id}/related`);
  if (!related.length) return empty("No session is related to this one, or it has not been summarized yet.");
  return make("ul", { class: "items" }, related.map((one) => make("li", {}, link("session", { conversation_id: one.conversation_id, id: one.session_id }, one.session_external_id), ` by ${one.basis}, ${one.score.toFixed(2)} `, tags(one.entities), one.summary && block(one.summary))));
}

export async function memories(asked) {
  const found = make("div");
  const list = (given) => fill(found, () => pages("/memories", { limit: 50, ...given }, "memories", listed, "No memory meets these conditions."));
  const show = (fields) => list({ kinds: fields.kinds.value === "any" ? "" : fields.kinds.value, tags: fields.tags.value.trim() });
  const page = form({}, show, make("div", { class: "fields" }, field("Kind", choice("kinds", KINDS, asked.kinds ?? "any")), field("Tags, with commas", make("input", { name: "tags", value: asked.tags ?? "" })), make("button", { class: "main" }, "List")));
  show(page.elements);
  return [page, found];
}

const listed = (one) => make("li", {}, make("div", {}, link("node", { id: one.id }, one.kind), " ", one.name && inline(one.name, 60), " ", time(one.occurred_at), " ", tags(one.tags)), block(one.text));

export async function names() {
  const shown = (one) =>
    make("li", {}, link("node", { id: `entity:${one.normalized}` }, one.name), ` ${counted(one.mentions, "mention")} `, one.alias_of && ["is ", inline(aliasOf(one)), " ", undo(one.name)], one.aliases.length > 0 && make("ul", {}, one.aliases.map((alias) => make("li", {}, inline(alias.name), ` (${alias.rule.replaceAll("_", " ")}) `, undo(alias.name)))));
  return pages("/entities", { limit: 100 }, "entities", shown, "No memory of this client mentions a name.");
}

const aliasOf = (one) => (typeof one.alias_of === "string" ? one.alias_of : one.alias_of.name);

function undo(alias) {
  const place = make("span");
  const undone = () => fill(place, async () => {
    await post("/entities/aliases/undo", { alias });
    return make("span", { class: "good" }, "undone");
  });
  place.append(button("Undo this alias", undone));
  return place;
}

export async function node({ id }) {
  const around = make("div");
  fill(around, () => neighbourhood(id));
  const title = make("p", {}, make("code", {}, inline(id)));
  if (/^(entity|conversation):/.test(id)) return [title, around];
  let memory;
  try {
    memory = await get(path`/memories/${id}`);
  } catch (problem) {
    if (problem.status !== 404) throw problem;
    return [title, around];
  }
  return [title, ...(await aMemory(memory)), make("h2", {}, "Neighbourhood"), around];
}

async function aMemory(memory) {
  const { text, description, kind, session_id: sessionId, conversation_id: conversationId, ...rest } = memory;
  const versions = make("div");
  fill(versions, () => chain(memory));
  return [
    make("p", {}, make("strong", {}, kind), " ", memory.name && inline(memory.name, 60), " ", time(memory.occurred_at), " ", tags(memory.tags), " ", memory.active === false && make("span", { class: "bad" }, "not active")),
    block(text ?? description ?? ""),
    sessionId && conversationId && make("p", {}, link("session", { conversation_id: conversationId, id: sessionId, hit: memory.id }, "its session, with this message marked"), " · ", link("conversation", { id: conversationId }, "its conversation")),
    make("details", {}, make("summary", {}, "All of its fields"), about(Object.entries(rest))),
    make("h2", {}, "Versions"),
    versions,
    memory.stability != null && [make("h2", {}, "Decay"), await decay(memory)],
    make("h2", {}, "Curate"),
    curation(memory),
  ].flat();
}

async function chain(memory) {
  const { versions } = await get(path`/memories/${memory.id}/versions`);
  const rows = versions.map((one) => ({ ...one, text: block(one.text), recorded: time(one.created_at), valid_from: time(one.valid_at), superseded: one.superseded_at && time(one.superseded_at), reason: one.reason, memory: link("node", { id: one.id }, one.id === memory.id ? "this one" : one.id) }));
  return table(["version", "text", "valid_from", "recorded", "superseded", "reason", "memory"], rows, { now: (row) => row.id === memory.id, label: "Versions" });
}

// The memory fades from when it happened; each rating begins again at 1, with the stability that it gave.
function spells(memory, rated) {
  const found = [{ from: at(memory.occurred_at), stability: rated[0]?.stability_before ?? memory.stability }];
  for (const one of rated) found.push({ from: at(one.reviewed_at), stability: one.stability_after });
  const last = memory.last_reviewed_at ? at(memory.last_reviewed_at) : found[0].from;
  if (last > found.at(-1).from) found.push({ from: last, stability: memory.stability });
  return found;
}

async function decay(memory) {
  const { reviews } = await get("/reviews", { conversation_id: memory.conversation_id, limit: 100 });
  const shown = reviews.filter((one) => one.memory_ids.includes(memory.id));
  const rated = shown.map((one) => one.episodes.find((its) => its.id === memory.id)?.rated).filter(Boolean).sort((a, b) => at(a.reviewed_at) - at(b.reviewed_at));
  const parts = spells(memory, rated);
  const latest = parts.at(-1);
  const [start, now] = [parts[0].from, Date.now()];
  const end = Math.max(latest.from + 2 * DAY * memory.stability, now + 0.3 * (now - latest.from), start + DAY);
  const remembered = (moment, { from, stability }) => (1 + (FACTOR * Math.max(moment - from, 0)) / DAY / stability) ** EXPONENT;
  const x = (moment) => 40 + (540 * (moment - start)) / (end - start);
  const y = (share) => 10 + 150 * (1 - share);
  const curve = parts.flatMap((part, place) => {
    const until = parts[place + 1]?.from ?? end;
    return Array.from({ length: 60 }, (_, step) => part.from + ((until - part.from) * step) / 59).map((moment) => `${x(moment).toFixed(1)},${y(remembered(moment, part)).toFixed(1)}`);
  });
  const days = (now - latest.from) / DAY;
  const since = rated.length ? "its last review" : "it happened";
  const sentence = `Now, ${days.toFixed(1)} days after ${since}, it is remembered with probability ${remembered(now, latest).toFixed(2)}; its stability is ${memory.stability.toFixed(1)} days.`;
  return make(
    "div",
    {},
    draw(
      "svg",
      { class: "chart", viewBox: "0 0 600 190", role: "img", "aria-label": sentence },
      draw("path", { class: "axis", d: "M40 10V160H580", fill: "none" }),
      draw("polyline", { class: "curve", points: curve.join(" ") }),
      draw("path", { class: "now", d: `M${x(now)} 10V160` }),
      rated.map((one) => draw("circle", { cx: x(at(one.reviewed_at)), cy: y(1), r: 5 }, draw("title", {}, `${one.rating}, stability ${one.stability_before.toFixed(1)} to ${one.stability_after.toFixed(1)} days`))),
      draw("text", { x: 8, y: 16 }, "1.0"),
      draw("text", { x: 8, y: 164 }, "0.0"),
      draw("text", { x: 40, y: 180 }, day(start)),
      draw("text", { x: Math.min(x(now) + 4, 470), y: 150 }, "now"),
      draw("text", { x: 515, y: 180 }, day(end)),
    ),
    make("p", {}, sentence),
    shown.length ? table(["at", "query", "state", "rating", "stability"], shown.map((one) => reviewed(one, memory.id)), { label: "Reviews" }) : empty("It has been in no review."),
  );
}

function reviewed(review, id) {
  const rated = review.episodes.find((one) => one.id === id)?.rated;
  return { ...review, rating: rated?.rating, stability: rated && `${rated.stability_before.toFixed(1)} to ${rated.stability_after.toFixed(1)} days` };
}

async function neighbourhood(id) {
  const place = make("div");
  const show = (fields) => fill(place, async () => {
    const asked = { depth: fields.depth.value, limit: fields.limit.value };
    const found = await get(path`/graph/${id}`, asked);
    const graph = new Graph({ expand: (other) => get(path`/graph/${other}`, { depth: 1, limit: asked.limit }) });
    graph.add(found);
    return [graph.element, make("details", {}, make("summary", {}, "The properties of this node"), about(Object.entries(found.nodes[0].properties)))];
  });
  const page = form({}, show, make("div", { class: "fields" }, field("Depth", choice("depth", ["1", "2", "3"], "1")), field("Nodes at most", choice("limit", ["10", "50", "100", "500"], "50")), make("button", {}, "Show")));
  await show(page.elements);
  return [page, place];
}
