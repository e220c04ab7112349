"""The tools with which an agent remembers, recalls, corrects and forgets."""

import hashlib
import uuid
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import asdict

from graphmem.client import Graphmem
from graphmem.contextual.types import ContextualQuery, ContextualResult
from graphmem.conversations.types import Remembered
from graphmem.errors import InvalidInput
from graphmem.facts.types import (
    DEFAULT_CATEGORY,
    DEFAULT_SCOPE,
    FactVersion,
    KeptFact,
    ShortWord,
)
from graphmem.forgetting.types import Receipt
from graphmem.hypotheses.types import Turn
from graphmem.memories.lists import Memories
from graphmem.model.annotations import WantedTags
from graphmem.model.pages import MOST_ENTRIES, Order
from graphmem.model.times import AS_OF, INCLUDE_SUPERSEDED, KNOWN_AS_OF, Time
from graphmem.model.validation import counted
from graphmem.model.vocabulary import (
    BATCH_MESSAGES,
    QUERY_CHARACTERS,
    ClientId,
    GivenRole,
    Id,
    Importance,
    OtherReads,
    WantedKinds,
)
from graphmem.patterns.types import Pattern, PatternAnswer, Patterns
from graphmem.prompts.truncation import truncated
from graphmem.recall.types import Recalled
from graphmem_api.mcp.answers import (
    NOTHING,
    Most,
    Tool,
    ToolAnswer,
    clipped,
    compact,
    fitting,
    listed,
    within,
)

NO_MEMORY = "no memory"

END_TOKENS = 150
"""The tokens of the first and the last line of a list of memories, at most."""

MORE_ROOM = "A larger max_tokens shows more."

CONVERSATION = "mcp"
"""The conversation of messages that an agent remembers without naming one."""

FALLBACK = "No session was relevant enough: this is what a search over everything has found."

SIMILAR = (
    "Similar facts. If one of them is no longer true, call supersede_fact with its id and the new statement, "
    "and forget the one just remembered:"
)

NOTICE_TOKENS = 40
"""The room for a sentence beside what was found."""

IDS_SHOWN = 3
"""Ids of memories in a row of a pattern; the others are counted."""

MemoryId = Annotated[str, Meta(min_length=1, max_length=128)]
Query = Annotated[
    str, Meta(min_length=1, max_length=QUERY_CHARACTERS, description="the question, in plain words")
]
AsOf = Annotated[Time, Meta(description=AS_OF)]
KnownAsOf = Annotated[Time, Meta(description=KNOWN_AS_OF)]
Where = Annotated[str, Meta(max_length=128, description="only this conversation")]
Since = Annotated[Time, Meta(description="only memories of this time or later")]
Until = Annotated[Time, Meta(description="only memories before this time, which is after since")]


class SaidMessage(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A message as an agent tells it; over HTTP and in Python it may have more forms."""

    role: Annotated[GivenRole, Meta(description="user, assistant, tool or system")] = "user"
    content: Annotated[str, Meta(min_length=1, description="word for word")]
    name: Annotated[str, Meta(min_length=1, max_length=256, description="who said it")] | None = (
        None
    )
    occurred_at: Annotated[Time, Meta(description="when; default: now")] | None = None
    session_id: (
        Annotated[str, Meta(min_length=1, max_length=256, description="default: one for each day")]
        | None
    ) = None
    external_id: (
        Annotated[str, Meta(min_length=1, max_length=256, description="your id: once is enough")]
        | None
    ) = None


class RememberAsked(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Messages to remember, in their order."""

    messages: Annotated[
        list[SaidMessage],
        Meta(min_length=1, max_length=BATCH_MESSAGES, description="what was said, in its order"),
    ]
    conversation_id: Annotated[
        Id,
        Meta(
            description="1–128 letters, digits, `.`, `_`, `:` and `-`; the same one for what belongs "
            "together, opened if there is none"
        ),
    ] = CONVERSATION


class RecallAsked(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A question for the best context within a budget."""

    query: Query
    max_tokens: Most = 1_500
    kinds: Annotated[WantedKinds, Meta(description="only these kinds")] | None = None
    conversation_id: Where | None = None
    since: Since | None = None
    until: Until | None = None
    as_of: AsOf | None = None
    known_as_of: KnownAsOf | None = None
    abstain: Annotated[
        bool, Meta(description="whether to answer with nothing rather than with what hardly fits")
    ] = True
    ids: Annotated[
        bool, Meta(description="whether to list ids, which supersede_fact and forget need")
    ] = False
    reads: OtherReads | None = None


class SearchContextualAsked(ContextualQuery, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An agent's question to its earlier sessions, and the length of the answer."""

    max_tokens: Most = 4_096


class RememberFactAsked(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One statement to remember."""

    fact: Annotated[
        str,
        Meta(min_length=1, description="one statement that is understood alone, with its names"),
    ]
    category: Annotated[
        str,
        Meta(
            max_length=64,
            description="identity, preference, interest, personality, relationship, experience, goal, "
            "guideline, coding_preference, project_convention, architectural_decision, user_fact, "
            "correction or pattern, unless the client has its own",
        ),
    ] = DEFAULT_CATEGORY
    scope: Annotated[ShortWord, Meta(description="its subject: user, repo or a short word")] = (
        DEFAULT_SCOPE
    )
    conversation_id: Id | None = None
    keywords: Annotated[list[str], Meta(max_length=64)] = []
    valid_at: Annotated[Time, Meta(description="since when it is true; default: now")] | None = None
    importance: Importance = 0.5


class SupersedeFactAsked(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The next version of a fact."""

    fact_id: Annotated[MemoryId, Meta(description="the id of the fact that is not true any more")]
    fact: Annotated[str, Meta(min_length=1, description="the statement that is true now")]
    valid_at: Annotated[Time, Meta(description="since when it is true; default: now")] | None = None
    reason: Annotated[str, Meta(min_length=1, description="why it changed")] | None = None


class WhatDoYouKnowAsked(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The filters, the order and the page of a list of memories."""

    kinds: Annotated[WantedKinds, Meta(description="default: facts")] | None = None
    category: (
        Annotated[str, Meta(max_length=256, description="only facts of this category")] | None
    ) = None
    scope: Annotated[str, Meta(max_length=256, description="only facts of this scope")] | None = (
        None
    )
    conversation_id: Where | None = None
    session_id: (
        Annotated[
            str,
            Meta(
                max_length=256,
                description="only this session; beside a conversation_id by its name",
            ),
        ]
        | None
    ) = None
    since: Since | None = None
    until: Until | None = None
    as_of: AsOf | None = None
    known_as_of: KnownAsOf | None = None
    include_superseded: Annotated[bool, Meta(description=INCLUDE_SUPERSEDED)] = False
    order: Order = "newest"
    limit: Annotated[int, Meta(ge=1, le=MOST_ENTRIES)] = 20
    cursor: (
        Annotated[str, Meta(description="the cursor of the last answer, for the next page")] | None
    ) = None
    client_id: (
        Annotated[
            ClientId, Meta(description="another client that you may read, as recall names it")
        ]
        | None
    ) = None
    max_tokens: Most = 2_000


class ForgetTarget(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to forget: what meets all of the given conditions, at least one; first without `confirm`."""

    memory_id: Annotated[MemoryId, Meta(description="this memory")] | None = None
    conversation_id: (
        Annotated[
            MemoryId, Meta(description="those of a conversation; alone, the conversation as well")
        ]
        | None
    ) = None
    name: (
        Annotated[
            str,
            Meta(
                min_length=1,
                max_length=256,
                description="those that this person said, and that mention this person or thing, or "
                "hold these words",
            ),
        ]
        | None
    ) = None
    tags: WantedTags | None = None
    since: Since | None = None
    until: Until | None = None
    confirm: Annotated[
        str, Meta(description="the code that the dry run gave: only with it anything is deleted")
    ] = ""


class Forgetting(Struct, frozen=True, kw_only=True):
    """What would be forgotten, with the code that confirms it, or what was."""

    what: str
    receipt: Receipt
    confirm: str | None = None


class PatternsAsked(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A pattern to look for; without a name, the catalogue of patterns."""

    name: Annotated[str, Meta(max_length=128)] | None = None
    parameters: Annotated[dict[str, Any], Meta(max_length=32)] = {}
    max_tokens: Most = 2_000


class PatternsFound(Struct, frozen=True, kw_only=True):
    """The catalogue, or the rows of one pattern."""

    patterns: list[Pattern] = []
    found: PatternAnswer | None = None


class HydeAsked(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The end of a conversation, for which facts are sought."""

    window: Annotated[
        list[str],
        Meta(
            min_length=1,
            max_length=100,
            description="its last messages as text, each begun with its role: `user: …`",
        ),
    ]
    turn_id: Annotated[
        str,
        Meta(max_length=256, description="a name of the turn: the same one reuses its findings"),
    ] = ""
    conversation_id: Annotated[str, Meta(min_length=1, max_length=128)] | None = None
    scopes: Annotated[list[ShortWord], Meta(min_length=1, max_length=16)] | None = None
    hypotheses: Annotated[int, Meta(ge=1, le=10)] = 5
    top_k: Annotated[int, Meta(ge=1, le=50)] = 10
    hop_depth: Annotated[int, Meta(ge=0, le=3)] = 1
    as_of: AsOf | None = None
    known_as_of: KnownAsOf | None = None
    max_tokens: Most = 1_500


async def remember(asked: RememberAsked, memory: Graphmem) -> ToolAnswer:
    """Remember messages; their conversation is opened if there is none."""
    messages = [asdict(message) for message in asked.messages]
    kept = await memory.remember(asked.conversation_id, messages, create=True)
    ids = ", ".join(kept.ids[:10]) + (", …" if len(kept.ids) > 10 else "")
    said = (
        f"Remembered {counted(len(kept.ids), 'message')} in conversation {asked.conversation_id}."
    )
    return ToolAnswer(f"{said} Ids: {ids}", kept)


async def recall(asked: RecallAsked, memory: Graphmem) -> ToolAnswer:
    """Return the context for a question, and the ids of its memories if they are wanted."""
    fields = asdict(asked)
    wants_ids = fields.pop("ids")
    most = fields.pop("max_tokens")
    # The last quarter is for the ids.
    found = await memory.recall(**fields, max_tokens=most * 3 // 4 if wants_ids else most)
    if not found.items:
        return ToolAnswer(_nothing(found), found)
    if not wants_ids:
        return ToolAnswer(found.context, found)
    ids = [
        f"- {one.kind} {one.id}{_whose(one.client_id)}: {clipped(one.text, 60)}"
        for one in found.items
    ]
    tokens = memory.runtime.tokens
    room = most - tokens.count(found.context) - tokens.count("\n\nIds:\n") - 1
    listed_ids = within(ids, room, tokens)
    return ToolAnswer("\n".join([found.context, "", "Ids:", listed_ids]), found)


def _whose(client_id: str | None) -> str:
    """Return the client of a memory as a list names it: another one can neither be changed nor forgotten."""
    return f" ({client_id})" if client_id else ""


def _nothing(found: Recalled) -> str:
    if found.abstained:
        return f"{NOTHING} With abstain=false the answer has the nearest memories."
    return NOTHING


async def search_contextual(asked: SearchContextualAsked, memory: Graphmem) -> ToolAnswer:
    """Return the sessions that answer a question, with what was said around."""
    fields = asdict(asked)
    fields["max_tokens"] -= NOTICE_TOKENS
    found = await memory.search_contextual(**fields)
    said = [found.prompt or NOTHING]
    if found.fallback and found.items:
        said.insert(0, FALLBACK)
    return ToolAnswer("\n\n".join(said), found)


async def remember_fact(asked: RememberFactAsked, memory: Graphmem) -> ToolAnswer:
    """Remember a fact; facts that state nearly the same are named, since one may be out of date."""
    kept = await memory.remember_fact(**asdict(asked))
    if kept.action == "reinforced":
        return ToolAnswer(f"This was known already, as fact {kept.id}.", kept)
    lines = [f"Remembered as fact {kept.id}."]
    if kept.similar:
        lines.append(SIMILAR)
    lines += [listed(await memory.memory(one.id)) for one in kept.similar]
    return ToolAnswer("\n".join(lines), kept)


async def supersede_fact(asked: SupersedeFactAsked, memory: Graphmem) -> ToolAnswer:
    """Write the next version of a fact."""
    made = await memory.supersede_fact(
        asked.fact_id, asked.fact, valid_at=asked.valid_at, reason=asked.reason
    )
    since = f"{made.valid_at:%Y-%m-%d}"
    return ToolAnswer(
        f"Fact {made.id} (version {made.version}) holds since {since}; the earlier version "
        f"{made.supersedes} is kept as history.",
        made,
    )


OF_ANY_KIND = {"kinds": None, "limit": 1}


async def what_do_you_know(asked: WhatDoYouKnowAsked, memory: Graphmem) -> ToolAnswer:
    """Return a page of memories, as many as fit, and the cursor of the others."""
    fields = asdict(asked)
    most = fields.pop("max_tokens")
    fields["kinds"] = asked.kinds or ["fact"]
    page = await memory.memories(**fields)
    tokens = memory.runtime.tokens
    lines = [listed(one) for one in page.memories]
    # Both ends of the text need room: the number of all, and a cursor.
    fit = max(1, fitting(lines, most - END_TOKENS, tokens))
    if fit < len(lines):
        page = await memory.memories(**fields | {"limit": fit})
    if not page.memories:
        # A cursor is that of a list of facts.
        is_given = asked.kinds or asked.cursor
        unlisted = 0 if is_given else (await memory.memories(**fields | OF_ANY_KIND)).total
        more = f" Only facts were listed; of the other kinds there are {unlisted}: ask recall, or send kinds."
        return ToolAnswer(NOTHING + more * (unlisted > 0), page)
    head = f"{counted(page.total, 'memory')} in all; these are {len(page.memories)}:"
    first, *others = map(listed, page.memories)
    tail = [f"More with cursor={page.cursor}"] if page.cursor else []
    text = "\n".join([head, first, *others, *tail])
    if tokens.exceeds(text, most):
        # One memory and the cursor are too long together.
        ending = f"\n{MORE_ROOM}"
        room = most - tokens.count(ending)
        text = truncated(first, room, "end", tokens, header=f"{head}\n").content + ending
    return ToolAnswer(text, page)


async def forget(asked: ForgetTarget, memory: Graphmem) -> ToolAnswer:
    """Say what would be forgotten; forget it only with the code of that answer."""
    fields = asdict(asked)
    confirm, memory_id = fields.pop("confirm"), fields.pop("memory_id")
    fields["memory_ids"] = None if memory_id is None else [memory_id]
    if not any(fields.values()):
        raise InvalidInput(
            "arguments",
            "name nothing to forget; send memory_id, conversation_id, name, tags, since or until",
        )
    await _check_found(asked, memory)
    receipt = await memory.forget(**fields, dry_run=True)
    what = _counts(receipt)
    if what == NO_MEMORY and asked.conversation_id is None:
        return ToolAnswer("Nothing meets these conditions.", Forgetting(what=what, receipt=receipt))
    given = msgspec.json.encode([memory.client_id, fields, receipt.digest], order="sorted")
    code = hashlib.sha256(given).hexdigest()[:12]
    if confirm == code:
        receipt = await memory.forget(**fields)
        what = _counts(receipt)
        return ToolAnswer(f"Forgotten: {what}.", Forgetting(what=what, receipt=receipt))
    stale = "The code is not that of what would go now. " if confirm else ""
    text = (
        f"{stale}Nothing was deleted. This would be, for ever: {what}. Ask the user; then call forget "
        f'again with the same arguments and confirm="{code}".'
    )
    return ToolAnswer(text, Forgetting(what=what, receipt=receipt, confirm=code))


async def _check_found(asked: ForgetTarget, memory: Graphmem) -> None:
    """Raise `MemoryNotFound` or `ConversationNotFound` for an unknown id."""
    if asked.memory_id is not None:
        await memory.memory(asked.memory_id)
    if asked.conversation_id is not None:
        await memory.sessions(asked.conversation_id, limit=1)


def _counts(receipt: Receipt) -> str:
    """Return the numbers of a receipt in words: the memories, and the records that hold a text."""
    found = [counted(number, kind.replace("_", " ")) for kind, number in receipt.memories.items()]
    memories = f"{counted(receipt.total, 'memory')} ({', '.join(found)})" if found else NO_MEMORY
    records = {
        "conversation title": receipt.titles,
        "recorded read": receipt.reads,
        "review": receipt.reviews,
        "system prompt": receipt.contexts,
        "statement": receipt.statements,
    }
    return ", ".join(
        [memories, *(counted(number, one) for one, number in records.items() if number)]
    )


async def patterns(asked: PatternsAsked, memory: Graphmem) -> ToolAnswer:
    """Return the rows of a pattern, or the catalogue."""
    tokens = memory.runtime.tokens
    if asked.name is None:
        if asked.parameters:
            raise InvalidInput(
                "name",
                "is missing: the parameters are those of a pattern; without both, all patterns are listed",
            )
        catalogue = memory.patterns()
        text = within(_catalogue(catalogue), asked.max_tokens, tokens)
        return ToolAnswer(text, PatternsFound(patterns=catalogue.patterns))
    found = await memory.pattern(asked.name, asked.parameters)
    if not found.rows:
        return ToolAnswer(NOTHING, PatternsFound(found=found))
    lines = [compact(_row(row)) for row in found.rows]
    if found.truncated:
        # Where it does not fit it stands for one more row at least.
        lines.append("(more rows: raise `limit`, or ask for less)")
        text = within(lines, asked.max_tokens, tokens, "(at least {} more: raise max_tokens)")
    else:
        text = within(lines, asked.max_tokens, tokens)
    return ToolAnswer(text, PatternsFound(found=found))


def _catalogue(catalogue: Patterns) -> list[str]:
    lines = []
    for one in catalogue.patterns:
        given = ", ".join(
            f"{parameter.name}{'' if parameter.required else '?'}: {parameter.type}"
            for parameter in one.parameters
        )
        lines.append(f"- {one.name}({given}): {clipped(one.description, 200)}")
    return lines


def _row(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row without most of its ids, which fill a text and tell little."""
    ids = row.get("memory_ids") or []
    if len(ids) <= IDS_SHOWN:
        return row
    return row | {"memory_ids": [*ids[:IDS_SHOWN], f"and {len(ids) - IDS_SHOWN} more"]}


async def hyde_retrieve(asked: HydeAsked, memory: Graphmem) -> ToolAnswer:
    """Return the facts that the next turn of a conversation should know."""
    fields = asdict(asked)
    most = fields.pop("max_tokens")
    fields["turn_id"] = fields["turn_id"] or uuid.uuid4().hex
    # Without a language model its guesses are missing, but not what the last message finds.
    room = most - NOTICE_TOKENS
    turn = await memory.hyde_retrieve(**fields, injection_tokens=room, on_failure="window")
    said = [turn.injection or NOTHING]
    if turn.degraded:
        said.append(f"(Incomplete: {', '.join(turn.degraded)})")
    return ToolAnswer("\n".join(said), turn)


TOOLS: tuple[Tool, ...] = (
    Tool(
        name="recall",
        operation="recall",
        title="Recall",
        description="""\
Find what is remembered about a question: one text with the memories of every kind (facts, messages, \
episodes, summaries, references) that answer it best, as many as fit into max_tokens.

The first tool to try. Use it for a question whose answer may have been said, decided, learnt or preferred \
before ("where is the staging server?", "who approves my leave?", "what do I usually order?", "remind me \
of …"), and before asking the user for what they may have told already. Ask in plain words, names and \
identifiers included; one question a call. Use search_contextual instead when it matters how a session \
went or what was said around something, what_do_you_know to list everything of a category, patterns for \
trends over many sessions. Do not use it for general knowledge or for what stands in this conversation.

`as_of` asks what was true on a day, `known_as_of` what was known then. Nothing found means that it was \
not remembered, not that it never happened.""",
        asked=RecallAsked,
        answer=Recalled,
        run=recall,
        repeatable=True,
    ),
    Tool(
        name="search_contextual",
        operation="search_contextual",
        title="Search earlier sessions",
        description="""\
Find what was said in earlier sessions: first the sessions that have to do with a question, then the \
messages in them that answer it, with what was said just before and after, and the sessions related to \
these.

Use it when the user refers to an earlier session ("as we decided", "continue with the report", "what \
happened in our meeting in May?", "what did you answer me then?"), when a task begun earlier goes on, or \
to learn the reason or the course of something. For a preference or a single fact, recall is shorter.

Every message has its time (`occurred_at`, UTC): say when something was. `as_of` asks what was true on a \
day, `known_as_of` what was known then. If no session was relevant enough, the text says so and holds \
what a search over everything found: trust it less.""",
        asked=SearchContextualAsked,
        answer=ContextualResult,
        run=search_contextual,
        repeatable=True,
    ),
    Tool(
        name="remember",
        operation="remember",
        title="Remember messages",
        description="""\
Store messages word for word, so that later sessions find them: what the user and you said, what a tool \
answered, a decision with its reasons.

Use it at the end of a piece of work, or when the user wants a conversation or a text kept as it is ("save \
this chat", "keep this log", "write down what he said"). For one statement that stays true (a preference, \
a rule, a decision) use remember_fact: it can be corrected later. Do not store secrets, or what the user \
asked you not to keep.""",
        asked=RememberAsked,
        answer=Remembered,
        run=remember,
        writes=True,
    ),
    Tool(
        name="remember_fact",
        operation="remember_facts",
        title="Remember a fact",
        description="""\
Store one statement that holds from now on: a preference, a rule, a decision, something about the user \
or the project ("Mara prefers tabs", "the API deploys on Tuesdays").

Use it when the user states such a thing, also without asking you to keep it ("I am allergic to nuts", "my \
manager is Ines"), or says "from now on", "always", "never", "note that". One statement a call, \
understandable alone: names instead of "he" and "it". A statement that is known already is only \
reinforced. If an existing fact is no longer true use supersede_fact; the answer names similar facts.""",
        asked=RememberFactAsked,
        answer=KeptFact,
        run=remember_fact,
        writes=True,
        repeatable=True,
    ),
    Tool(
        name="supersede_fact",
        operation="supersede_fact",
        title="Correct a fact",
        description="""\
Replace a remembered fact that is no longer true, or was wrong, by its next version: "Mara moved to \
Lyon" after "Mara lives in Ghent". The earlier version is kept as history and can still be asked for \
with `as_of`.

Use it when the user says that something has changed ("I no longer …", "it is Friday now, not Monday"), or \
that what you know is wrong. It needs the id of the old fact: take it from recall with ids=true, from \
what_do_you_know, or from the answer of remember_fact. Not for deleting: that is forget.""",
        asked=SupersedeFactAsked,
        answer=FactVersion,
        run=supersede_fact,
        writes=True,
    ),
    Tool(
        name="what_do_you_know",
        operation="list_memories",
        title="List what is known",
        description="""\
List what is stored, newest first, with ids: by default the facts that no later one replaces, each with the \
day from which it holds; with `kinds` messages, \
episodes, summaries, references, spans too; filtered by category, scope, conversation, session and time.

Use it for "what do you know about me?", "list my preferences", "what did you store today?", and to find \
the id of something to correct or forget. It does not search by meaning: for a question use recall.""",
        asked=WhatDoYouKnowAsked,
        answer=Memories,
        run=what_do_you_know,
        repeatable=True,
    ),
    Tool(
        name="forget",
        operation="forget",
        title="Forget",
        description="""\
Delete for ever: a memory, a conversation, or whatever mentions a name, has tags or is of a time, with all \
versions and everything that was made of it. The first call deletes nothing: it says what would go, and \
gives a code; show that to the user, and call again with the code in `confirm` once they agree.

Use it only when the user wants something deleted ("forget that I …", "remove it", "delete our chat about \
…", "forget everything about …"). For what has changed use supersede_fact. The ids come from \
what_do_you_know, or from recall with ids=true.""",
        asked=ForgetTarget,
        answer=Forgetting,
        run=forget,
        writes=True,
        deletes=True,
    ),
    Tool(
        name="patterns",
        operation="run_pattern",
        title="Patterns over sessions",
        description="""\
Look over all sessions at once: recurring themes, themes that rise or fade, gaps (what was asked and \
never answered), who is mentioned with whom, and more. Without `name` it lists the patterns and their \
parameters.

Use it for "what keeps coming up?", "what have we talked about most this month?", "what could you not \
answer?". For a question about one thing use recall.""",
        asked=PatternsAsked,
        answer=PatternsFound,
        run=patterns,
        repeatable=True,
    ),
    Tool(
        name="hyde_retrieve",
        operation="hyde_retrieve",
        title="Facts for the next turn",
        description="""\
Given the last messages of a conversation, find the facts that the next answer should know, without a \
question: the server guesses what may matter, and looks that up, within two seconds.

Use it once at the beginning of a turn when it is unclear what to ask, for a program that injects memory \
before every answer. When there is a question, use recall.""",
        asked=HydeAsked,
        answer=Turn,
        run=hyde_retrieve,
        repeatable=True,
    ),
)
