// Requests to the API. The key is a variable of this page: it is in no storage, so a reload asks for it again.

const PREFIX = "/api/v0";
const CLIENT = "graphmem-client";

let key = "";
let client = stored((storage) => storage.getItem(CLIENT)) ?? "";

export const caller = () => ({ client, key });

export function nameCaller(named) {
  client = named.client.trim();
  key = named.key.trim();
  stored((storage) => storage.setItem(CLIENT, client));
}

// A browser that blocks the data of sites throws: the client is then forgotten by a reload, as the key is.
function stored(work) {
  try {
    return work(sessionStorage);
  } catch {
    return null;
  }
}

export class Problem extends Error {
  constructor(status, told) {
    super(told.detail ?? `The service answered ${status}.`);
    this.status = status;
    this.code = told.code ?? "";
    this.title = told.title ? `${told.title}.` : "Failed.";
    this.field = told.field;
    this.place = told.place;
    this.requestId = told.request_id;
  }
}

// JSON that a person typed. JavaScript would round a large whole number without a word.
export function parsed(text) {
  return JSON.parse(text, (name, value) => {
    if (Number.isInteger(value) && !Number.isSafeInteger(value)) {
      throw new Problem(400, { title: "Invalid input", detail: `${name}: is too large a number to be sent from this page`, code: "invalid_input", field: name });
    }
    return value;
  });
}

// An id as a part of a path: a browser would take `..` for the folder above.
function part(text) {
  if (text === "." || text === "..") throw new Problem(404, { title: "Not found", detail: "no address has this id", code: "id" });
  return encodeURIComponent(text);
}

export const path = (strings, ...values) => strings.reduce((before, after, place) => before + part(String(values[place - 1])) + after);

function headers() {
  if (key) return { Authorization: `Bearer ${sendable("key", key)}` };
  return client ? { "X-Client-Id": sendable("client", client) } : {};
}

// Otherwise `fetch` throws as if the service did not answer.
function sendable(field, text) {
  if (/^[\x20-\x7e]*$/.test(text)) return text;
  throw new Problem(400, { title: "Invalid input", detail: `the ${field} has a character that cannot be sent: give one of ASCII letters, digits and signs`, code: "invalid_input", field });
}

async function answerOf(response) {
  const text = await response.text();
  const isJson = (response.headers.get("content-type") ?? "").includes("json");
  const told = isJson && text ? JSON.parse(text) : text;
  if (!response.ok) throw new Problem(response.status, isJson ? told : {});
  return told;
}

async function send(method, place, body) {
  const sent = { method, headers: headers(), credentials: "omit", redirect: "error" };
  if (body !== undefined) {
    sent.body = JSON.stringify(body);
    sent.headers["Content-Type"] = "application/json";
  }
  let response;
  try {
    response = await fetch(PREFIX + place, sent);
  } catch {
    throw new Problem(0, { title: "No answer", detail: "graphmem does not answer: is it still running?", code: "unreachable" });
  }
  return answerOf(response);
}

export function get(place, asked = {}) {
  const given = Object.entries(asked).filter(([, value]) => value != null && value !== "");
  return send("GET", given.length ? `${place}?${new URLSearchParams(given)}` : place);
}
export const post = (place, body) => send("POST", place, body);
export const patch = (place, body) => send("PATCH", place, body);
