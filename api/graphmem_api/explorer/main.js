// The frame of the page: who asks, which view is shown, and the address of each.

import { caller, get, nameCaller } from "./api.js";
import { ask } from "./ask.js";
import { conversation, conversations, memories, names, node, session } from "./look.js";
import { cypher, pattern, patterns, run, runs } from "./work.js";
import { forget } from "./curate.js";
import { empty, fill, make } from "./dom.js";

const VIEWS = { ask, conversations, memories, names, patterns, runs, cypher, forget, conversation, session, node, pattern, run };
const NEEDED = { conversation: "id", session: "id", node: "id", pattern: "name", run: "id" };
const LISTED = ["ask", "conversations", "memories", "names", "patterns", "runs", "cypher", "forget"];

const page = document.getElementById("page");
const views = document.getElementById("views");
const fields = document.getElementById("caller").elements;

function place() {
  const [view, asked = ""] = location.hash.replace(/^#\/?/, "").split("?", 2);
  return { view: Object.hasOwn(VIEWS, view) ? view : "ask", asked: Object.fromEntries(new URLSearchParams(asked)) };
}

function title(view) {
  return view[0].toUpperCase() + view.slice(1);
}

function show() {
  const { view, asked } = place();
  document.title = `${title(view)} – graphmem explorer`;
  views.replaceChildren(
    ...LISTED.map((name) => make("a", { href: `#/${name}`, "aria-current": name === view ? "page" : null }, title(name))),
  );
  const body = make("div");
  page.replaceChildren(make("h1", {}, title(view)), body);
  const missing = NEEDED[view] && !asked[NEEDED[view]];
  // A hit may stand far below.
  const shown = () => body.querySelector(".hit")?.scrollIntoView({ block: "center" });
  return fill(body, () => (missing ? empty(`This address needs ?${NEEDED[view]}=… at its end. The lists above lead to what there is.`) : VIEWS[view](asked))).then(shown);
}

async function listClients() {
  const list = document.getElementById("clients");
  if (list.children.length) return;
  try {
    const { clients } = await get("/clients", { limit: 200 });
    list.replaceChildren(...clients.map((one) => make("option", { value: one.id })));
  } catch {
    // A list for operators only: others type their client's name.
  }
}

const given = new URLSearchParams(location.search).get("client");
if (given !== null) nameCaller({ client: given, key: "" });
fields.client.value = caller().client;
fields.client.addEventListener("focus", listClients);
document.getElementById("caller").addEventListener("submit", (event) => {
  event.preventDefault();
  nameCaller({ client: fields.client.value, key: fields.key.value });
  // The client of the address would come back with a reload.
  history.replaceState(null, "", location.pathname + location.hash);
  show();
});
addEventListener("hashchange", async () => {
  await show();
  page.focus();
});
show();
