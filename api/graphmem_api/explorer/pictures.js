// Pictures of rows: bars, lanes of time, pairs as a graph, and arcs between sessions. Which one fits follows from the columns.

import { bar, begun, counted, draw, inline, link, make, number, time, words } from "./dom.js";
import { Graph } from "./graph.js";

const SHOWN = 40;
const PAIRS = [["one", "other"], ["statement", "contradicts"], ["newer", "older"]];
const STRENGTHS = ["cosine", "sessions", "score"];
const HEIGHT = 160;

const has = (columns, ...names) => names.every((name) => columns.includes(name));
const at = (text) => new Date(text).getTime();
const day = (text) => new Date(text).toISOString().slice(0, 10);

// The picture of a pattern's rows, or null where no column can be drawn.
export function picture({ columns, rows }) {
  if (!rows.length) return null;
  const ends = PAIRS.find((names) => has(columns, ...names));
  if (ends) return pairs(rows, ends);
  if (columns.includes("pairs")) return bridges(rows);
  const lanes = lanesOf(columns, rows);
  if (lanes) return timeline(lanes);
  const counts = has(columns, "recent", "before") ? ["before", "recent"] : columns.filter((name) => Number.isInteger(rows[0][name])).slice(0, 1);
  return counts.length ? bars(columns, rows, counts) : null;
}

function figure(caption, ...children) {
  return make("figure", {}, make("figcaption", { class: "soft" }, caption), children);
}

function cut(rows, most = SHOWN) {
  return rows.length > most ? `; the first ${most} of ${rows.length.toLocaleString("en")}` : "";
}

// A row is named by its first column, and leads to the first of its memories.
function named(columns, row) {
  const text = row[columns[0]];
  const memory = row.memory_ids?.[0];
  return memory ? link("node", { id: memory }, String(text)) : inline(text, 80);
}

function bars(columns, rows, counts) {
  const most = Math.max(1, ...rows.flatMap((row) => counts.map((name) => row[name])));
  const shown = rows.slice(0, SHOWN).map((row) =>
    make("li", {}, named(columns, row), counts.map((name) => make("div", { class: "counted" }, make("span", { class: "soft" }, `${words(name)} ${number(row[name])}`), bar([[row[name], ""]], most, `${words(name)} ${number(row[name])}`)))),
  );
  return figure(`${counts.map(words).join(" and ")}${cut(rows)}`, make("ul", { class: "items", "data-picture": "bars" }, shown));
}

// Lanes are {name, marks: [{at, title, id}]}: one for a row with several times, one for each kind of rows with one.
function lanesOf(columns, rows) {
  const inside = [["occasions", "at", "opening"], ["steps", "valid_at", "text"]].find(([name]) => columns.includes(name));
  if (inside) {
    const [name, when, text] = inside;
    return rows.slice(0, SHOWN).map((row) => ({ name: named(columns, row), marks: row[name].map((one) => ({ at: at(one[when]), title: one[text], id: one.memory_id ?? one.memory_ids?.[0] })) }));
  }
  if (!columns.includes("at")) return null;
  const kinds = new Map();
  for (const row of rows) kinds.set(row.kind, [...(kinds.get(row.kind) ?? []), { at: at(row.at), title: row.text, id: row.memory_ids?.[0] }]);
  return [...kinds].map(([kind, marks]) => ({ name: inline(kind), marks }));
}

function timeline(lanes) {
  const times = lanes.flatMap((lane) => lane.marks.map((mark) => mark.at));
  const [first, last] = [Math.min(...times), Math.max(...times)];
  const place = (moment) => `${(98 * (moment - first)) / (last - first || 1)}%`;
  const shown = lanes.map(({ name, marks }) => {
    const track = make("div", { class: "track marked" });
    for (const mark of marks) {
      const title = `${day(mark.at)} ${begun(String(mark.title ?? ""), 160)}`;
      const dot = make(mark.id ? "a" : "span", { role: mark.id ? null : "img", href: mark.id ? `#/node?${new URLSearchParams({ id: mark.id })}` : null, title, "aria-label": title });
      dot.style.left = place(mark.at);
      track.append(dot);
    }
    return make("li", {}, make("div", {}, name, make("span", { class: "soft" }, ` ${counted(marks.length, "time")}`)), track);
  });
  return figure(["from ", time(first), " to ", time(last)], make("ul", { class: "items", "data-picture": "timeline" }, shown));
}

function pairs(rows, [one, other]) {
  const strength = STRENGTHS.find((name) => name in rows[0]);
  const nodes = new Map();
  const edges = rows.slice(0, 200).map((row) => {
    const ids = one === "one" ? [`entity:${row.one}`, `entity:${row.other}`] : row.memory_ids;
    [row[one], row[other]].forEach((text, end) => nodes.set(ids[end], { id: ids[end], labels: [one === "one" ? "Name" : "Memory"], properties: { text } }));
    return { from: ids[0], to: ids[1], type: one === "one" ? "SAME SESSIONS" : one === "statement" ? "CONTRADICTS" : "NEARLY THE SAME" };
  });
  return graphed(nodes, edges, `pairs${strength ? ` by ${words(strength)}` : ""}${cut(rows, 200)}`);
}

function bridges(rows) {
  const nodes = new Map();
  const edges = [];
  const add = (id, text, label) => nodes.has(id) || nodes.set(id, { id, labels: [label], properties: { text } });
  for (const row of rows.slice(0, SHOWN)) {
    nodes.set(row.session_id, { id: row.session_id, labels: ["Bridge"], properties: { text: row.session_external_id } });
    for (const pair of row.pairs) {
      for (const end of ["one", "other"]) {
        const id = pair[`${end}_session_id`];
        add(id, id.slice(0, 8), "Session");
        edges.push({ from: row.session_id, to: id, type: begun(String(pair[`${end}_via`]), 40) });
      }
    }
  }
  return graphed(nodes, edges, `sessions, joined by the names of the edges${cut(rows)}`);
}

function graphed(nodes, edges, caption) {
  const graph = new Graph({ height: "20rem" }).add({ nodes: [...nodes.values()], edges });
  graph.element.dataset.picture = "graph";
  return figure(caption, graph.element);
}

// Sessions along the time, and an arc for each link between two of them. Neighbours keep a distance that can be seen.
export function arcs(sessions, links) {
  const byTime = [...sessions].sort((a, b) => at(a.started_at) - at(b.started_at));
  const [first, last] = [at(byTime[0].started_at), at(byTime.at(-1).started_at)];
  const gap = Math.min(30, 900 / byTime.length);
  const across = new Map();
  let before = -gap;
  for (const one of byTime) {
    before = Math.max(before + gap, (900 * (at(one.started_at) - first)) / (last - first || 1));
    across.set(one.id, before);
  }
  const place = (id) => 20 + (960 * across.get(id)) / (before || 1);
  const shown = links.filter((one) => across.has(one.from) && across.has(one.to));
  const sentence = `${counted(sessions.length, "session")} from ${day(first)} to ${day(last)}, ${counted(shown.length, "link")} between them`;
  const curves = shown.map((one) => {
    const [from, to] = [place(one.from), place(one.to)];
    const high = HEIGHT - 12 - Math.min(HEIGHT - 20, 20 + Math.abs(to - from) / 3);
    return draw("path", { class: `link ${one.basis}`, d: `M${from.toFixed(1)} ${HEIGHT - 12}Q${((from + to) / 2).toFixed(1)} ${(2 * high - HEIGHT + 12).toFixed(1)} ${to.toFixed(1)} ${HEIGHT - 12}`, "stroke-width": 1 + 2 * one.score }, draw("title", {}, one.title));
  });
  const ticks = byTime.map((one) => draw("path", { class: "tick", d: `M${place(one.id).toFixed(1)} ${HEIGHT - 18}v12` }, draw("title", {}, one.external_id)));
  return figure(sentence, draw("svg", { class: "arcs", viewBox: `0 0 1000 ${HEIGHT}`, preserveAspectRatio: "none", role: "img", "aria-label": sentence }, draw("path", { class: "axis", d: `M0 ${HEIGHT - 12}H1000` }), curves, ticks), make("div", { class: "ends soft" }, time(first), time(last)));
}
