/** The way to a service: requests sent again where that is safe, failures as errors. */

import type { components } from "./openapi.js";

export type Problem = components["schemas"]["Problem"];

const FIRST_PAUSE = 0.25;
/** A service that asks for a longer pause, in seconds, is reported at once. */
const LONGEST_PAUSE = 60;

/** A failure that the service named, or that kept its answer away. */
export class GraphmemError extends Error {
  /** The kind of failure for programs, such as `memory_not_found`. */
  readonly code: string;
  /** The status of HTTP; 0 without an answer. */
  readonly status: number;
  /** The argument or header that cannot be used. */
  readonly field: string | undefined;
  /** What the service said (RFC 9457); undefined if it said nothing that is read. */
  readonly problem: Problem | undefined;
  /** The pause in seconds that the service asked for. */
  readonly retryAfter: number | undefined;

  constructor(sentence: string, known: Known = {}) {
    super(sentence, known.cause === undefined ? undefined : { cause: known.cause });
    this.name = new.target.name;
    this.code = known.code ?? known.problem?.code ?? "graphmem_error";
    this.status = known.status ?? known.problem?.status ?? 0;
    this.field = known.field ?? known.problem?.field ?? undefined;
    this.problem = known.problem;
    this.retryAfter = known.retryAfter;
  }
}

/** What is known of a failure beside its sentence. */
export interface Known {
  code?: string;
  status?: number;
  field?: string;
  problem?: Problem;
  retryAfter?: number | undefined;
  cause?: unknown;
}

/** The input cannot be used; the sentence names the field and the remedy. */
export class InvalidInput extends GraphmemError {}
/** There is no such thing, or it is another client's. */
export class NotFound extends GraphmemError {}
/** The request does not fit the present state; `problem` has the numbers of a budget or the newest version. */
export class Conflict extends GraphmemError {}
/** The request has no valid key, or one of too low a role. */
export class Unauthorized extends GraphmemError {}
/** A statement may do something that an operator's Cypher may not. */
export class CypherRefused extends GraphmemError {}
/** A query, or the body of a request, took too long or too much. */
export class CutOff extends GraphmemError {}
/** The client has as many runs, statements or requests in progress, memories, bytes or tokens as it may have. */
export class TooMany extends GraphmemError {}
/** Temporary: the service, its database or a model does not answer now. */
export class Unavailable extends GraphmemError {}

type Kind = new (sentence: string, known?: Known) => GraphmemError;

const BY_STATUS: Record<number, Kind> = {
  400: InvalidInput,
  401: Unauthorized,
  403: Unauthorized,
  404: NotFound,
  408: CutOff,
  409: Conflict,
  413: InvalidInput,
  429: TooMany,
  502: Unavailable,
  503: Unavailable,
  504: Unavailable,
  507: Unavailable,
};

/** The failures whose status they share with others. */
const BY_CODE: Record<string, Kind> = { store_limit_reached: TooMany };

/** Refused before anything was done, because the service was busy. */
const NOT_BEGUN = new Set(["overloaded", "too_many_requests"]);
/** It will not pass soon. */
const LASTING = new Set(["disk_full", "store_damaged", "record_damaged"]);
/** The causes of a failed `fetch` in Node that mean that no connection was made. */
const NOT_CONNECTED = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "UND_ERR_CONNECT_TIMEOUT"]);

/** Says after which writes an answer was given, for the next request of the same client. */
const BOOKMARK = "X-Graphmem-Bookmark";
const MOST_CLIENTS = 1000;

/** The last bookmark of each client: no process of the service answers from an older state. */
export class Latest {
  readonly #bookmarks = new Map<string, string>();

  /** Put the bookmark of the request's client on it, if there is one. */
  name(request: Request): void {
    const bookmark = this.#bookmarks.get(clientOf(request));
    if (bookmark !== undefined) request.headers.set(BOOKMARK, bookmark);
  }

  /** Keep the bookmark of an answer; a service without a cluster sends none. */
  keep(request: Request, response: Response): void {
    const bookmark = response.headers.get(BOOKMARK);
    if (bookmark === null) return;
    this.#bookmarks.delete(clientOf(request));
    this.#bookmarks.set(clientOf(request), bookmark);
    const [oldest] = this.#bookmarks.keys();
    if (this.#bookmarks.size > MOST_CLIENTS && oldest !== undefined) this.#bookmarks.delete(oldest);
  }

  /** Forget the bookmark of the request's client if the service refused it; return whether it was there. */
  forget(request: Request, error: GraphmemError): boolean {
    return error.field === BOOKMARK && this.#bookmarks.delete(clientOf(request));
  }
}

function clientOf(request: Request): string {
  return request.headers.get("X-Client-Id") ?? "";
}

export type Fetch = (request: Request) => Promise<Response>;

/** How a request is sent. */
export interface Sending {
  fetch: Fetch;
  /** How often a request is sent again. */
  retries: number;
  /** The seconds in which an answer must be complete. */
  timeout: number;
  /** Wait for some seconds. */
  sleep: (seconds: number, signal: AbortSignal) => Promise<void>;
  latest: Latest;
}

/**
 * Return a `fetch` whose answers are successes with their whole body; every failure is thrown as an error.
 *
 * `repeatable` tells whether the request may be sent again when it is unknown whether it was done.
 */
export function fetching(sending: Sending, repeatable: boolean): Fetch {
  return async (request) => {
    for (let attempt = 0; ; attempt++) {
      try {
        return await whole(await send(request.clone(), sending), request);
      } catch (error) {
        if (!(error instanceof GraphmemError)) throw error;
        if (sending.latest.forget(request, error)) continue;
        const pause = error.retryAfter || FIRST_PAUSE;
        const again = notBegun(error) || (repeatable && mayPass(error));
        if (!again || attempt >= sending.retries || pause > LONGEST_PAUSE) throw error;
        // Longer each time: many requests that were refused together come back together.
        await sending.sleep(Math.min(pause * 2 ** attempt, LONGEST_PAUSE), request.signal);
      }
    }
  };
}

/** Return a `fetch` that sends once and returns before the body has arrived. */
export function streaming(sending: Sending): Fetch {
  return (request) => send(request, { ...sending, timeout: 0 });
}

/** Wait for some seconds, or throw the reason of the signal. */
export function sleep(seconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", stop);
      resolve();
    }, seconds * 1000);
    if (signal.aborted) stop();
    signal.addEventListener("abort", stop, { once: true });
  });
}

async function send(request: Request, sending: Sending): Promise<Response> {
  const limit = sending.timeout ? AbortSignal.timeout(Math.ceil(sending.timeout * 1000)) : undefined;
  const signal = limit ? AbortSignal.any([request.signal, limit]) : request.signal;
  const sent = new Request(request, { signal });
  sending.latest.name(sent);
  let response: Response;
  try {
    response = await sending.fetch(sent);
  } catch (cause) {
    throw unreachable(request.url, request.signal, cause);
  }
  sending.latest.keep(request, response);
  if (response.ok) return response;
  throw await failure(request, response);
}

/** Return the answer with its body read: what is lost on the way is lost here, where it is asked for again. */
async function whole(response: Response, request: Request): Promise<Response> {
  if (response.status === 204) return response;
  // A page of another program, at an address that is not graphmem's.
  if (response.headers.get("Content-Type")?.startsWith("text/html")) throw foreign(request, response);
  try {
    const body = await response.arrayBuffer();
    return new Response(body, { status: response.status, headers: response.headers });
  } catch (cause) {
    throw unreachable(request.url, request.signal, cause);
  }
}

/** Return the failure of the network as ours, or the reason of a caller who ended the request. */
export function unreachable(url: string, signal: AbortSignal | undefined, cause: unknown): unknown {
  if (signal?.aborted) return signal.reason;
  const { origin } = new URL(url);
  const reason = reasonOf(cause);
  // A browser does not tell why it has no answer.
  const isLost = reason !== "TypeError" && !NOT_CONNECTED.has(reason);
  const sentence = isLost
    ? `the answer of the service at ${origin} is lost (${reason}): what was asked for may have been done; ` +
      "look before you write the same again"
    : `the service at ${origin} does not answer (${reason}); check the address, and that \`graphmem serve\` runs there`;
  return new Unavailable(sentence, { code: "unavailable", cause });
}

function reasonOf(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  const inner = cause.cause as { code?: string } | undefined;
  return inner?.code ?? cause.name;
}

/** Return what a service answers instead of a success as the error that it stands for. */
async function failure(request: Request, response: Response): Promise<GraphmemError> {
  const { status } = response;
  const asked = response.headers.get("Retry-After") ?? "";
  const retryAfter = /^\d+$/.test(asked) ? Number(asked) : undefined;
  const problem = await problemOf(response);
  if (problem === undefined) {
    return foreign(request, response, retryAfter);
  }
  const refused = status === 403 && problem.code.startsWith("cypher_");
  const kind = refused ? CypherRefused : (BY_CODE[problem.code] ?? BY_STATUS[status] ?? GraphmemError);
  return new kind(problem.detail, { problem, retryAfter });
}

/** Return the error for an answer that does not come from graphmem, but from a proxy or another program. */
function foreign({ url }: Request, { status }: Response, retryAfter?: number): GraphmemError {
  const sentence = `${url} answered ${status}, which is not an answer of graphmem; check the address`;
  return new (BY_STATUS[status] === Unavailable ? Unavailable : GraphmemError)(sentence, {
    code: BY_STATUS[status] === Unavailable ? "unavailable" : "graphmem_error",
    status,
    retryAfter,
  });
}

async function problemOf(response: Response): Promise<Problem | undefined> {
  try {
    const body: unknown = await response.json();
    if (typeof body !== "object" || body === null) return undefined;
    return "code" in body && "detail" in body ? (body as Problem) : undefined;
  } catch {
    return undefined;
  }
}

function notBegun(error: GraphmemError): boolean {
  const { cause } = error;
  return NOT_BEGUN.has(error.code) || (cause !== undefined && NOT_CONNECTED.has(reasonOf(cause)));
}

function mayPass(error: GraphmemError): boolean {
  return error instanceof Unavailable && !LASTING.has(error.code);
}
