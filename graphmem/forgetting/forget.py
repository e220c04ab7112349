"""Forgetting on request: memories by a selection, or everything of a client; and the proof of it."""

import asyncio
import contextlib
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from datetime import datetime
from functools import partial
from hashlib import sha256
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict, replace

from graphmem.accesses import READS_AT_ONCE
from graphmem.clients import day_of, keep_tokens
from graphmem.context import Context
from graphmem.conversations.conversation import delete_conversation
from graphmem.conversations.types import Deleted
from graphmem.errors import ConversationNotFound, InvalidInput, LegalHold
from graphmem.forgetting.erase import ERASED_AT_ONCE, Erased, erase, lock_all
from graphmem.forgetting.expiry import delete_expired
from graphmem.forgetting.types import (
    ForgetAsked,
    FoundPlace,
    NewHold,
    Receipt,
    Verified,
    VerifyAsked,
)
from graphmem.graph.driver import Graph, Transaction
from graphmem.graph.query import Query, RowsWritten
from graphmem.memories.lists import own_session_id
from graphmem.memories.memory import delete_in_batches, erase_reads, refuse_on_hold
from graphmem.memories.write import WrittenMemory
from graphmem.model.times import period, present
from graphmem.model.validation import checked_text
from graphmem.model.vocabulary import KINDS, QUERY_CHARACTERS, VECTORS
from graphmem.retrieval.filters import passing
from graphmem.text.entities import normalized
from graphmem.text.named_times import drop_kept_questions
from graphmem.text.words import UNSPACED_LETTER, lower_forms

NODES_AT_ONCE = 1_000
"""The number of a client's nodes of each kind that one transaction deletes."""

PLACES_SHOWN = 100

RECORDING_SECONDS = 5.0

COUNTED: Mapping[str, str] = {
    "Passage": "passages",
    "Session": "sessions",
    "Conversation": "conversations",
    "Entity": "entities",
    "Access": "reads",
    "Review": "reviews",
    "Context": "contexts",
    "Run": "runs",
    "Job": "jobs",
    "Audit": "statements",
}
"""The labels of nodes, and the counts of a receipt to which they belong."""


class AllNames(Struct, frozen=True):
    """The normal forms of all names of an entity."""

    names: list[str]


class NamedRecords(Struct, frozen=True):
    """The numbers of deleted records that mention a name."""

    reads: int
    reviews: int
    contexts: int
    statements: int
    titles: int


class CountedConversation(Struct, frozen=True):
    """The numbers of what goes with a conversation beside its memories."""

    conversations: int
    sessions: int
    reads: int
    reviews: int


class CountedSession(Struct, frozen=True):
    """One session that would go, or none."""

    sessions: int


class Element(Struct, frozen=True):
    """The address of a node in this database."""

    element: str


class NodesGone(Struct, frozen=True):
    """The number of a client's nodes with a label; of memories with a kind, too."""

    label: str
    kind: str | None
    nodes: int


class _DryRun(Exception):
    """Raised in a transaction with what it has deleted, so that it is rolled back."""

    def __init__(self, erased: Erased, gone: Counter[str]) -> None:
        super().__init__()
        self.erased = erased
        self.gone = gone


SELECTED = Query("forgetting/selected", WrittenMemory)
SELECTED_OF_CLIENT = Query("forgetting/selected_of_client", WrittenMemory)
ALL_NAMES = Query("forgetting/all_names", AllNames)
ERASE_NAMED_RECORDS = Query("forgetting/erase_named_records", NamedRecords, writes=True)
ERASE_EMPTY_SESSION = Query("forgetting/erase_empty_session", RowsWritten, writes=True)
COUNTED_CONVERSATION = Query("forgetting/counted_conversation", CountedConversation)
COUNTED_SESSION = Query("forgetting/counted_session", CountedSession)
ERASE_NAMED_READS = Query("forgetting/erase_named_reads", RowsWritten, writes=True)
SOME_READS = Query("forgetting/some_reads", Element)
SOME_NODES = Query("forgetting/some_nodes", Element)
ERASE_NODES = Query("forgetting/erase_nodes", NodesGone, writes=True)
COUNTED_NODES = Query("forgetting/counted_nodes", NodesGone)
FOUND_PLACES = Query("forgetting/found_places", FoundPlace)
KEEP_HOLD = Query("forgetting/keep_hold", RowsWritten, writes=True)


async def forget(asked: ForgetAsked, context: Context) -> Receipt:
    """Delete the memories that meet all conditions, with everything made of them; return the receipt.

    Some hundreds in each transaction: a repeated call finishes what was interrupted. Raises `InvalidInput`,
    `LegalHold`, `Unavailable`.
    """
    await _record_questions(context)
    asked = replace(
        asked, session_id=await own_session_id(asked.session_id, asked.conversation_id, context)
    )
    selection = await _selection(asked, context)
    word = None if asked.name is None else selection.parameters["word"]
    memories, others, ids = await _erase_selected(
        selection, context, word=word, dry_run=asked.dry_run
    )
    if asked.dry_run:
        others.update(await _count_places(asked, ids, context))
        digest = sha256("\n".join(sorted(ids)).encode()).hexdigest()
        return _receipt(memories, others, context.now(), digest=digest)
    others.update(await _erase_places(asked, context))
    _forget_caches(context)
    return _receipt(memories, others, context.now())


async def forget_client(
    context: Context, *, dry_run: bool = False, keeps_tokens: bool = False
) -> Receipt:
    """Delete everything of the context's client; return the receipt.

    With `keeps_tokens` the number of tokens that it has written today stays until tomorrow, if it is
    counted: a client that deletes itself may not write more for that.

    What is written meanwhile may stay: withdraw the client's keys first. Raises `LegalHold`, `Unavailable`.
    """
    memories: Counter[str] = Counter()
    others: Counter[str] = Counter()
    client_id, graph = context.client_id, context.graph
    if dry_run:
        await graph.write(lambda transaction: refuse_on_hold(transaction, client_id))
        rows = await graph.rows(COUNTED_NODES, client_id=client_id, kinds=list(KINDS))
    else:
        await _record_questions(context)
        now = context.now()
        rows = await _erase_nodes(context, kept_day=day_of(now) if keeps_tokens else "")
        if keeps_tokens:
            await keep_tokens(client_id=client_id, now=now, graph=graph)
        _forget_caches(context)
    for row in rows:
        if row.kind is not None:
            memories[row.kind] += row.nodes
        elif row.label in COUNTED:
            others[COUNTED[row.label]] += row.nodes
    others["embeddings"] = memories.total() + others["passages"]
    return replace(_receipt(memories, others, context.now()), dry_run=dry_run)


async def verify_forgotten(asked: VerifyAsked, context: Context) -> Verified:
    """Search every property of every node and edge of the client for a text, in any case, or an id.

    It reads the whole store. Raises `InvalidInput`, `Unavailable`.
    """
    if (asked.text is None) == (asked.id is None):
        raise InvalidInput("text", "send exactly one of text and id")
    searched = Searched()
    if asked.text is not None:
        text = checked_text(asked.text, "text", most_bytes=40_000)
        searched = Searched.of(text, as_word=False)
    places = await context.graph.rows(
        FOUND_PLACES,
        client_id=context.client_id,
        written=searched.written,
        pattern=searched.pattern,
        ids=[] if asked.id is None else [asked.id],
        vectors=sorted(VECTORS),
        limit=PLACES_SHOWN,
    )
    return Verified(forgotten=not places, places=places)


async def begin_hold(client_id: str, new: NewHold, graph: Graph) -> None:
    """Forbid all deletion of a client's memories; what expires stays. Raises `Unavailable`."""
    await graph.change(KEEP_HOLD, client_id=client_id, reason=new.reason)


async def end_hold(client_id: str, graph: Graph) -> None:
    """Allow deletion again; memories that have expired meanwhile are deleted. Raises `Unavailable`."""
    await graph.change(KEEP_HOLD, client_id=client_id, reason=None)
    with contextlib.suppress(LegalHold):  # Of another hold that has just begun.
        await delete_expired(client_id, now=present(), graph=graph)


class Searched(Struct, frozen=True):
    """A text as stored values may hold it: in any case, with any white space, and inside JSON."""

    written: list[str] = []
    """The forms of its longest word, in lower case: a value without any of them need not be matched."""
    pattern: str = ""
    """A pattern for the values that hold it, as Java reads it; '' if the forms are those of all of it."""

    @classmethod
    def of(cls, text: str, *, as_word: bool) -> "Searched":
        """Return the search for a text, or for a name as whole words.

        What is written without spaces has no whole words: such a name is found wherever it stands. A long
        text is found with the white space that it is given with: to match each word of it takes too much.
        """
        if len(text) > MOST_MATCHED:
            return cls(_forms(text))
        words = text.split() or [text]
        forms = "|".join(map(_quoted, _forms(" ".join(words))))
        before = "" if _UNSPACED.match(words[0]) or not as_word else _BEFORE
        after = "" if _JOINED.match(words[-1][-1]) or not as_word else _AFTER
        return cls(_forms(max(words, key=len)), f"(?sui).*{before}(?:{forms}){after}.*")


_UNSPACED = re.compile(UNSPACED_LETTER)
_JOINED = re.compile(rf"{UNSPACED_LETTER}|[\uac00-\ud7a3]")
"""The letters that others follow within a word: in Korean the particles."""

_SPACE = r"\\[nrtf]|\\u(?:000b|001[c-f]|0085|00a0|1680|20(?:0[0-9a]|2[89f]|5f)|3000)"
"""Escaped white space."""

# Possessive: Java's other loops take a frame of its stack for each round.
_GAP = rf"(?:(?:[\s\p{{Z}}\x1c-\x1f\x85]++|{_SPACE})++|[-_.])"
"""White space, or what stands between the words of a name in an address, a file's name or an identifier."""

_BEFORE = rf"(?:(?<![\p{{L}}\p{{N}}])|(?<={_SPACE}))"
_AFTER = rf"(?![\p{{L}}\p{{M}}\p{{N}}]|(?!{_SPACE})\\u[0-9a-f]{{4}})"

MOST_MATCHED = 1_000
"""The number of characters up to which a text is matched word by word."""


def _forms(text: str) -> list[str]:
    """Return a text in the forms in which it may be stored: as it is, and inside JSON; in lower case too."""
    inside = [json.dumps(text, ensure_ascii=False)[1:-1]]
    # An escape does not tell which letters are the same in another case.
    if not text.isascii():
        cases = (text, text.lower(), text.upper(), text.title())
        inside += [json.dumps(case)[1:-1] for case in cases]
    return list(dict.fromkeys(form for one in (text, *inside) for form in (one, *lower_forms(one))))


def _quoted(form: str) -> str:
    """Return a pattern for a text whose white space may be any other gap."""
    return _GAP.join(
        "\\Q{}\\E".format(part.replace("\\E", "\\E\\\\E\\Q")) for part in form.split(" ")
    )


class Selection(Struct, frozen=True):
    """The query that finds what is to be forgotten, batch by batch, and its parameters."""

    query: Query[WrittenMemory]
    parameters: Mapping[str, Any]


async def _selection(asked: ForgetAsked, context: Context) -> Selection:
    """Return what selects the memories. Raises `InvalidInput` without a condition that can hold."""
    given = asdict(replace(asked, dry_run=False))
    if not any(given.values()):
        raise InvalidInput(
            "body",
            "names nothing to forget; send memory_ids, conversation_id, session_id, tags, since, until or "
            "name; everything of a client is forgotten by DELETE /clients/{id}",
        )
    since, until = period(asked.since, asked.until)
    name = "" if asked.name is None else checked_text(asked.name, "name", most_bytes=1_024).strip()
    searched = Searched.of(name, as_word=True) if name else Searched()
    names: list[str] = []
    if form := normalized(name):
        [known] = await context.graph.rows(ALL_NAMES, client_id=context.client_id, normalized=form)
        names = known.names
    parameters = {
        "names": names if form else [name] if name else [],
        "speakers": [form for one in names for form in lower_forms(one)],
        "written": searched.written,
        "word": searched.pattern,
        "session_id": asked.session_id or "",
        "tags": passing(asked.tags),
        "since": since,
        "until": until,
    }
    ids, conversation_id = list(dict.fromkeys(asked.memory_ids or ())), asked.conversation_id or ""
    if not ids and not conversation_id:
        return Selection(SELECTED_OF_CLIENT, parameters)
    return Selection(SELECTED, parameters | {"ids": ids, "conversation_id": conversation_id})


async def _erase_selected(
    selection: Selection, context: Context, *, word: str | None, dry_run: bool
) -> tuple[Counter[str], Counter[str], Set[str]]:
    """Delete the selected memories in batches; in a dry run each batch is rolled back.

    The records that hold the `word` are deleted with the first batch. Returns the numbers, and the ids of a
    dry run.
    """
    memories: Counter[str] = Counter()
    others: Counter[str] = Counter()
    after, counted = "", set[str]()
    while True:
        rows = await context.graph.rows(
            selection.query,
            client_id=context.client_id,
            after=after,
            limit=ERASED_AT_ONCE,
            **selection.parameters,
        )
        if not rows and (after or word is None):
            return memories, others, counted
        ids = [row.id for row in rows if row.id not in counted]
        named = None if after else word
        if not dry_run:
            others["reads"] += await _erase_reads(ids, context, named=named)
        erased, gone = await _erase(
            ids, context, named=named, word=word, dry_run=dry_run, but=counted
        )
        counted |= erased.ids if dry_run else set()
        memories.update(erased.memories)
        others.update(erased.others)
        others.update(gone)
        if not rows:
            return memories, others, counted
        after = rows[-1].id


async def _erase_reads(ids: Sequence[str], context: Context, *, named: str | None) -> int:
    """Delete the reads that returned memories to be deleted, or mention a name; return their number."""
    client_id, graph = context.client_id, context.graph
    every = await graph.write(
        lambda transaction: lock_all(transaction, ids, client_id=client_id, derived=True)
    )
    total = await erase_reads(every, client_id=client_id, graph=graph)
    if named is not None:
        total += await delete_in_batches(
            ERASE_NAMED_READS, {"word": named}, READS_AT_ONCE, client_id=client_id, graph=graph
        )
    return total


async def _erase(
    ids: Sequence[str],
    context: Context,
    *,
    named: str | None,
    word: str | None,
    dry_run: bool,
    but: Set[str],
) -> tuple[Erased, Counter[str]]:
    """Delete memories, and the records that hold a name if it is `named`; return what was deleted."""

    async def work(transaction: Transaction) -> tuple[Erased, Counter[str]] | None:
        await refuse_on_hold(transaction, context.client_id)
        gone: Counter[str] = Counter()
        if named is not None:
            [records] = await transaction.rows(
                ERASE_NAMED_RECORDS, client_id=context.client_id, word=named, dry_run=dry_run
            )
            gone.update(asdict(records))
        erased = await erase(
            transaction,
            ids,
            client_id=context.client_id,
            derived=True,
            now=context.now(),
            new_id=context.new_id,
            but=but,
            dry_run=dry_run,
            named=word if dry_run and word else "",
        )
        if dry_run:
            raise _DryRun(erased, gone)
        return (erased, gone) if erased.memories or gone.total() else None

    try:
        return await context.graph.delete(work) or (Erased.nothing(), Counter())
    except _DryRun as rolled_back:
        return rolled_back.erased, rolled_back.gone


async def _erase_places(asked: ForgetAsked, context: Context) -> Counter[str]:
    """Delete the conversation or the session, if nothing else narrowed the selection."""
    conversation_id = _whole_conversation(asked)
    if conversation_id is not None:
        gone = await _count_conversation(conversation_id, (), context)
        try:
            deleted = await delete_conversation(conversation_id, context)
        except ConversationNotFound:
            deleted = Deleted()
        return Counter(
            conversations=deleted.conversations,
            sessions=deleted.sessions,
            reads=gone["reads"],
            reviews=gone["reviews"],
        )
    if session := _whole_session(asked):
        [erased] = await context.graph.change(
            ERASE_EMPTY_SESSION, client_id=context.client_id, **session
        )
        return Counter(sessions=erased.written)
    return Counter()


async def _count_places(asked: ForgetAsked, ids: Set[str], context: Context) -> Counter[str]:
    """Count what `_erase_places` would delete once memories with these ids are gone."""
    conversation_id = _whole_conversation(asked)
    if conversation_id is not None:
        return await _count_conversation(conversation_id, sorted(ids), context)
    if session := _whole_session(asked):
        [counted] = await context.graph.rows(
            COUNTED_SESSION, client_id=context.client_id, ids=sorted(ids), **session
        )
        return Counter(sessions=counted.sessions)
    return Counter()


async def _count_conversation(
    conversation_id: str, ids: Sequence[str], context: Context
) -> Counter[str]:
    """Count a conversation with its sessions, and its records apart from those of these memories."""
    [counted] = await context.graph.rows(
        COUNTED_CONVERSATION,
        client_id=context.client_id,
        id=conversation_id,
        ids=list(ids),
        longest=QUERY_CHARACTERS,
    )
    return Counter(asdict(counted))


def _conditions(asked: ForgetAsked) -> set[str]:
    return {
        name
        for name in asked.__struct_fields__
        if name != "dry_run" and getattr(asked, name) is not None
    }


def _whole_conversation(asked: ForgetAsked) -> str | None:
    """Return the id of the conversation that goes as a whole, None if there is none."""
    return asked.conversation_id if _conditions(asked) == {"conversation_id"} else None


def _whole_session(asked: ForgetAsked) -> dict[str, str | None]:
    """Return the session that goes as a whole, as parameters; nothing if there is none."""
    if not asked.session_id or not _conditions(asked) <= {"session_id", "conversation_id"}:
        return {}
    return {"id": asked.session_id, "conversation_id": asked.conversation_id}


async def _erase_nodes(context: Context, *, kept_day: str) -> list[NodesGone]:
    """Delete all nodes of the context's client in batches, but a day's count; return what was deleted."""
    client_id, graph = context.client_id, context.graph

    async def erase_some(elements: list[str], transaction: Transaction) -> list[NodesGone]:
        await refuse_on_hold(transaction, client_id)
        return await transaction.rows(ERASE_NODES, client_id=client_id, elements=elements)

    gone: list[NodesGone] = []
    # Chosen before the transaction: were its answer lost, another try would delete and count other ones.
    for query, given in (
        (SOME_READS, {"limit": READS_AT_ONCE}),
        (SOME_NODES, {"limit": NODES_AT_ONCE, "kept_day": kept_day}),
    ):
        while some := await graph.rows(query, client_id=client_id, **given):
            gone += await graph.delete(partial(erase_some, [one.element for one in some]))
    return gone


async def _record_questions(context: Context) -> None:
    """Let this process record the questions that wait, so that they are found; not for long."""
    if context.recorder is not None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(RECORDING_SECONDS):
                await context.recorder.settle()


def _forget_caches(context: Context) -> None:
    """Drop what this process has cached of the client, and all counts of texts and times of questions."""
    context.vocabulary.forget(context.client_id)
    context.tokens.count_again.cache_clear()
    drop_kept_questions()
    if context.turns is not None:
        context.turns.forget(context.client_id)


def _receipt(
    memories: Counter[str], others: Counter[str], at: datetime, *, digest: str | None = None
) -> Receipt:
    counts: dict[str, Any] = dict(others)
    return Receipt(
        at=at,
        dry_run=digest is not None,
        digest=digest,
        memories={kind: memories[kind] for kind in KINDS if memories[kind]},
        total=memories.total(),
        **counts,
    )
