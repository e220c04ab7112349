/** A running service, as one client sees it: one method for each request. */

import createClient from "openapi-fetch";

import {
  type Fetch,
  GraphmemError,
  InvalidInput,
  Latest,
  type Sending,
  fetching,
  sleep,
  streaming,
  unreachable,
} from "./connection.js";
import type { components, operations, paths } from "./openapi.js";

export type Schemas = components["schemas"];
/** The body of an operation's request. */
export type Body<Name extends keyof operations> = operations[Name] extends {
  requestBody?: { content: { "application/json": infer Content } };
}
  ? Content
  : never;
/** The query string of an operation's request. */
export type Query<Name extends keyof operations> = NonNullable<operations[Name]["parameters"]["query"]>;
type LinkType = Schemas["NewLink"]["type"];

const LOCAL_SERVICE = "http://127.0.0.1:8000";
const DEFAULT_CLIENT = "default";
/** Longer, in seconds, than a service lets a request take whose body has less than 1 MB: its answer arrives first. */
const TIMEOUT = 340;
const RETRIES = 3;
/** In seconds; timers take no more milliseconds than 2^31 − 1. */
const LONGEST_TIMEOUT = 2_147_483;

/** Whether a request may be sent again when it is unknown whether it was done. */
const ALWAYS = true;
const NEVER = false;

/** What may be set for a whole client. */
export interface Settings {
  /** The address of the service, without `/api/v0`. */
  url?: string;
  /** The key of the client, if the service asks for keys. */
  key?: string;
  /** The client; without one, that of the key, or `default`. */
  clientId?: string;
  /** How often a request is sent again. */
  retries?: number;
  /**
   * The seconds in which an answer must be complete; 0: as long as it takes. The service gives a body of more than
   * 1 MB longer than the default: 30 s more for each 100,000 bytes.
   */
  timeout?: number;
  /** Another `fetch`, such as one with a proxy. */
  fetch?: Fetch;
  /** Another way to wait between two attempts. */
  sleep?: Sending["sleep"];
}

/** What may be set for one request. */
export interface Options {
  /** Ends the request, and the wait for its next attempt. */
  signal?: AbortSignal;
}

/**
 * A list: `for await (const one of list)` goes over the items of all pages, `list.pages()` over the pages,
 * and `await list` is its first page.
 */
export class Listing<Page extends { cursor: string | null }, Item> implements PromiseLike<Page>, AsyncIterable<Item> {
  readonly #items: (page: Page) => Item[];
  readonly #ask: (at: { cursor?: string }) => Promise<Page>;
  #first: Promise<Page> | undefined;

  constructor(ask: (at: { cursor?: string }) => Promise<Page>, items: (page: Page) => Item[]) {
    this.#items = items;
    this.#ask = ask;
  }

  /** Wait for the first page. */
  then<Done = Page, Failed = never>(
    done?: ((page: Page) => Done | PromiseLike<Done>) | null,
    failed?: ((reason: unknown) => Failed | PromiseLike<Failed>) | null,
  ): Promise<Done | Failed> {
    this.#first ??= this.#ask({});
    return this.#first.then(done, failed);
  }

  /** Yield every page. */
  async *pages(): AsyncGenerator<Page, void, undefined> {
    let page = await this.then();
    for (;;) {
      yield page;
      if (page.cursor === null) return;
      page = await this.#ask({ cursor: page.cursor });
    }
  }

  /** Yield every item of every page. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Item, void, undefined> {
    for await (const page of this.pages()) yield* this.#items(page);
  }
}

/**
 * A running service, as one client sees it.
 *
 * The methods are those of the Python client. Fields have the names that they have over HTTP, times are
 * texts (ISO 8601 with a zone). A request that the service refused because it is busy is sent again, after
 * the pause that it asks for; so is one that failed otherwise, if repeating it is safe: it only reads, or
 * has the caller's ids (`external_id` of each message, `operation_id`).
 */
export class Client {
  /** The runs of this client: agents that read within a budget. */
  readonly runs: Runs;
  readonly #settings: Settings;
  readonly #latest: Latest;
  readonly #api: Api;

  /** `latest` is for `forClient`, which shares it. */
  constructor(settings: Settings = {}, latest: Latest = new Latest()) {
    const { url = LOCAL_SERVICE, timeout = TIMEOUT, retries = RETRIES } = settings;
    check("url", isAddress(url), `expected an address such as ${LOCAL_SERVICE}, without a user or a password`);
    check("timeout", timeout >= 0 && timeout <= LONGEST_TIMEOUT, `expected 0–${LONGEST_TIMEOUT} seconds`);
    check("retries", Number.isInteger(retries) && retries >= 0, "expected a whole number >= 0");
    this.#settings = settings;
    this.#latest = latest;
    this.#api = apiOf(settings);
    this.runs = new Runs(this.#api, (safe, options) => this.#as(safe, options));
  }

  /**
   * Return the same service as another client sees it, where it asks for no keys. With an operator's key only
   * `hold`, `endHold` and `forgetClient` may concern another client; all else gets 401.
   */
  forClient(clientId: string): Client {
    return new Client({ ...this.#settings, clientId }, this.#latest);
  }

  /** Open a conversation, or return the existing one with this id. */
  openConversation(id?: string, more: Omit<Body<"open_conversation">, "id"> = {}, options?: Options) {
    return this.#api
      .POST("/api/v0/conversations", {
        body: { id, ...more },
        ...this.#as(id !== undefined, options),
      })
      .then(answer);
  }

  /** Change the given fields of a conversation; null and an empty list remove. */
  changeConversation(conversationId: string, more: Body<"change_conversation"> = {}, options?: Options) {
    return this.#api
      .PATCH("/api/v0/conversations/{conversation_id}", {
        params: { path: { conversation_id: conversationId } },
        body: more,
        ...this.#as(ALWAYS, options),
      })
      .then(answer);
  }

  /**
   * Append 1–1,000 messages to a conversation, all or none; return their ids in order.
   *
   * With `create` the first messages open their conversation. An `external_id` of each makes a lost answer safe.
   */
  remember(
    conversationId: string,
    messages: Body<"remember">["messages"],
    more: Omit<Body<"remember">, "messages"> = {},
    options?: Options,
  ) {
    // Without types it may be anything: the service then says what is wrong.
    const named = Array.isArray(messages) && messages.every((one) => one?.external_id != null);
    return this.#api
      .POST("/api/v0/conversations/{conversation_id}/messages", {
        params: { path: { conversation_id: conversationId } },
        body: { messages, ...more },
        ...this.#as(named, options),
      })
      .then(answer);
  }

  /** Return a page of 1–200 conversations, the latest first, and their total number. */
  conversations(more: Query<"list_conversations"> = {}, options?: Options) {
    return new Listing(
      (at) =>
        this.#api
          .GET("/api/v0/conversations", {
            params: { query: { ...more, ...at } },
            ...this.#as(ALWAYS, options),
          })
          .then(answer),
      (page) => page.conversations,
    );
  }

  /** Return a page of 1–200 sessions of a conversation, the latest first, and their total number. */
  sessions(conversationId: string, more: Query<"list_sessions"> = {}, options?: Options) {
    return new Listing(
      (at) =>
        this.#api
          .GET("/api/v0/conversations/{conversation_id}/sessions", {
            params: { path: { conversation_id: conversationId }, query: { ...more, ...at } },
            ...this.#as(ALWAYS, options),
          })
          .then(answer),
      (page) => page.sessions,
    );
  }

  /** Return a page of 1–200 messages of a conversation, and their total number. */
  messages(conversationId: string, more: Query<"list_messages"> = {}, options?: Options) {
    return new Listing(
      (at) =>
        this.#api
          .GET("/api/v0/conversations/{conversation_id}/messages", {
            params: { path: { conversation_id: conversationId }, query: { ...more, ...at } },
            ...this.#as(ALWAYS, options),
          })
          .then(answer),
      (page) => page.messages,
    );
  }

  /** Delete a conversation with everything in it. */
  deleteConversation(conversationId: string, options?: Options) {
    return this.#api
      .DELETE("/api/v0/conversations/{conversation_id}", {
        params: { path: { conversation_id: conversationId } },
        ...this.#as(NEVER, options),
      })
      .then(answer);
  }

  /** Remember a run of messages as an episode: exactly one of `messages`, `message_ids` and `range`. */
  rememberEpisode(
    conversationId: string,
    more: Omit<Body<"remember_episode">, "conversation_id"> = {},
    options?: Options,
  ) {
    return this.#api
      .POST("/api/v0/episodes", {
        body: { conversation_id: conversationId, ...more },
        ...this.#as(NEVER, options),
      })
      .then(answer);
  }

  /** Make episodes of the messages without one, and rate the pending reviews. */
  segment(conversationId: string, more: Query<"segment"> = {}, options?: Options) {
    return this.#api
      .POST("/api/v0/conversations/{conversation_id}/segment", {
        params: { path: { conversation_id: conversationId }, query: more },
        ...this.#as(NEVER, options),
      })
      .then(answer);
  }

  /** Derive facts from episodes with the language model, oldest first; the answer says if it is off. */
  consolidate(conversationId: string, options?: Options) {
    return this.#api
      .POST("/api/v0/conversations/{conversation_id}/consolidate", {
        params: { path: { conversation_id: conversationId } },
        ...this.#as(NEVER, options),
      })
      .then(answer);
  }

  /** Remember one fact, valid from `valid_at` (default: now); `importance` is 0–1. */
  rememberFact(fact: string, more: Omit<Schemas["NewFact"], "fact"> = {}, options?: Options) {
    return this.#api
      .POST("/api/v0/facts", { body: { fact, ...more }, ...this.#as(NEVER, options) })
      .then(answerOf<Schemas["KeptFact"]>);
  }

  /** Remember 1–100 facts, all or none; return for each whether it is new or known and reinforced. */
  rememberFacts(facts: Schemas["NewFact"][], options?: Options) {
    return this.#api
      .POST("/api/v0/facts", { body: facts, ...this.#as(NEVER, options) })
      .then(answerOf<Schemas["KeptFact"][]>);
  }

  /** Write the next version of a fact, valid from `valid_at` (default: now, or the fact's own start). */
  supersedeFact(factId: string, fact: string, more: Omit<Body<"supersede_fact">, "fact"> = {}, options?: Options) {
    return this.#api
      .POST("/api/v0/facts/{fact_id}/supersede", {
        params: { path: { fact_id: factId } },
        body: { fact, ...more },
        ...this.#as(NEVER, options),
      })
      .then(answer);
  }

  /** Return the categories that this client's facts may have. */
  categories(options?: Options) {
    return this.#api.GET("/api/v0/categories", this.#as(ALWAYS, options)).then(answer);
  }

  /** Choose the 1–100 categories that new facts may have; stored facts keep theirs. */
  setCategories(categories: Body<"set_categories">["categories"], options?: Options) {
    return this.#api.PUT("/api/v0/categories", { body: { categories }, ...this.#as(ALWAYS, options) }).then(answer);
  }

  /** Return one memory of any kind, that of another client by the `client_id` of its item. */
  memory(memoryId: string, more: Query<"show_memory"> = {}, options?: Options) {
    return this.#api
      .GET("/api/v0/memories/{memory_id}", {
        params: { path: { memory_id: memoryId }, query: more },
        ...this.#as(ALWAYS, options),
      })
      .then(answer);
  }

  /** Return a page of 1–200 memories in the order of their times, and their total number. */
  memories(more: Query<"list_memories"> = {}, options?: Options) {
    return new Listing(
      (at) =>
        this.#api
          .GET("/api/v0/memories", {
            params: { query: { ...more, ...at } },
            ...this.#as(ALWAYS, options),
          })
          .then(answer),
      (page) => page.memories,
    );
  }

  /** Change the given annotations of a message, an episode, a fact or a reference, in all its versions. */
  annotate(memoryId: string, more: Body<"annotate_memory"> = {}, options?: Options) {
    return this.#api
      .PATCH("/api/v0/memories/{memory_id}", {
        params: { path: { memory_id: memoryId } },
        body: more,
        ...this.#as(ALWAYS, options),
      })
      .then(answer);
  }

  /** Delete one memory permanently, with all its versions, and a reference with its spans. */
  deleteMemory(memoryId: string, options?: Options) {
    return this.#api
      .DELETE("/api/v0/memories/{memory_id}", {
        params: { path: { memory_id: memoryId } },
        ...this.#as(NEVER, options),
      })
      .then(answer);
  }

  /** Delete the memories that meet all given conditions, with everything made of them; `dry_run` only counts. */
  forget(what: Body<"forget">, options?: Options) {
    return this.#api.POST("/api/v0/forget", { body: what, ...this.#as(what?.dry_run === true, options) }).then(answer);
  }

  /** Delete everything of this client; return the receipt. `dry_run` only counts. */
  forgetClient(more: Query<"forget_client"> = {}, options?: Options) {
    return this.#api
      .DELETE("/api/v0/clients/{client_id}", {
        params: { path: { client_id: this.#client() }, query: more },
        ...this.#as(NEVER, options),
        ...this.#unnamed,
      })
      .then(answer);
  }

  /** Search every property of this client's nodes and edges for a text, in any case, or an id. */
  verifyForgotten(more: Body<"verify"> = {}, options?: Options) {
    return this.#api.POST("/api/v0/forget/verify", { body: more, ...this.#as(ALWAYS, options) }).then(answer);
  }

  /** Put this client under a legal hold: no memory is deleted or expires until `endHold`. */
  beginHold(reason: string, options?: Options) {
    return this.#api
      .PUT("/api/v0/clients/{client_id}/hold", {
        params: { path: { client_id: this.#client() } },
        body: { reason },
        ...this.#as(ALWAYS, options),
        ...this.#unnamed,
      })
      .then(answer);
  }

  /** Allow deletion again; memories that have expired meanwhile are deleted. */
  endHold(options?: Options) {
    return this.#api
      .DELETE("/api/v0/clients/{client_id}/hold", {
        params: { path: { client_id: this.#client() } },
        ...this.#as(ALWAYS, options),
        ...this.#unnamed,
      })
      .then(answer);
  }

  /** Return the versions of a memory, oldest first. */
  versions(memoryId: string, more: Query<"list_versions"> = {}, options?: Options) {
    return this.#api
      .GET("/api/v0/memories/{memory_id}/versions", {
        params: { path: { memory_id: memoryId }, query: more },
        ...this.#as(ALWAYS, options),
      })
      .then(answer);
  }

  /** Link two memories; only the type `references` takes a byte range. */
  link(
    fromId: string,
    toId: string,
    type: LinkType,
    more: Omit<Schemas["NewLink"], "from" | "to" | "type"> = {},
    options?: Options,
  ) {
    return this.#api
      .POST("/api/v0/links", {
        body: { from: fromId, to: toId, type, ...more },
        ...this.#as(ALWAYS, options),
      })
      .then(answerOf<Schemas["Link"]>);
  }

  /** Make 1–500 links, all or none. */
  linkAll(links: Schemas["NewLink"][], options?: Options) {
    return this.#api
      .POST("/api/v0/links", { body: links, ...this.#as(ALWAYS, options) })
      .then(answerOf<Schemas["Link"][]>);
  }

  /** Delete the link that `link` made from the same arguments; `relates_to` from either end. */
  unlink(
    fromId: string,
    toId: string,
    type: LinkType,
    more: Omit<Query<"delete_link">, "from" | "to" | "type"> = {},
    options?: Options,
  ) {
    return this.#api
      .DELETE("/api/v0/links", {
        params: { query: { from: fromId, to: toId, type, ...more } },
        ...this.#as(NEVER, options),
      })
      .then(answer);
  }

  /** Return a memory's links in either direction, newest first, 1–200 a page. */
  links(memoryId: string, more: Query<"list_links"> = {}, options?: Options) {
    return new Listing(
      (at) =>
        this.#api
          .GET("/api/v0/memories/{memory_id}/links", {
            params: { path: { memory_id: memoryId }, query: { ...more, ...at } },
            ...this.#as(ALWAYS, options),
          })
          .then(answer),
      (page) => page.links,
    );
  }

  /** Return the memories that match a query, `*` for all, and those linked within `max_hops` (0–3). */
  search(query: string, more: Omit<Body<"search">, "query"> = {}, options?: Options) {
    return this.#api.POST("/api/v0/search", { body: { query, ...more }, ...this.#as(ALWAYS, options) }).then(answer);
  }

  /** Return the spans that match a query, best first; `min_relevance` is 0–1. */
  searchSpans(query: string, more: Omit<Body<"search_spans">, "query"> = {}, options?: Options) {
    return this.#api
      .POST("/api/v0/spans/search", { body: { query, ...more }, ...this.#as(ALWAYS, options) })
      .then(answer);
  }

  /** Return a memory's card without its content, that of another client by the `client_id` of its item. */
  peek(memoryId: string, more: Query<"peek"> = {}, options?: Options) {
    return this.#api
      .GET("/api/v0/memories/{memory_id}/peek", {
        params: { path: { memory_id: memoryId }, query: more },
        ...this.#as(ALWAYS, options),
      })
      .then(answer);
  }

  /** Return the part of a memory's text that fits into 1–1,000,000 tokens. */
  chunk(memoryId: string, more: Body<"chunk">, options?: Options) {
    return this.#api
      .POST("/api/v0/memories/{memory_id}/chunk", {
        params: { path: { memory_id: memoryId } },
        body: more,
        ...this.#as(ALWAYS, options),
      })
      .then(answer);
  }

  /** Create a context of 1–200,000 tokens that collects chunks of memories and expires after a while. */
  createContext(more: Body<"create_context">, options?: Options) {
    return this.#api.POST("/api/v0/contexts", { body: more, ...this.#as(NEVER, options) }).then(answer);
  }

  /** Return a context with its sections. */
  context(contextId: string, options?: Options) {
    return this.#api
      .GET("/api/v0/contexts/{context_id}", {
        params: { path: { context_id: contextId } },
        ...this.#as(ALWAYS, options),
      })
      .then(answer);
  }

  /** Add the part of a memory that fits into a context, at most 500 tokens. */
  addToContext(contextId: string, memoryId: string, options?: Options) {
    return this.#api
      .POST("/api/v0/contexts/{context_id}/memories", {
        params: { path: { context_id: contextId } },
        body: { id: memoryId },
        ...this.#as(NEVER, options),
      })
      .then(answer);
  }

  /** Return a context as one text. */
  composeContext(contextId: string, options?: Options) {
    return this.#api
      .GET("/api/v0/contexts/{context_id}/composed", {
        params: { path: { context_id: contextId } },
        parseAs: "text",
        ...this.#as(ALWAYS, options),
      })
      .then(text);
  }

  /** Delete a context before it expires; the memories stay. */
  deleteContext(contextId: string, options?: Options) {
    return this.#api
      .DELETE("/api/v0/contexts/{context_id}", {
        params: { path: { context_id: contextId } },
        ...this.#as(NEVER, options),
      })
      .then(answer);
  }

  /** Return the best context for a question: as many memories as fit into `max_tokens`. */
  recall(query: string, more: Omit<Body<"recall">, "query"> = {}, options?: Options) {
    return this.#api.POST("/api/v0/recall", { body: { query, ...more }, ...this.#as(ALWAYS, options) }).then(answer);
  }

  /** Return the stage at which `recall` leaves out a memory, and by how much it fell short. */
  explain(query: string, memoryId: string, more: Omit<Body<"explain">, "query" | "memory_id"> = {}, options?: Options) {
    return this.#api
      .POST("/api/v0/explain", {
        body: { query, memory_id: memoryId, ...more },
        ...this.#as(ALWAYS, options),
      })
      .then(answer);
  }

  /** Return the sessions that answer a query, with hits, neighbouring messages, and related sessions. */
  searchContextual(query: string, more: Omit<Body<"search_contextual">, "query"> = {}, options?: Options) {
    return this.#api
      .POST("/api/v0/contextual/search", { body: { query, ...more }, ...this.#as(ALWAYS, options) })
      .then(answer);
  }

  /** Return more messages of a session: around `memory_id`, or of `session_id`; give exactly one. */
  expandContext(more: Body<"expand_context"> = {}, options?: Options) {
    return this.#api.POST("/api/v0/contextual/expand", { body: more, ...this.#as(ALWAYS, options) }).then(answer);
  }

  /** Return the facts for an agent's turn, within two seconds; failed parts are in `degraded`. */
  hydeRetrieve(turnId: string, more: Omit<Body<"hyde_retrieve">, "turn_id"> = {}, options?: Options) {
    return this.#api
      .POST("/api/v0/hyde/retrieve", {
        body: { turn_id: turnId, ...more },
        ...this.#as(ALWAYS, options),
      })
      .then(answer);
  }

  /** Return facts and episodes for a question of a conversation as one text in Markdown; they are reinforced. */
  retrieveMemory(
    query: string,
    conversationId: string,
    more: Omit<Body<"retrieve_memory">, "query" | "conversation_id"> = {},
    options?: Options,
  ) {
    return this.#api
      .POST("/api/v0/retrieve_memory", {
        body: { query, conversation_id: conversationId, ...more },
        parseAs: "text",
        ...this.#as(NEVER, options),
      })
      .then(text);
  }

  /** Return the facts for a question of a conversation as one text in Markdown. */
  contextPreRetrieve(
    query: string,
    conversationId: string,
    more: Omit<Body<"context_pre_retrieve">, "query" | "conversation_id"> = {},
    options?: Options,
  ) {
    return this.#api
      .POST("/api/v0/context_pre_retrieve", {
        body: { query, conversation_id: conversationId, ...more },
        parseAs: "text",
        ...this.#as(ALWAYS, options),
      })
      .then(text);
  }

  /** Return reviews, newest first, 1–200 a page. */
  reviews(more: Query<"list_reviews"> = {}, options?: Options) {
    return new Listing(
      (at) =>
        this.#api
          .GET("/api/v0/reviews", {
            params: { query: { ...more, ...at } },
            ...this.#as(ALWAYS, options),
          })
          .then(answer),
      (page) => page.reviews,
    );
  }

  /** Rate what was shown and not reviewed yet, of one conversation or of all. */
  runReviews(conversationId?: string, options?: Options) {
    return this.#api
      .POST("/api/v0/reviews/run", {
        body: { conversation_id: conversationId },
        ...this.#as(NEVER, options),
      })
      .then(answer);
  }

  /** Rate an episode; `applied` is false when a review of that time or later exists already. */
  review(
    memoryId: string,
    rating: Body<"review">["rating"],
    more: Omit<Body<"review">, "rating"> = {},
    options?: Options,
  ) {
    return this.#api
      .POST("/api/v0/memories/{memory_id}/review", {
        params: { path: { memory_id: memoryId } },
        body: { rating, ...more },
        ...this.#as(NEVER, options),
      })
      .then(answer);
  }

  /** Add the card of a source to the catalogue. */
  addReference(reference: Schemas["NewReference"], options?: Options) {
    return this.#api
      .POST("/api/v0/references", { body: reference, ...this.#as(NEVER, options) })
      .then(answerOf<Schemas["Reference"]>);
  }

  /** Add the cards of several sources, all or none. */
  addReferences(references: Schemas["NewReference"][], options?: Options) {
    return this.#api
      .POST("/api/v0/references", { body: references, ...this.#as(NEVER, options) })
      .then(answerOf<Schemas["Reference"][]>);
  }

  /** Return references, newest first, 1–200 a page. */
  references(more: Query<"list_references"> = {}, options?: Options) {
    return new Listing(
      (at) =>
        this.#api
          .GET("/api/v0/references", {
            params: { query: { ...more, ...at } },
            ...this.#as(ALWAYS, options),
          })
          .then(answer),
      (page) => page.references,
    );
  }

  /** Return one version of a reference. */
  reference(referenceId: string, options?: Options) {
    return this.#api
      .GET("/api/v0/references/{reference_id}", {
        params: { path: { reference_id: referenceId } },
        ...this.#as(ALWAYS, options),
      })
      .then(answer);
  }

  /** Set the content of a reference; changed content makes a new version. */
  putContent(referenceId: string, content: string, options?: Options) {
    return this.#api
      .PUT("/api/v0/references/{reference_id}/content", {
        params: { path: { reference_id: referenceId } },
        body: { content },
        ...this.#as(ALWAYS, options),
      })
      .then(answer);
  }

  /** Register a byte range of a source. */
  registerSpan(span: Schemas["NewSpan"], options?: Options) {
    return this.#api
      .POST("/api/v0/spans", { body: span, ...this.#as(span?.id != null, options) })
      .then(answerOf<Schemas["Span"]>);
  }

  /** Register several byte ranges, all or none. */
  registerSpans(spans: Schemas["NewSpan"][], options?: Options) {
    return this.#api
      .POST("/api/v0/spans", { body: spans, ...this.#as(NEVER, options) })
      .then(answerOf<Schemas["Span"][]>);
  }

  /** Return a span without its text. */
  span(spanId: string, options?: Options) {
    return this.#api
      .GET("/api/v0/spans/{span_id}", {
        params: { path: { span_id: spanId } },
        ...this.#as(ALWAYS, options),
      })
      .then(answer);
  }

  /** Return a span's text, null if it has none. */
  spanContent(spanId: string, options?: Options) {
    return this.#api
      .GET("/api/v0/spans/{span_id}/content", {
        params: { path: { span_id: spanId } },
        ...this.#as(ALWAYS, options),
      })
      .then(answer);
  }

  /** Write a summary of a thread, a plan or a session, as the next version of its target. */
  addSummary(summary: Body<"add_summary">, options?: Options) {
    return this.#api.POST("/api/v0/summaries", { body: summary, ...this.#as(NEVER, options) }).then(answer);
  }

  /** Summarize a session by its own id, and link it to related ones; return the summary. */
  summarizeSession(sessionId: string, options?: Options) {
    return this.#api
      .POST("/api/v0/sessions/{session_id}/summarize", {
        params: { path: { session_id: sessionId } },
        ...this.#as(NEVER, options),
      })
      .then(answer);
  }

  /** Return the sessions related to one, strongest relation first. */
  relatedSessions(sessionId: string, options?: Options) {
    return this.#api
      .GET("/api/v0/sessions/{session_id}/related", {
        params: { path: { session_id: sessionId } },
        ...this.#as(ALWAYS, options),
      })
      .then(answer);
  }

  /** Return summaries, most recently active first, 1–200 a page. */
  summaries(more: Query<"list_summaries"> = {}, options?: Options) {
    return new Listing(
      (at) =>
        this.#api
          .GET("/api/v0/summaries", {
            params: { query: { ...more, ...at } },
            ...this.#as(ALWAYS, options),
          })
          .then(answer),
      (page) => page.summaries,
    );
  }

  /** Return one version of a summary. */
  summary(summaryId: string, options?: Options) {
    return this.#api
      .GET("/api/v0/summaries/{summary_id}", {
        params: { path: { summary_id: summaryId } },
        ...this.#as(ALWAYS, options),
      })
      .then(answer);
  }

  /** Return the entities whose names begin with `name`, ordered by name, 1–200 a page. */
  entities(more: Query<"list_entities"> = {}, options?: Options) {
    return new Listing(
      (at) =>
        this.#api
          .GET("/api/v0/entities", {
            params: { query: { ...more, ...at } },
            ...this.#as(ALWAYS, options),
          })
          .then(answer),
      (page) => page.entities,
    );
  }

  /** Declare one name an alias of another, with priority over the rules. */
  addAlias(alias: string, canonical: string, options?: Options) {
    return this.#api
      .POST("/api/v0/entities/aliases", {
        body: { alias, canonical },
        ...this.#as(ALWAYS, options),
      })
      .then(answer);
  }

  /** Declare that a name is no alias, also for all rules; return the former alias. */
  undoAlias(alias: string, options?: Options) {
    return this.#api
      .POST("/api/v0/entities/aliases/undo", { body: { alias }, ...this.#as(NEVER, options) })
      .then(answer);
  }

  /** Find the aliases of new names, as the background work does. */
  findAliases(options?: Options) {
    return this.#api.POST("/api/v0/entities/aliases/run", this.#as(NEVER, options)).then(answer);
  }

  /** Return the patterns and their parameters. */
  patterns(options?: Options) {
    return this.#api.GET("/api/v0/patterns", this.#as(ALWAYS, options)).then(answer);
  }

  /** Return the rows of a pattern, at most 1,000; omitted parameters have defaults. */
  pattern(name: string, parameters: Body<"run_pattern">["parameters"] = {}, options?: Options) {
    return this.#api
      .POST("/api/v0/patterns/{name}", {
        params: { path: { name } },
        body: { parameters },
        ...this.#as(ALWAYS, options),
      })
      .then(answer);
  }

  /** Return a node and the nodes within 1–3 edges of it, nearest first, at most 1–500 nodes. */
  neighbourhood(nodeId: string, more: Query<"show_neighbourhood"> = {}, options?: Options) {
    return this.#api
      .GET("/api/v0/graph/{node_id}", {
        params: { path: { node_id: nodeId }, query: more },
        ...this.#as(ALWAYS, options),
      })
      .then(answer);
  }

  /** Return the labels, properties, edges and indexes of this client's graph, with counts. */
  graphSchema(options?: Options) {
    return this.#api.GET("/api/v0/graph/schema", this.#as(ALWAYS, options)).then(answer);
  }

  /** Return the rows of a read-only statement, at most 50,000 rows in at most 60,000 ms. */
  cypher(
    query: string,
    parameters: Body<"ask_cypher">["parameters"] = {},
    more: Omit<Body<"ask_cypher">, "query" | "parameters"> = {},
    options?: Options,
  ) {
    return this.#api
      .POST("/api/v0/cypher", {
        body: { query, parameters, ...more },
        ...this.#as(ALWAYS, options),
      })
      .then(answer);
  }

  /** Return the statements that were sent, of all clients or of one, newest first. */
  cypherAudit(more: Query<"list_cypher_audit"> = {}, options?: Options) {
    return new Listing(
      (at) =>
        this.#api
          .GET("/api/v0/cypher/audit", {
            params: { query: { ...more, ...at } },
            ...this.#as(ALWAYS, options),
          })
          .then(answer),
      (page) => page.entries,
    );
  }

  /** Return this client's background jobs, newest first, 1–200 a page. */
  jobs(more: Query<"list_jobs"> = {}, options?: Options) {
    return new Listing(
      (at) =>
        this.#api
          .GET("/api/v0/jobs", {
            params: { query: { ...more, ...at } },
            ...this.#as(ALWAYS, options),
          })
          .then(answer),
      (page) => page.jobs,
    );
  }

  /** Return the limits of this client, and what it has: null until its first write under limits. */
  usage(options?: Options) {
    return this.#api.GET("/api/v0/usage", this.#as(ALWAYS, options)).then(answer);
  }

  /** Return the clients of the store in the order of their ids, 1–100 a page, each with its counts. */
  clients(more: Query<"list_all_clients"> = {}, options?: Options) {
    return new Listing(
      (at) =>
        this.#api
          .GET("/api/v0/clients", {
            params: { query: { ...more, ...at } },
            ...this.#as(ALWAYS, options),
          })
          .then(answer),
      (page) => page.clients,
    );
  }

  /** Return everything of this client as the lines of a file, as they arrive. */
  async *export(more: Query<"export_client"> = {}, options?: Options): AsyncGenerator<Uint8Array, void, undefined> {
    const fetch = streaming(sendingOf(this.#settings, this.#latest));
    const found = await this.#api.GET("/api/v0/export", {
      params: { query: more },
      parseAs: "stream",
      ...options,
      fetch,
    });
    const reader = answerOf<ReadableStream<Uint8Array>>(found).getReader();
    const read = () =>
      reader.read().catch((cause: unknown) => {
        throw unreachable(this.#settings.url ?? LOCAL_SERVICE, options?.signal, cause);
      });
    try {
      for (let part = await read(); !part.done; part = await read()) yield part.value;
    } finally {
      // A stream that has failed cannot be ended any more.
      await reader.cancel().catch(() => undefined);
    }
  }

  #as(safe: boolean, options: Options = {}) {
    return { ...options, fetch: fetching(sendingOf(this.#settings, this.#latest), safe) };
  }

  /** An operator's key may name any client in the path; the header would say that the key is of that client. */
  get #unnamed() {
    return this.#settings.key === undefined ? {} : { headers: { "X-Client-Id": null } };
  }

  #client(): string {
    const { clientId, key } = this.#settings;
    if (clientId === undefined && key !== undefined) {
      const sentence = "client_id: is needed here: name the client, new Client({ clientId: … })";
      throw new InvalidInput(sentence, { code: "invalid_input", field: "client_id" });
    }
    return clientId ?? DEFAULT_CLIENT;
  }
}

/** The runs of one client. */
export class Runs {
  readonly #api: Api;
  readonly #as: (safe: boolean, options?: Options) => Options & { fetch: Fetch };

  constructor(api: Api, as: (safe: boolean, options?: Options) => Options & { fetch: Fetch }) {
    this.#api = api;
    this.#as = as;
  }

  /** Start a run, work with it, and end it: with the outcome `success`, or that of the error which the work throws. */
  async within<Result>(
    about: Body<"start_run">,
    work: (run: Schemas["Run"]) => Promise<Result>,
    options?: Options,
  ): Promise<Result> {
    const run = await this.start(about, options);
    let result: Result;
    try {
      result = await work(run);
    } catch (error) {
      // The run may have ended already; what the work threw says more.
      await this.end(run.id, { outcome: outcomeOf(error) }, options).catch(() => undefined);
      throw error;
    }
    await this.end(run.id, { outcome: "success" }, options);
    return result;
  }

  /** Start a run. */
  start(more: Body<"start_run">, options?: Options) {
    return this.#api
      .POST("/api/v0/rlm/sessions", { body: more, ...this.#as(more?.operation_id != null, options) })
      .then(answer);
  }

  /** Return the present state of a run. */
  show(runId: string, options?: Options) {
    return this.#api
      .GET("/api/v0/rlm/sessions/{session_id}", {
        params: { path: { session_id: runId } },
        ...this.#as(ALWAYS, options),
      })
      .then(answer);
  }

  /** Return the client's runs, most recently started first, 1–200 a page. */
  listRuns(more: Query<"list_runs"> = {}, options?: Options) {
    return new Listing(
      (at) =>
        this.#api
          .GET("/api/v0/rlm/sessions", {
            params: { query: { ...more, ...at } },
            ...this.#as(ALWAYS, options),
          })
          .then(answer),
      (page) => page.runs,
    );
  }

  /** Return the best spans for a question, charged to the run. */
  retrieve(runId: string, more: Body<"retrieve_in_run">, options?: Options) {
    return this.#api
      .POST("/api/v0/rlm/sessions/{session_id}/retrieve", {
        params: { path: { session_id: runId } },
        body: more,
        ...this.#as(more?.operation_id != null, options),
      })
      .then(answer);
  }

  /** Return a span, free of charge. */
  peek(runId: string, more: Body<"peek_in_run">, options?: Options) {
    return this.#api
      .POST("/api/v0/rlm/sessions/{session_id}/peek", {
        params: { path: { session_id: runId } },
        body: more,
        ...this.#as(more?.operation_id != null, options),
      })
      .then(answer);
  }

  /** Write a text that every agent of the client finds at once. */
  write(runId: string, more: Body<"write_in_run">, options?: Options) {
    return this.#api
      .POST("/api/v0/rlm/sessions/{session_id}/write", {
        params: { path: { session_id: runId } },
        body: more,
        ...this.#as(more?.operation_id != null, options),
      })
      .then(answer);
  }

  /** Start a child with a part of the remaining budget. */
  subcall(runId: string, more: Body<"subcall_in_run">, options?: Options) {
    return this.#api
      .POST("/api/v0/rlm/sessions/{session_id}/subcall", {
        params: { path: { session_id: runId } },
        body: more,
        ...this.#as(more?.operation_id != null, options),
      })
      .then(answer);
  }

  /** End a run and all below it, and return its totals; a repetition changes nothing. */
  end(runId: string, more: Body<"end_run">, options?: Options) {
    return this.#api
      .POST("/api/v0/rlm/sessions/{session_id}/end", {
        params: { path: { session_id: runId } },
        body: more,
        ...this.#as(ALWAYS, options),
      })
      .then(answer);
  }

  /** Return a run with all runs below it, and the usage of each. */
  tree(runId: string, options?: Options) {
    return this.#api
      .GET("/api/v0/rlm/sessions/{session_id}/tree", {
        params: { path: { session_id: runId } },
        ...this.#as(ALWAYS, options),
      })
      .then(answer);
  }

  /** Return the recorded operations of a run, newest first. */
  accesses(runId: string, more: Query<"list_accesses"> = {}, options?: Options) {
    return new Listing(
      (at) =>
        this.#api
          .GET("/api/v0/rlm/sessions/{session_id}/accesses", {
            params: { path: { session_id: runId }, query: { ...more, ...at } },
            ...this.#as(ALWAYS, options),
          })
          .then(answer),
      (page) => page.accesses,
    );
  }
}

type Api = ReturnType<typeof createClient<paths>>;

function sendingOf(settings: Settings, latest: Latest): Sending {
  return {
    // Looked up when it is called, so that one that is replaced later counts.
    fetch: settings.fetch ?? ((request) => globalThis.fetch(request)),
    retries: settings.retries ?? RETRIES,
    timeout: settings.timeout ?? TIMEOUT,
    sleep: settings.sleep ?? sleep,
    latest,
  };
}

function apiOf(settings: Settings): Api {
  const { key, clientId } = settings;
  return createClient<paths>({
    baseUrl: settings.url ?? LOCAL_SERVICE,
    headers: {
      ...(key === undefined ? {} : { Authorization: `Bearer ${sendable("key", key)}` }),
      ...(clientId === undefined ? {} : { "X-Client-Id": sendable("clientId", clientId) }),
    },
    querySerializer: queryOf,
    pathSerializer: pathOf,
  });
}

/** Return the value of a header; `fetch` would throw a bare `TypeError` for other characters. */
function sendable(name: "key" | "clientId", value: string): string {
  const remedy = "has a character that cannot be sent; give one of ASCII letters, digits and signs";
  check(name, /^[\x20-\x7e]*$/.test(value), remedy);
  return value;
}

/** Return whether `fetch` takes an address; for others it would throw a bare `TypeError`. */
function isAddress(url: string): boolean {
  try {
    return /^https?:/.test(new Request(url).url);
  } catch {
    return false;
  }
}

/** Refuse a setting that cannot be used. */
function check(name: keyof Settings, isUsable: boolean, remedy: string): void {
  if (!isUsable) throw new InvalidInput(`${name}: ${remedy}`, { code: "invalid_input", field: name });
}

/** Return the outcome of a run whose work threw an error. */
function outcomeOf(error: unknown): "failure" | "timeout" | "budget_exhausted" {
  const code = error instanceof GraphmemError ? error.code : "";
  if (code === "run_timeout") return "timeout";
  return code === "budget_exhausted" ? "budget_exhausted" : "failure";
}

/** Return a query string; the items of a list are separated by commas. */
function queryOf(query: Record<string, unknown>): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null);
  const pairs = given.map(([name, value]) => {
    if (Array.isArray(value) && value.some((item) => String(item).includes(","))) {
      const sentence = `${name}: has an item with a comma, which separates the items of a list`;
      throw new InvalidInput(sentence, { code: "invalid_input", field: name });
    }
    return [name, String(value)];
  });
  return new URLSearchParams(pairs).toString();
}

/** Return a path with its arguments; a segment of dots would be taken for a relative path. */
function pathOf(path: string, given: Record<string, unknown>): string {
  return path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = String(given[name] ?? "");
    if (/^\.{0,2}$/.test(value)) {
      const sentence = `${name}: is empty or consists of dots; give an id`;
      throw new InvalidInput(sentence, { code: "invalid_input", field: name });
    }
    return encodeURIComponent(value);
  });
}

/** Return the data of an answer; a failure has been thrown before. */
function answer<Found extends { data?: unknown }>(found: Found): Exclude<Found["data"], undefined> {
  return found.data as Exclude<Found["data"], undefined>;
}

/** Return the text of an answer, which may be empty. */
function text(found: { data?: string }): string {
  return found.data ?? "";
}

/** Return the data of an answer as the one of several types that the request asked for. */
function answerOf<Data>(found: { data?: unknown }): Data {
  return found.data as Data;
}
