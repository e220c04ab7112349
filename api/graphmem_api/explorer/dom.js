// Elements, made with DOM calls only: a text of a memory is always the data of a text node.

import { Problem } from "./api.js";

const SHOWN = 4000;
const SVG = "http://www.w3.org/2000/svg";

function into(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "on") for (const [event, work] of Object.entries(value)) element.addEventListener(event, work);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) element.setAttribute(name, value);
  }
  element.append(...children.flat(Infinity).filter((child) => child != null && child !== false));
  return element;
}

export const make = (tag, attributes = {}, ...children) => into(document.createElement(tag), attributes, children);
export const draw = (tag, attributes = {}, ...children) =>
  into(document.createElementNS(SVG, tag), attributes, children);

// The beginning of a text, which never ends with half of a character.
export const begun = (text, most) => text.slice(0, most).replace(/[\ud800-\udbff]$/, "");

// A text in a line: isolated, so that its direction marks reverse nothing beside it.
export function inline(text, most = 200) {
  const whole = String(text);
  return make("bdi", { class: "one" }, whole.length > most ? `${begun(whole, most)}…` : whole);
}

// A text in a box; a long one is laid out only on request.
export function block(text, kind = "text") {
  const whole = String(text);
  const box = make("div", { class: kind, dir: "auto", tabindex: 0, role: "region", "aria-label": "Text" });
  if (whole.length <= SHOWN) {
    box.append(whole);
    return box;
  }
  const more = make("button", { type: "button" }, `Show all ${counted(whole.length, "character")}`);
  more.addEventListener("click", () => {
    box.replaceChildren(whole);
    more.remove();
  });
  box.append(`${begun(whole, SHOWN)}…`);
  return make("div", {}, box, more);
}

export const number = (value) =>
  typeof value === "number" && !Number.isInteger(value) ? value.toFixed(3) : value.toLocaleString("en");
export const counted = (count, word) => `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;
export const words = (name) => name.replaceAll("_", " ");

export function time(value) {
  const at = new Date(value);
  if (Number.isNaN(at.getTime())) return inline(value);
  return make("time", { datetime: at.toISOString(), title: value }, at.toISOString().slice(0, 16).replace("T", " "));
}

const address = (view, parameters) => {
  const given = Object.entries(parameters).filter(([, value]) => value != null && value !== "");
  return `#/${view}${given.length ? `?${new URLSearchParams(given)}` : ""}`;
};
export const link = (view, parameters, text) =>
  make("a", { href: address(view, parameters) }, typeof text === "string" ? inline(text, 80) : text);
export const go = (view, parameters) => {
  location.hash = address(view, parameters);
};

export const tags = (names) => (names ?? []).map((name) => [make("span", { class: "tag" }, inline(name, 64)), " "]);
export const notice = (...children) => make("p", { class: "notice", role: "status" }, ...children);
export const empty = (sentence) => make("p", { class: "soft empty" }, sentence);

export function failure(problem) {
  if (!(problem instanceof Error) || problem.code === undefined) console.error(problem);
  return make(
    "div",
    { class: "failure", role: "alert" },
    make("strong", {}, problem.title ?? "The page failed"),
    " ",
    make("bdi", {}, problem.message),
    problem.field && make("p", {}, "Field: ", make("code", {}, inline(problem.field))),
    problem.requestId && make("p", { class: "soft" }, `Request ${problem.requestId}`),
  );
}

const turns = new WeakMap();

// Fills a place with what some work returns; an answer that a later one has overtaken is dropped.
export async function fill(place, work) {
  const turn = (turns.get(place) ?? 0) + 1;
  turns.set(place, turn);
  place.setAttribute("aria-busy", "true");
  let found;
  try {
    found = await work();
  } catch (problem) {
    found = failure(problem);
  }
  if (turns.get(place) !== turn) return;
  place.replaceChildren(...[found].flat(Infinity).filter(Boolean));
  place.removeAttribute("aria-busy");
}

export const field = (label, input, kind = "") => make("label", { class: kind }, kind === "check" ? [input, label] : [label, input]);
export const choice = (name, options, chosen) =>
  make("select", { name }, options.map((one) => make("option", { value: one, selected: one === chosen }, one)));

// A time in the zone of the browser, and what the API takes for it; a field would take years of five digits.
export const moment = (name, label) => field(label, make("input", { name, type: "datetime-local", max: "9999-12-31T23:59" }));
export function sent(text) {
  if (!text) return undefined;
  const at = new Date(text);
  if (Number.isNaN(at.getTime())) throw new Problem(400, { title: "Invalid input", detail: `${text} is no time`, code: "invalid_input" });
  return at.toISOString();
}

// A form that asks the page instead of going anywhere.
export function form(attributes, work, ...children) {
  return make("form", { ...attributes, on: { submit: (event) => (event.preventDefault(), work(event.target.elements)) } }, ...children);
}

export function button(text, work, kind = "") {
  return make("button", { type: "button", class: kind, on: { click: work } }, text);
}

// Parts of a whole as a bar: [[amount, class, title], …].
export function bar(parts, whole, label) {
  const shown = make("div", { class: "bar", role: "img", "aria-label": label });
  for (const [amount, kind, title] of parts) {
    const part = make("i", { class: kind, title });
    part.style.width = `${Math.max(0, Math.min(100, (100 * amount) / (whole || 1)))}%`;
    shown.append(part);
  }
  return shown;
}

const UUID = /^[0-9a-f]{8}-[0-9a-f-]{27}$/;

// An id that nobody has chosen is shown by its beginning.
function identified(id) {
  const led = link("node", { id }, UUID.test(id) ? `${id.slice(0, 8)}…` : id);
  led.title = id;
  return led;
}

function entries(rows) {
  const parts = rows.map((row) => make("li", {}, Object.entries(row).filter(([, part]) => part != null).map(([name, part]) => make("div", {}, make("span", { class: "soft" }, `${words(name)}: `), one(name, part)))));
  return make("details", {}, make("summary", {}, `${rows.length.toLocaleString("en")} ${rows.length === 1 ? "entry" : "entries"}`), make("ul", { class: "items" }, parts));
}

function one(name, value) {
  if (value == null) return make("span", { class: "soft" }, "–");
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "number") return number(value);
  if (Array.isArray(value) && value.length && value.every((part) => part && typeof part === "object")) return entries(value);
  if (Array.isArray(value)) return value.map((part, place) => [place ? ", " : "", one(name, part)]);
  if (typeof value === "object") return make("code", {}, inline(JSON.stringify(value), 400));
  if (/(^|_)ids?$/.test(name) && value) return identified(value);
  return /_at$|^at$/.test(name) ? time(value) : inline(value, 400);
}
export const value = one;

export function table(columns, rows, { head = words, now = () => false, label = "Table" } = {}) {
  return make(
    "div",
    { class: "scroll", tabindex: 0, role: "region", "aria-label": label },
    make(
      "table",
      {},
      make("thead", {}, make("tr", {}, columns.map((name) => make("th", { scope: "col" }, inline(head(name)))))),
      make("tbody", {}, rows.map((row) => make("tr", { class: now(row) ? "now" : null }, columns.map((name) =>
        make("td", { class: typeof row[name] === "number" ? "number" : null }, row[name] instanceof Node ? row[name] : one(name, row[name]))))),
      ),
    ),
  );
}

export const about = (pairs) =>
  make("dl", {}, pairs.filter(([, shown]) => shown != null && shown !== "").map(([name, shown]) => [make("dt", {}, words(name)), make("dd", {}, shown instanceof Node ? shown : one(name, shown))]));
