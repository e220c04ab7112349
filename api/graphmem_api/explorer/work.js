// Patterns, runs, and Cypher for operators.

import { get, parsed, path, post } from "./api.js";
import { bar, block, button, choice, counted, empty, field, fill, form, inline, link, make, notice, table, time, value, words } from "./dom.js";
import { Graph } from "./graph.js";
import { pages } from "./look.js";
import { picture } from "./pictures.js";

export async function patterns() {
  const { patterns: every } = await get("/patterns");
  return make("ul", { class: "items" }, every.map((one) => make("li", {}, link("pattern", { name: one.name }, one.title), " ", one.description)));
}

export async function pattern({ name }) {
  const { patterns: every } = await get("/patterns");
  const one = every.find((its) => its.name === name);
  if (!one) return empty("The catalogue has no pattern of this name.");
  const found = make("div", { "aria-live": "polite" });
  const fields = one.parameters.map((parameter) => field(words(parameter.name), entry(parameter, one.example)));
  const meanings = make("details", {}, make("summary", {}, "The parameters and the columns"), table(["name", "type", "meaning"], [...one.parameters, ...one.columns], { label: "Parameters and columns" }));
  const asking = form({}, (given) => fill(found, () => rows(one, given)), make("div", { class: "fields" }, fields, make("button", { class: "main" }, "Find")));
  return [make("p", {}, make("strong", {}, one.title), " ", one.description), meanings, asking, found];
}

function entry(parameter, example) {
  const given = parameter.required ? example[parameter.name] : parameter.default;
  const shared = { name: parameter.name, title: parameter.meaning, required: parameter.required };
  if (parameter.type === "boolean") return choice(parameter.name, ["false", "true"], String(given));
  if (parameter.choices) return choice(parameter.name, parameter.choices, given);
  if (parameter.type === "int") return make("input", { ...shared, type: "number", min: parameter.least, max: parameter.most, value: given });
  if (parameter.type === "float") return make("input", { ...shared, type: "number", step: "any", min: parameter.least, max: parameter.most, value: given });
  if (parameter.type === "datetime") return make("input", { ...shared, value: parameter.required ? given : "", placeholder: `${given}, or a time as in 2026-03-02T09:30:00Z` });
  return make("input", { ...shared, value: given });
}

async function rows(one, given) {
  const parameters = {};
  for (const { name, type } of one.parameters) {
    const text = given[name].value;
    if (text === "" && type !== "string") continue;
    parameters[name] = type === "boolean" ? text === "true" : type === "int" || type === "float" ? Number(text) : text;
  }
  const found = await post(path`/patterns/${one.name}`, { parameters });
  if (!found.rows.length) return empty("Nothing in this client's memories has this pattern.");
  return [make("p", { class: "soft" }, counted(found.rows.length, "row")), found.truncated && notice("There are more rows than are shown."), make("h2", {}, "As a picture"), picture(found), make("h2", {}, "As a table"), table(found.columns, found.rows, { label: one.title })];
}

export const runs = () =>
  pages("/rlm/sessions", { limit: 50 }, "runs", (one) =>
    make("li", {}, link("run", { id: one.id }, one.agent_type), ` ${one.status} `, one.outcome, " ", time(one.started_at), spent(one.budget.tokens_used, 0, 0, one.limits.max_tokens)),
  "No agent of this client has begun a run.");

function spent(used, held, given, most) {
  const sentence = `${used.toLocaleString("en")} spent, ${held.toLocaleString("en")} held, ${given.toLocaleString("en")} given of ${counted(most, "token")}`;
  return make("div", {}, bar([[used, "", "spent"], [held, "held", "held"], [given, "given", "given"]], most, sentence), make("p", { class: "soft" }, sentence));
}

export async function run({ id }) {
  const tree = await get(path`/rlm/sessions/${id}/tree`);
  const accesses = make("div");
  fill(accesses, () => pages(path`/rlm/sessions/${id}/accesses`, { limit: 50 }, "accesses", access, "This run has done nothing yet."));
  return [make("ul", { class: "tree" }, branch(tree)), make("h2", {}, "What it did"), accesses];
}

const access = (one) => make("li", {}, `${words(one.operation)} `, time(one.timestamp), ` ${counted(one.tokens_consumed, "token")} `, one.error && make("span", { class: "bad" }, inline(one.error)), " ", value("params", one.params));

function branch(one) {
  return make(
    "li",
    {},
    link("run", { id: one.id }, one.agent_type),
    ` ${one.status} `,
    one.outcome,
    spent(one.spent, one.held, one.given, one.max_tokens),
    make("p", { class: "soft" }, Object.entries(one.operations).map(([name, count]) => `${words(name)} ${count}`).join(", ")),
    one.children.length > 0 && make("ul", { class: "tree" }, one.children.map(branch)),
  );
}

const STATEMENT = "MATCH (memory:Memory)\nRETURN memory.kind AS kind, count(*) AS memories\nORDER BY memories DESC";

export async function cypher() {
  const found = make("div", { "aria-live": "polite" });
  const audit = make("div");
  const text = make("textarea", { name: "query", class: "code", rows: 8, spellcheck: false, required: true, maxlength: 32768 }, STATEMENT);
  const page = form(
    {},
    (fields) => fill(found, () => answered(fields)),
    make("p", { class: "soft" }, "For operators: a statement sees all clients, may only read, and is recorded in the audit."),
    field("Statement", text),
    field("Parameters as JSON", make("textarea", { name: "parameters", class: "code", rows: 2, spellcheck: false }, "{}")),
    make("div", { class: "fields" }, field("Rows at most", make("input", { name: "max_rows", type: "number", min: 1, max: 50000, value: 200 })), make("button", { class: "main" }, "Run"), button("Show the audit", () => fill(audit, audited))),
  );
  text.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) page.requestSubmit();
  });
  return [page, found, audit];
}

async function answered(fields) {
  const query = fields.query.value;
  try {
    const parameters = parsed(fields.parameters.value || "{}");
    return tabled(await post("/cypher", { query, parameters, max_rows: Number(fields.max_rows.value) }));
  } catch (problem) {
    if (problem instanceof SyntaxError) return make("p", { class: "failure", role: "alert" }, "The parameters are no JSON: ", inline(problem.message));
    if (!problem.place) throw problem;
    return placed(problem, query, fields.query);
  }
}

// The error of the guard or of the database, at its place in the statement.
function placed(problem, query, text) {
  const { line, column, offset } = problem.place;
  text.focus();
  text.setSelectionRange(offset, offset + 1);
  const marked = query.split("\n")[line - 1] ?? "";
  return make("div", { class: "failure", role: "alert" }, make("strong", {}, words(problem.code)), ` at line ${line}, column ${column}`, make("pre", {}, `${marked}\n${" ".repeat(Math.max(0, column - 1))}^`), make("bdi", {}, problem.message));
}

function tabled(found) {
  const graph = pictured(found.rows);
  return [
    make("p", { class: "soft" }, `${counted(found.rows.length, "row")} in ${found.milliseconds.toFixed(0)} ms`),
    found.truncated && notice("There are more rows than are shown."),
    found.rows.length ? table(found.columns, found.rows, { head: String, label: "Rows" }) : empty("The statement returned no row."),
    graph && [make("h2", {}, "As a graph"), graph.element],
  ];
}

// The nodes and relationships anywhere in the rows, or nothing.
function pictured(found) {
  const nodes = new Map();
  const edges = [];
  const visit = (part) => {
    if (Array.isArray(part)) part.forEach(visit);
    else if (part && typeof part === "object") {
      if (Array.isArray(part.labels) && part.properties) nodes.set(String(part.id), { ...part, id: String(part.id) });
      else if ("start" in part && "end" in part && part.type) edges.push({ from: String(part.start), to: String(part.end), type: part.type });
      else Object.values(part).forEach(visit);
    }
  };
  visit(found);
  return nodes.size ? new Graph().add({ nodes: [...nodes.values()], edges }) : null;
}

async function audited() {
  return pages("/cypher/audit", { limit: 50 }, "entries", (one) => make("li", {}, make("div", {}, `${words(one.outcome)} `, time(one.at), " ", inline(one.client_id), ` by ${one.via}`, one.rows != null && `, ${counted(one.rows, "row")}`, " ", one.code), block(one.query, "text code")), "No statement has been sent.");
}
