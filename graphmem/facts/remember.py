"""Remembering facts: each is new, or repeats a known fact and reinforces it.

Facts of one conversation, and those of none, have one writer at a time: of two equal facts that arrive
together one is new and the other reinforces it. `same_words`, and for less similar facts `same_text`, decide
whether two facts are equal.

The last part of the module has the categories of a client's facts.
"""

import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from graphmem.context import Context
from graphmem.conversations.remember import lock_conversation
from graphmem.embedding import cosine
from graphmem.errors import ConversationNotFound, InvalidInput, MemoryNotFound
from graphmem.facts.types import (
    BATCH_FACTS,
    FACT_BYTES,
    Categories,
    KeptFact,
    NewFact,
    Similar,
)
from graphmem.graph.driver import Graph, Transaction
from graphmem.graph.query import Query, RowsWritten
from graphmem.graph.scope import category_words, tag_words
from graphmem.memories.write import Draft, Prepared, prepare, write, write_grown
from graphmem.model.annotations import stored_annotations
from graphmem.model.times import BEGINNING, END, utc
from graphmem.model.validation import checked_text, told
from graphmem.model.vocabulary import CATEGORIES, Kind
from graphmem.retrieval.filters import Filters, scope_groups
from graphmem.text.words import composed, lucene_query, terms

SAME = 0.95
"""The lowest cosine of two facts that may be equal, if their words are the same."""

SIMILAR = 0.75
"""The lowest cosine of two facts that are linked (measured: `python -m bench.near_duplicates`)."""

MOST_KEYWORDS = 256
"""The maximum number of keywords of a fact that is repeated with other keywords each time."""

AS_NEW: Mapping[str, Any] = {"keywords": [], "version": 1, "reinforced": 0}
"""The properties that every fact has beside those of all memories, as a new one without keywords has them."""

# Only words that can be added, dropped or exchanged without changing the statement: no negation, no
# preposition, not "was" and not "been".
ARTICLES = frozenset({"a", "an", "the"})
BEING = frozenset({"is", "are"})

_NEGATED = re.compile(r"\b(\w+?)n't\b|\b(can)(?=not\b)", re.IGNORECASE)
_SHORTENED = {"ca": "can", "wo": "will", "sha": "shall"}
# A number with its marks and sign; an ending 's; a word with the dots and signs that belong to it; a sign.
_WORD = re.compile(
    r"(?:(?<!\S)[-−])?\d+(?:[.,:/-]\d+)*\w*"
    r"|(?<=\w)'s\b"
    r"|[^\W\d]\w*(?:\.\w+)*[+#]*"
    r"|[^\w\s]"
)
_MARKS = frozenset("!\"'(),-.:;?[]`{}¡«»¿‐‑–—‘“”…")


def same_words(one: str, other: str) -> bool:
    """Return whether two texts have the same words in the same order.

    Case, punctuation, articles, "is" and "are", and the endings of the plural and of the present tense do not
    count. Numbers, names, negations, prepositions, the past and signs such as `+`, `%` and `€` do.
    """
    words, others = list(_significant(one)), list(_significant(other))
    return len(words) == len(others) and all(
        forms & other_forms for forms, other_forms in zip(words, others, strict=True)
    )


def same_text(one: str, other: str) -> bool:
    """Return whether two texts are equal apart from case and punctuation."""
    return _words(one) == _words(other)


def united_keywords(known: Iterable[str], new: Iterable[str]) -> list[str]:
    """Return the keywords of two mentions of a fact, each once ignoring case, the known ones first."""
    by_word: dict[str, str] = {}
    for keyword in (*known, *new):
        by_word.setdefault(keyword.casefold(), keyword)
    return list(by_word.values())[:MOST_KEYWORDS]


def _words(text: str) -> list[str]:
    return [
        word.casefold()
        for word in _WORD.findall(composed(text).replace("’", "'"))
        if word not in _MARKS
    ]


def _significant(text: str) -> Iterator[frozenset[str]]:
    """Yield the significant words, each as the set of its possible base forms."""
    text = composed(text).replace("’", "'")
    words = _WORD.findall(_NEGATED.sub(_spelled_out, text))
    after_being = False
    for place, word in enumerate(words):
        # Names have no plural, and articles are lower case: Williams is not William, "Room A" is a room.
        plain = word[0].islower() or place == 0
        lower = word.casefold()
        if word in _MARKS or (plain and lower in ARTICLES):
            continue
        if lower not in BEING:
            yield _forms(lower, after_being) if plain else frozenset({lower})
        after_being = lower in BEING


def _spelled_out(found: re.Match[str]) -> str:
    """Return "does not" for "doesn't", and "can not" for "cannot"."""
    if found[2]:
        return f"{found[2]} "
    return f"{_SHORTENED.get(found[1].lower(), found[1])} not"


def _forms(word: str, after_being: bool) -> frozenset[str]:
    """Return a word and its possible base forms: singular, infinitive."""
    forms = {word}
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is", "news")):
        forms.add(word[:-1])
        if word.endswith("ies"):
            forms.add(f"{word[:-3]}y")
        if word.endswith(("ses", "xes", "zes", "ches", "shes", "oes")):
            forms.add(word[:-2])
    if after_being and len(word) > 5 and word.endswith("ing"):
        forms |= {word[:-3], f"{word[:-3]}e"}
        if word[-4] == word[-5]:
            forms.add(word[:-4])
    return frozenset(forms)


NEAREST = 20
"""The number of nearest facts that a new one is compared with."""

SHARING_WORDS = 100
"""The number of facts with shared words that a new one is compared with."""

MOST_SIMILAR = 5
"""The maximum number of similar facts that a new one is linked to."""

SOURCE_KINDS: tuple[Kind, ...] = ("episode", "message")


class CheckedFact(Struct, frozen=True):
    """A fact that was checked, and the memory that it becomes."""

    field: str
    """The prefix of its field names in errors."""
    fact: NewFact
    draft: Draft
    category_given: bool = True
    """False if its category comes from an earlier version; that stays legal when the categories change."""


class FactSource(Struct, frozen=True):
    """A memory that a fact comes from."""

    id: str
    kind: Kind


class FactSurroundings(Struct, frozen=True):
    """The nodes that new facts refer to, as far as they exist."""

    categories: list[str]
    conversations: list[str]
    sources: list[FactSource]
    written: list[str]


class FactNeighbour(Struct, frozen=True):
    """A valid fact, and its cosine with a new one."""

    id: str
    text: str
    category: str
    keywords: list[str]
    cosine: float
    other_categories: list[str] = []


class Reinforcement(Struct, frozen=True, kw_only=True):
    """A repeated fact: the number of repetitions, their sources, and the additions to the fact."""

    times: int
    importance: float
    source_ids: list[str]
    other_categories: list[str]
    """All categories that it was given beside its own."""
    tags: list[str]
    """The tags that it was given again, which are added to its own."""
    lasts: datetime
    """The latest expiry that it was given again; `END` for none."""
    known: Draft
    after: Draft
    """The fact's searched data before, and with the added keywords."""

    @property
    def row(self) -> dict[str, Any]:
        """The row of `reinforce_facts`."""
        return {
            "id": self.after.id,
            "source_ids": self.source_ids,
            "times": self.times,
            "importance": self.importance,
            "keywords": self.after.own["keywords"],
            "search_text": self.after.search_text,
            "other_categories": self.other_categories,
            "category_words": category_words(self.after.client_id, self.other_categories),
            "tags": self.tags,
            "tag_words": tag_words(self.after.client_id, self.tags),
            "lasts": None if self.lasts == END else self.lasts,
        }


class FactDecision(Struct, frozen=True):
    """The outcome for one fact: it repeats its `twin`, or is new if there is none."""

    memory: Prepared
    source_ids: list[str]
    twin: FactNeighbour | None
    similar: list[Similar]


LOCK_CLIENT = Query("facts/lock_client", RowsWritten, writes=True)
LOCK_SOURCES = Query("facts/lock_sources", RowsWritten, writes=True)
FACT_SURROUNDINGS = Query("facts/fact_surroundings", FactSurroundings)
NEAR_FACTS = Query("facts/near_facts", FactNeighbour)
NEAR_FACTS_EXACTLY = Query("facts/near_facts_exactly", FactNeighbour)
FACTS_BY_WORDS = Query("facts/facts_by_words", FactNeighbour)
LINK_FACTS = Query("facts/link_facts", RowsWritten, writes=True)
REINFORCE_FACTS = Query("facts/reinforce_facts", RowsWritten, writes=True)


async def remember_facts(
    new: Sequence[NewFact], context: Context, *, listed: bool = True
) -> list[KeptFact]:
    """Remember 1–100 facts, all or none; return for each, in order, whether it is new or reinforced.

    With `listed` an error names a field with the fact's place in the list. Raises `InvalidInput`,
    `TooLarge`, `ConversationNotFound`, `MemoryNotFound` for a source, `Unavailable`.
    """
    _check_number(new)
    client_id, now = context.client_id, context.now()
    facts = []
    for place, fact in enumerate(new):
        field = f"[{place}]." if listed else ""
        checked = checked_fact(fact, field, now)
        draft = draft_of(checked, context.new_id(), client_id=client_id, now=now)
        noted = stored_annotations(fact, field, now)
        draft = replace(draft, own=draft.own | noted)
        facts.append(CheckedFact(field, checked, draft))
    await check_surroundings(context.graph, facts, client_id)
    drafts = [one.draft for one in facts]
    prepared = await prepare(drafts, embedder=context.embedder, tokens=context.tokens)
    sources = [one.fact.source_episode_ids for one in facts]

    async def write_facts(transaction: Transaction) -> list[KeptFact]:
        await lock_writers({draft.conversation_id for draft in drafts}, transaction, client_id)
        written = await check_locked(transaction, facts, client_id)
        return await keep(transaction, prepared, sources, context, written=written, now=now)

    return await context.graph.write(write_facts)


async def keep(
    transaction: Transaction,
    memories: Sequence[Prepared],
    sources: Sequence[list[str]],
    context: Context,
    *,
    written: Iterable[str],
    now: datetime,
    gone: Container[str] = (),
) -> list[KeptFact]:
    """Write the new facts and reinforce the known ones, under the lock of their writer.

    `written` are the ids of the facts that an earlier try of this transaction has written; `gone` are the ids
    of facts that this transaction has ended, which the index still returns.
    """
    client_id = context.client_id
    decided: list[FactDecision] = []
    for memory, source_ids in zip(memories, sources, strict=True):
        near = await _find_near(transaction, memory, decided, client_id, gone)
        decided.append(decide(memory, source_ids, near))
    known = set(written)
    new = [one for one in decided if one.twin is None]
    unwritten = [one.memory for one in new if one.memory.draft.id not in known]
    await write(transaction, unwritten, client_id=client_id)
    if new:
        await transaction.rows(
            LINK_FACTS, client_id=client_id, now=now, rows=[_links(one) for one in new]
        )
    await _reinforce(transaction, _reinforcements(decided), context, now)
    return [_kept(one) for one in decided]


async def _reinforce(
    transaction: Transaction,
    reinforcements: Sequence[Reinforcement],
    context: Context,
    now: datetime,
) -> None:
    """Reinforce known facts, and index their added keywords."""
    if not reinforcements:
        return
    rows = [one.row for one in reinforcements]
    await transaction.rows(REINFORCE_FACTS, client_id=context.client_id, now=now, rows=rows)
    grown = [(one.known, one.after) for one in reinforcements if one.known != one.after]
    await write_grown(
        transaction,
        grown,
        client_id=context.client_id,
        embedder=context.embedder,
        tokens=context.tokens,
    )


def plain_reinforcement(id: str, source_ids: list[str]) -> dict[str, Any]:
    """Return the row of `reinforce_facts` for a fact that is repeated once without additions."""
    return {
        "id": id,
        "source_ids": source_ids,
        "times": 1,
        "importance": 0.0,
        "keywords": None,
        "search_text": None,
        "other_categories": None,
        "category_words": [],
        "tags": [],
        "tag_words": [],
        "lasts": BEGINNING,
    }


def decide(memory: Prepared, source_ids: list[str], near: Sequence[FactNeighbour]) -> FactDecision:
    """Return the outcome for a fact, given the facts near it."""
    draft = memory.draft
    others = sorted(
        {one.id: one for one in near if one.id != draft.id}.values(),
        key=lambda one: one.cosine,
        reverse=True,
    )
    twin = next((one for one in others if _is_repeated_by(draft, one)), None)
    similar = [
        Similar(id=one.id, score=round(one.cosine, 4))
        for one in others
        if one.cosine >= SIMILAR and one is not twin
    ]
    return FactDecision(memory, source_ids, twin, similar[:MOST_SIMILAR])


def draft_of(fact: NewFact, id: str, *, client_id: str, now: datetime) -> Draft:
    """Return the memory that a fact becomes."""
    valid_at = fact.valid_at or now
    searched = searched_text(fact.fact, fact.keywords)
    return Draft(
        id=id,
        client_id=client_id,
        kind="fact",
        text=fact.fact,
        search_text=searched,
        embedded_text=searched,
        source_type="fact",
        conversation_id=fact.conversation_id or "",
        category=fact.category,
        scope=fact.scope,
        importance=fact.importance,
        occurred_at=valid_at,
        valid_at=valid_at,
        created_at=now,
        own={**AS_NEW, "keywords": fact.keywords},
    )


def searched_text(fact: str, keywords: Iterable[str]) -> str:
    """Return the searched text of a fact, for its words and its meaning."""
    return " ".join([fact, *keywords])


def _check_number(new: Sequence[NewFact]) -> None:
    if not 1 <= len(new) <= BATCH_FACTS:
        bound = f"<= {BATCH_FACTS}" if new else ">= 1"
        raise InvalidInput("body", told(f"Expected `array` of length {bound}"))


def checked_fact(fact: NewFact, field: str, now: datetime) -> NewFact:
    """Return a fact with its time, each keyword and source once. Raises `InvalidInput`, `TooLarge`."""
    checked_text(fact.fact, f"{field}fact", most_bytes=FACT_BYTES)
    for number, keyword in enumerate(fact.keywords):
        checked_text(keyword, f"{field}keywords[{number}]", most_bytes=1024)
    valid_at = utc(fact.valid_at, f"{field}valid_at") if fact.valid_at else now
    return replace(
        fact,
        valid_at=valid_at,
        keywords=list(dict.fromkeys(fact.keywords)),
        source_episode_ids=list(dict.fromkeys(fact.source_episode_ids)),
    )


async def check_surroundings(
    where: Graph | Transaction, facts: Sequence[CheckedFact], client_id: str
) -> list[str]:
    """Check the categories, conversations and sources of facts; return the ids of those that exist already.

    Raises `InvalidInput`, `ConversationNotFound`, `MemoryNotFound`.
    """
    [found] = await where.rows(
        FACT_SURROUNDINGS,
        client_id=client_id,
        conversation_ids=sorted({id for one in facts if (id := one.fact.conversation_id)}),
        source_ids=sorted({id for one in facts for id in one.fact.source_episode_ids}),
        ids=[one.draft.id for one in facts],
    )
    kinds = {source.id: source.kind for source in found.sources}
    for one in facts:
        if one.category_given:
            check_category(one.fact.category, found.categories, f"{one.field}category")
        conversation_id = one.fact.conversation_id
        if conversation_id and conversation_id not in found.conversations:
            raise ConversationNotFound(conversation_id)
        _check_sources(one, kinds)
    return found.written


async def check_locked(
    transaction: Transaction, facts: Sequence[CheckedFact], client_id: str
) -> list[str]:
    """Lock the sources of facts, and check their surroundings; see there."""
    ids = sorted({id for one in facts for id in one.fact.source_episode_ids})
    if ids:
        await transaction.rows(LOCK_SOURCES, client_id=client_id, ids=ids)
    return await check_surroundings(transaction, facts, client_id)


def _check_sources(one: CheckedFact, kinds: Mapping[str, Kind]) -> None:
    for id in one.fact.source_episode_ids:
        if id not in kinds:
            raise MemoryNotFound(id)
        if kinds[id] not in SOURCE_KINDS:
            raise InvalidInput(
                f"{one.field}source_episode_ids",
                f"{id!r} is a {kinds[id]}; a fact comes from episodes or messages",
            )


async def lock_writers(
    conversation_ids: set[str], transaction: Transaction, client_id: str
) -> None:
    """Lock the one writer of each conversation, always in the same order; "" is no conversation.

    Raises `ConversationNotFound`.
    """
    for id in sorted(conversation_ids):
        if id:
            await lock_conversation(transaction, id, client_id=client_id)
        else:
            await transaction.rows(LOCK_CLIENT, client_id=client_id)


async def _find_near(
    transaction: Transaction,
    memory: Prepared,
    decided: Sequence[FactDecision],
    client_id: str,
    gone: Container[str],
) -> list[FactNeighbour]:
    """Return the facts that a new one may repeat: the nearest ones, and those with shared words."""
    found = await _find_nearest(transaction, memory, client_id)
    near = [one for one in found if one.id not in gone] + _nearest_of_batch(memory, decided)
    if not any(_is_repeated_by(memory.draft, one) for one in near):
        # Different keywords move the vectors of equal facts apart.
        found = await _find_by_words(transaction, memory, client_id)
        near += [one for one in found if one.id not in gone]
    return near


async def _find_by_words(
    transaction: Transaction, memory: Prepared, client_id: str
) -> list[FactNeighbour]:
    """Return the indexed facts that share most words with a new one."""
    draft = memory.draft
    scope = Filters(
        kind={"fact"},
        conversation_id={draft.conversation_id} if draft.conversation_id else None,
        scope={draft.scope},
    )
    return await transaction.rows(
        FACTS_BY_WORDS,
        client_id=client_id,
        conversation_id=draft.conversation_id,
        scope=draft.scope,
        embedding=memory.embedding.vector,
        words=lucene_query(terms(draft.text), scope_groups(scope, client_id)),
        limit=SHARING_WORDS,
    )


async def _find_nearest(
    transaction: Transaction, memory: Prepared, client_id: str
) -> list[FactNeighbour]:
    """Return the nearest indexed facts; the index holds committed facts only."""
    parameters = {
        "client_id": client_id,
        "conversation_id": memory.draft.conversation_id,
        "scope": memory.draft.scope,
        "embedding": memory.embedding.vector,
        "limit": NEAREST,
    }
    found = await transaction.rows(NEAR_FACTS, **parameters)
    if len(found) < NEAREST:
        found = await transaction.rows(NEAR_FACTS_EXACTLY, **parameters)
    return found


def _nearest_of_batch(memory: Prepared, decided: Sequence[FactDecision]) -> list[FactNeighbour]:
    """Return the new facts of the same batch that have the same conversation and scope."""
    draft = memory.draft
    return [
        FactNeighbour(
            other.id,
            other.text,
            other.category,
            other.own["keywords"],
            cosine(memory.embedding.vector, one.memory.embedding.vector),
        )
        for one in decided
        if one.twin is None
        and (other := one.memory.draft).conversation_id == draft.conversation_id
        and other.scope == draft.scope
    ]


def _is_repeated_by(draft: Draft, other: FactNeighbour) -> bool:
    """Return whether a fact states another one again."""
    if other.cosine >= SAME:
        return same_words(draft.text, other.text)
    return same_text(draft.text, other.text)


def _links(one: FactDecision) -> dict[str, Any]:
    near = [{"id": other.id, "score": other.score} for other in one.similar]
    return {"id": one.memory.draft.id, "source_ids": one.source_ids, "similar": near}


def _reinforcements(decided: Iterable[FactDecision]) -> list[Reinforcement]:
    """Return one reinforcement for each repeated fact, even if it is repeated several times."""
    repeats: dict[str, list[tuple[FactNeighbour, FactDecision]]] = {}
    for one in decided:
        if one.twin is not None:
            repeats.setdefault(one.twin.id, []).append((one.twin, one))
    return [_reinforcement(same[0][0], [one for _, one in same]) for same in repeats.values()]


def _reinforcement(fact: FactNeighbour, repeats: Sequence[FactDecision]) -> Reinforcement:
    drafts = [one.memory.draft for one in repeats]
    new_keywords = (word for draft in drafts for word in draft.own["keywords"])
    expiries = [draft.own.get("expires_at") or END for draft in drafts]
    categories = dict.fromkeys([*fact.other_categories, *(draft.category for draft in drafts)])
    keywords = united_keywords(fact.keywords, new_keywords)
    known, after = (
        replace(
            drafts[0],
            id=fact.id,
            text=fact.text,
            search_text=searched_text(fact.text, words),
            embedded_text=searched_text(fact.text, words),
            own={"keywords": words},
        )
        for words in (fact.keywords, keywords)
    )
    return Reinforcement(
        times=len(repeats),
        importance=max(draft.importance for draft in drafts),
        source_ids=[id for one in repeats for id in one.source_ids],
        other_categories=[one for one in categories if one != fact.category],
        tags=list(dict.fromkeys(tag for draft in drafts for tag in draft.own.get("tags") or ())),
        lasts=max(expiries),
        known=known,
        after=after,
    )


def _kept(one: FactDecision) -> KeptFact:
    if one.twin is not None:
        return KeptFact(id=one.twin.id, action="reinforced", similar=one.similar)
    return KeptFact(
        id=one.memory.draft.id,
        action="new",
        similar=one.similar,
        embedding_truncated=one.memory.embedding.truncated,
    )


class ChosenCategories(Struct, frozen=True):
    """The categories that a client has chosen; empty if it has chosen none."""

    categories: list[str]


CHOSEN_CATEGORIES = Query("facts/chosen_categories", ChosenCategories)
KEEP_CATEGORIES = Query("facts/keep_categories", RowsWritten, writes=True)


async def show_categories(context: Context) -> Categories:
    """Return the categories that a client's facts may have: its own, else the default fourteen.

    Raises `Unavailable`.
    """
    rows = await context.graph.rows(CHOSEN_CATEGORIES, client_id=context.client_id)
    return Categories(categories=legal_categories(rows[0].categories))


async def set_categories(chosen: Categories, context: Context) -> Categories:
    """Set the 1–100 categories of a client's facts; existing facts keep theirs.

    Raises `InvalidInput` when one is given twice, `Unavailable`.
    """
    given = chosen.categories
    twice = next((one for place, one in enumerate(given) if one in given[:place]), None)
    if twice is not None:
        raise InvalidInput("categories", f"{twice!r} is given twice; send each once")
    await context.graph.write(
        lambda transaction: transaction.rows(
            KEEP_CATEGORIES, client_id=context.client_id, categories=given
        )
    )
    return Categories(categories=given)


def legal_categories(chosen: Sequence[str]) -> list[str]:
    """Return a client's own categories, else the default fourteen."""
    return list(chosen) or list(CATEGORIES)


def check_category(category: str, chosen: Sequence[str], field: str) -> None:
    """Raise `InvalidInput`, which lists the legal ones, for a category that is not legal for the client."""
    legal = legal_categories(chosen)
    if category not in legal:
        raise InvalidInput(
            field, f"{category!r} is not one of this client's categories: {', '.join(legal)}"
        )
