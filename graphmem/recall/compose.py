"""Composing: from a ranking to a text within a token budget, and a list of the omitted memories."""

import re
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, tzinfo
from itertools import islice, takewhile
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from graphmem.context import Context
from graphmem.graph.query import Query
from graphmem.model.annotations import decoded
from graphmem.model.vocabulary import MESSAGE_BYTES, Kind, bare_id
from graphmem.prompts.rendering import Entry, group, heading, markdown, prefix, shown_since
from graphmem.prompts.truncation import Excerpt, Parcel, Part, Surroundings, fitting
from graphmem.recall.types import Item, Omitted, Reason, ShownExcerpt
from graphmem.retrieval.filters import Filters
from graphmem.retrieval.finding import Candidate, FoundPassage
from graphmem.retrieval.heads import Head, at_heads, heads_of
from graphmem.retrieval.ranking import Ranked
from graphmem.text.passages import units
from graphmem.tokens import TokenCounter

WHOLE_SHARE, LARGE_SHARE = 0.7, 0.25
WHOLE_TOKENS = 1_000
"""The share of the budget up to which a text of at most so many tokens is given whole, and for longer ones.

A text beyond that is given as an excerpt, but whole, whatever its length, if no passage of it was found.
"""

COST_EXPONENT = 0.1
"""The weight of the cost of a memory against its score: ten times the tokens, a fifth less worth."""

FIRST_SHARE = 0.1
FIRST_TOKENS = range(40, 120)
"""The share of the budget, within bounds in tokens, of an excerpt before the remaining room goes to it."""

PASSAGE_TOKENS = 60
"""The least tokens that a passage usually has: as many are fetched as may fill the budget."""

MOST_AROUND = 64
"""The passages that are fetched before a hit, and after it."""

MOST_COMPARED = 20
"""The number of episodes and summaries that are compared with the messages."""

_SPEAKER = re.compile(r"[-*\s]*(?:[^:.!?]{1,60}: )?")

OMITTED_SHOWN = 50
"""The maximum number of omitted memories in an answer."""

SPARE_SHARE = 4
"""The part of the budget, 1/4, for which more texts are fetched at once: a second round trip costs more."""

LEAST_ROOM_SHARE = 50
"""The part of the budget, 1/50, that is left empty rather than asking the database once more."""


MEASURED_SESSION, MEASURED_TIME = "session", datetime(2026, 1, 1, tzinfo=UTC)
"""The session and the time of the heading whose tokens stand for those of every session."""


class MemoryText(Struct, frozen=True):
    """The text of a memory, and its session's name."""

    id: str
    text: str = ""
    session_external_id: str | None = None
    has_text: bool = True
    """Whether its text was requested; any other row says only that the memory exists, or names its head."""
    metadata: str | None = None
    tags: list[str] = []
    parts: list[Part] = []
    """Of a long memory the passages around the hit; `text` is '' then."""
    bytes: int | None = None
    """The length of a long memory; greater than it is while passages of it are missing."""
    head: Head | None = None


class ComposedContext(Struct, frozen=True):
    """A text within a budget, its memories in rank order, and the omitted memories."""

    items: list[Item]
    context: str
    tokens_used: int
    omitted: list[Omitted]
    omitted_total: int
    judged: Mapping[str, list[str]]
    """By memory the texts that decide its relevance; see `judged_texts`."""


TEXTS = Query("recall/texts", MemoryText)


async def pack(
    ranking: Sequence[Ranked],
    filters: Filters,
    context: Context,
    *,
    words: Mapping[str, float],
    limit: int | None,
    max_tokens: int,
    by_worth: bool = False,
    zone: tzinfo = UTC,
) -> "Packing":
    """Pack memories into `max_tokens`, headings and separators included, and at most `limit`, if set.

    They are packed by rank, or `by_worth`.

    Of a text that takes much of it (`most_whole`) an excerpt is packed, around the passage that was found;
    `words`, the weights of the question's stems, decide where it begins. The room that is left is given to
    the excerpts, the best first.

    Times are shown in the zone. The tokens of the returned text are counted as a whole. Texts are fetched
    only for memories that may fit; a second pass fills the remaining room. A memory that was superseded after
    the search is replaced by its head, if the filters admit that.
    """
    most = len(ranking) if limit is None else limit
    packing = Packing(
        ranking,
        filters,
        words,
        most,
        max_tokens,
        context.tokens,
        zone,
        by_worth=by_worth,
        now=context.now(),
    )
    found = read_whole(one.candidate for one in ranking)
    wanted = packing.wanted()
    named = packing.named(wanted)
    while wanted or named:
        if found:
            rows = [text_found(found[id]) for id in wanted]
            rows += [MemoryText(id=id, has_text=False) for id in named]
        else:
            rows = await load_texts(
                wanted,
                context,
                named=named,
                around=packing.around(),
                now_only=filters.only_active,
            )
        packing.add(wanted, rows)
        wanted = packing.wanted()
        named = packing.named(wanted) if wanted else []
    return packing


def read_whole(candidates: Iterable[Candidate]) -> dict[str, Candidate]:
    """Return candidates by id, if all of them were read whole when they were found; else none.

    One that is read later might be a newer version of another.
    """
    found = {one.id: one for one in candidates}
    return {} if any(one.details is None for one in found.values()) else found


def text_found(candidate: Candidate) -> MemoryText:
    """Return the text of a candidate that was read whole."""
    details = candidate.details
    assert details is not None, "see `read_whole`"
    return MemoryText(
        id=candidate.id,
        text=details.text or candidate.text,
        session_external_id=details.session_external_id,
        metadata=details.metadata,
        tags=details.tags,
    )


def repeated_shares(found: Iterable[Candidate]) -> dict[str, float]:
    """Return for the first episodes and summaries the share, 0–1, of their text that others found say too.

    These are messages, and the episodes and summaries before it: without a language model both are made of
    sentences of the messages, often of the same ones. Speakers do not count.
    """
    found = list(found)
    made = [one for one in found if one.kind in ("episode", "summary")][:MOST_COMPARED]
    if not made:
        return {}
    said = "\n".join(one.text for one in found if one.kind == "message")
    shares: dict[str, float] = {}
    for one in made:
        parts = [_SPEAKER.sub("", unit.text, count=1) for unit in units(one.text)]
        total = sum(map(len, parts))
        again = sum(len(part) for part in parts if part in said)
        shares[one.id] = again / total if total else 0.0
        said = f"{said}\n{one.text}"
    return shares


async def load_texts(
    ids: Iterable[str],
    context: Context,
    *,
    named: Collection[str] = (),
    around: Mapping[str, Any] | None = None,
    longest: int = MESSAGE_BYTES,
    now_only: bool = False,
) -> list[MemoryText]:
    """Return the texts of memories, those of each client from there; none of one that was deleted.

    Of those in `around` only the passages from its `first` to its `last`, of the others at most `longest`
    characters; of those `named` no text. With `now_only` heads take the places of superseded memories. Raises
    `Unavailable`.
    """

    async def load(one: Context, own: list[str]) -> list[MemoryText]:
        given = {id: context.as_given(id, one) for id in own}
        return await one.graph.rows(
            TEXTS,
            client_id=one.client_id,
            ids=own,
            named=[id for id, name in given.items() if name in named],
            around={id: around[name] for id, name in given.items() if around and name in around},
            longest=longest,
            now_only=now_only,
        )

    return await context.each_of([*ids, *named], load)


class Packing:
    """A context under construction: it names the texts that it needs, and packs those that it receives."""

    def __init__(
        self,
        ranking: Sequence[Ranked],
        filters: Filters,
        words: Mapping[str, float],
        limit: int,
        max_tokens: int,
        tokens: TokenCounter,
        zone: tzinfo,
        *,
        by_worth: bool,
        now: datetime,
    ) -> None:
        self._now = now
        self._zone = zone
        self._ranking = list(ranking)
        self._by_worth = by_worth
        self._filters = filters
        self._words = words
        self._limit = limit
        self._max_tokens = max_tokens
        self._tokens = tokens
        self._asked: set[str] = set()
        self._known: set[str] = set()
        self._texts: dict[str, MemoryText] = {}
        self._surroundings: dict[str, Surroundings] = {}
        self._excerpts: dict[str, Excerpt] = {}
        self._exact: dict[str, Parcel] = {}
        self._headings: dict[tuple[str, str], int] = {}
        self._prefixes: dict[tuple[str, date | None], int] = {}
        self._repeated = repeated_shares(one.candidate for one in ranking) if by_worth else {}
        self._chosen: list[str] = []
        self._context = ""
        self._used = 0
        self._arrange()

    def wanted(self) -> list[str]:
        """Return the ids of the texts to fetch: by estimate, then those that may fit the remaining room."""
        if not self._asked:
            return _likely([*self._estimates.values()], self._max_tokens, self._limit)
        room = self._max_tokens - self._used if len(self._chosen) < self._limit else 0
        if room < self._max_tokens / LEAST_ROOM_SHARE:
            return []
        shown = {self._exact[id].group for id in self._chosen}
        return [
            parcel.id
            for parcel in self._estimates.values()
            if parcel.cost(shown) <= room and parcel.id not in self._asked
        ]

    def named(self, wanted: Iterable[str]) -> list[str]:
        """Return the ids of the first without a text, which may be named as omitted, if they still stand."""
        texts = self._asked.union(wanted)
        without = (one.id for one in self._ranking if one.id not in texts)
        return [id for id in islice(without, OMITTED_SHOWN) if id not in self._known]

    def add(self, asked: Sequence[str], rows: Sequence[MemoryText]) -> None:
        """Pack again with these texts too; a memory that was deleted meanwhile has no row."""
        texts = [row for row in rows if row.has_text]
        self._asked |= set(asked)
        self._texts |= {text.id: text for text in texts}
        self._known |= {row.id for row in rows}
        if heads := heads_of(rows):
            self._ranking = at_heads(self._ranking, heads, self._filters.admit, _moved)
            self._arrange()
            self._asked |= {text.id for text in texts}
        for candidate in self._with_texts():
            if candidate.id not in self._exact:
                self._measure(candidate)
        parcels = [self._exact[one.id] for one in self._with_texts() if one.id in self._exact]
        self._chosen = fitting(parcels, self._max_tokens, most=self._limit)
        self._render()
        while self._used > self._max_tokens:
            self._chosen.pop()
            self._render()

    def compose(self) -> ComposedContext:
        """Give the remaining room to excerpts; return the text, its memories, and the omitted memories."""
        for id in list(self._chosen):
            if id in self._excerpts:
                self._grow(id)
        taken = set(self._chosen)
        placed = list(enumerate(self._ranking, 1))
        left_out = [(rank, r) for rank, r in placed if r.candidate.id not in taken]
        # What was deleted or superseded since it was found is not named.
        named = [(rank, r) for rank, r in left_out if r.candidate.id in self._known]
        full = len(taken) == self._limit
        last = max((rank for rank, r in placed if r.candidate.id in taken), default=0)
        return ComposedContext(
            items=[
                self._item(ranked, rank) for rank, ranked in placed if ranked.candidate.id in taken
            ],
            context=self._context,
            tokens_used=self._used,
            omitted=[
                self._omitted(ranked, rank, "beyond_limit" if full and rank > last else "no_room")
                for rank, ranked in named[:OMITTED_SHOWN]
            ],
            omitted_total=len(left_out),
            judged={
                ranked.candidate.id: judged_texts(
                    ranked.candidate, self._texts[ranked.candidate.id]
                )
                for _, ranked in placed
                if ranked.candidate.id in taken
            },
        )

    def room(self, candidate: Candidate) -> tuple[int, int]:
        """Return the tokens that a memory needs, and those that the memories packed before it left."""
        left, groups = self._max_tokens, set[Hashable]()
        for one in takewhile(lambda one: one.id != candidate.id, self._order):
            if one.id in self._chosen:
                left -= self._exact[one.id].cost(groups)
                groups.add(self._exact[one.id].group)
        own = self._exact.get(candidate.id) or self._estimate(candidate)
        return own.cost(groups), left

    def around(self) -> dict[str, dict[str, int]]:
        """Return for each memory that is given as an excerpt the passages that may fill the budget."""
        reach = min(MOST_AROUND, self._max_tokens // PASSAGE_TOKENS + 1)
        return {
            one.candidate.id: {"first": hit.place - reach, "last": hit.place + reach}
            for one in self._ranking
            if (hit := self._hit(one.candidate))
        }

    def _hit(self, candidate: Candidate) -> FoundPassage | None:
        """Return the passage around which a memory is given as an excerpt; None if it is given whole."""
        if not candidate.passages or candidate.token_count <= most_whole(self._max_tokens):
            return None
        return candidate.passages[0]

    def _arrange(self) -> None:
        """Estimate the cost of each candidate, and set the order in which they are packed."""
        costs = [(one, self._estimate(one.candidate)) for one in self._ranking]
        if self._by_worth:
            costs.sort(key=lambda each: -self._worth(*each))
        self._order = [one for one, _ in costs]
        self._estimates = {cost.id: cost for _, cost in costs}

    def _worth(self, one: Ranked, cost: Parcel) -> float:
        """Return the worth of a candidate, which pays for its prefix and a heading of its own.

        Of a text beyond `WHOLE_TOKENS` the excerpt costs less, but also shows less: it counts as a text of
        `LARGE_SHARE` of the budget. The part of an episode or a summary that messages, or one before it, say
        themselves is worth nothing.
        """
        shown, tokens = self._text_tokens(one.candidate), one.candidate.token_count
        if tokens > WHOLE_TOKENS:
            tokens = max(shown, min(tokens, round(LARGE_SHARE * self._max_tokens)))
        score = one.score * (1.0 - self._repeated.get(one.id, 0.0))
        return worth(score, cost.cost(()) - shown + tokens)

    def _estimate(self, candidate: Candidate) -> Parcel:
        """Return the cost by the stored token count; a text after its prefix may cost a token less."""
        kind, session_id, owner = candidate.kind, candidate.session_id, candidate.owner
        return Parcel(
            candidate.id,
            self._text_tokens(candidate) + self._prefix_tokens(candidate) + 1,
            group(kind, session_id, candidate.occurred_at, self._zone, owner),
            self._heading_tokens(kind, bool(session_id), owner),
        )

    def _prefix_tokens(self, candidate: Candidate) -> int:
        """Return the tokens of a memory's prefix; a few speakers say everything."""
        key = (speaker(candidate), self._since(candidate))
        if key not in self._prefixes:
            self._prefixes[key] = self._tokens.count_again(prefix(*key))
        return self._prefixes[key]

    def _heading_tokens(self, kind: Kind, of_session: bool, owner: str) -> int:
        """Return the tokens of a heading with its empty line; every time has as many."""
        key = ("" if of_session else kind, owner)
        if key not in self._headings:
            text = heading(kind, MEASURED_SESSION if of_session else "", MEASURED_TIME, owner=owner)
            self._headings[key] = self._tokens.count(f"\n{text}")
        return self._headings[key]

    def _text_tokens(self, candidate: Candidate) -> int:
        """Return the tokens of a memory's text, or of its excerpt before the remaining room goes to it."""
        if not self._hit(candidate):
            return candidate.token_count
        if excerpt := self._excerpts.get(candidate.id):
            return self._tokens.count(excerpt.text)
        return min(candidate.token_count, first_room(self._max_tokens))

    def _prefix(self, candidate: Candidate) -> str:
        return prefix(speaker(candidate), self._since(candidate))

    def _since(self, candidate: Candidate) -> date | None:
        """Return the day from which a fact holds, if that is shown."""
        if candidate.kind != "fact":
            return None
        every = self._filters.include_superseded
        return shown_since(candidate.occurred_at, self._now, with_versions=every, zone=self._zone)

    def _with_texts(self) -> list[Candidate]:
        return [one.candidate for one in self._order if one.candidate.id in self._texts]

    def _measure(self, candidate: Candidate) -> None:
        """Make the excerpt of a long memory, and count the tokens of the part that is shown."""
        text, hit = self._texts[candidate.id], self._hit(candidate)
        if text.bytes is not None and hit is not None:
            around = Surroundings(
                text.parts, hit.place, self._words, total=text.bytes, tokens=self._tokens
            )
            excerpt = first_excerpt(around, self._max_tokens)
            if excerpt is None:
                return
            self._surroundings[candidate.id], self._excerpts[candidate.id] = around, excerpt
            if self._parcel(candidate).cost(()) > self._max_tokens:
                part = around.part(first_room(self._max_tokens))
                self._excerpts[candidate.id] = part or excerpt
        self._exact[candidate.id] = self._parcel(candidate)

    def _parcel(self, candidate: Candidate) -> Parcel:
        """Return the cost of a memory by the part of its text that is shown."""
        line = f"{self._prefix(candidate)}{self._shown(candidate.id)}\n"
        return replace(self._estimates[candidate.id], tokens=self._tokens.count(line))

    def _grow(self, id: str) -> None:
        """Give the remaining room to an excerpt."""
        before, room = self._excerpts[id], self._max_tokens - self._used
        while room > 0:
            most, around = self._tokens.count(before.text) + room, self._surroundings[id]
            grown = around.excerpt(most) or around.part(most)
            if grown is None or grown == before:
                return
            self._excerpts[id] = grown
            self._render()
            if self._used <= self._max_tokens:
                return
            room -= self._used - self._max_tokens
            self._excerpts[id] = before
            self._render()

    def _shown(self, id: str) -> str:
        """Return the text of a memory, or its excerpt."""
        excerpt = self._excerpts.get(id)
        return excerpt.text if excerpt else self._texts[id].text

    def _render(self) -> None:
        taken = set(self._chosen)
        self._context = markdown(
            (
                _entry(candidate, self._shown(candidate.id), self._since(candidate))
                for candidate in self._with_texts()
                if candidate.id in taken
            ),
            self._zone,
        )
        self._used = self._tokens.count(self._context)

    def _item(self, ranked: Ranked, rank: int) -> Item:
        candidate = ranked.candidate
        item = _item(ranked, rank, self._texts[candidate.id])
        excerpt, hit = self._excerpts.get(candidate.id), self._hit(candidate)
        if excerpt is None or hit is None:
            return item
        return replace(item, text=excerpt.text, excerpt=shown_excerpt(excerpt, hit))

    def _omitted(self, ranked: Ranked, rank: int, reason: Reason) -> Omitted:
        candidate = ranked.candidate
        return Omitted(
            id=candidate.id,
            client_id=candidate.owner or None,
            external_id=candidate.external_id,
            rank=rank,
            score=ranked.score,
            tokens=self._text_tokens(candidate),
            reason=reason,
        )


def judged_texts(candidate: Candidate, text: MemoryText) -> list[str]:
    """Return the texts that decide the relevance of a memory, however much of it is shown.

    Of a long memory its best passage, and those that were found by words.
    """
    if not candidate.passages:
        return [text.text]
    best = candidate.passages[0]
    nearest = [part.text for part in text.parts if part.place == best.place]
    if not text.parts:
        nearest = [text.text.encode()[best.start : best.end].decode(errors="ignore")]
    worded = [passage.text for passage in candidate.passages if passage.text]
    # Its passages may have been written anew since they were found.
    return [*nearest, *worded] or [text.text]


def worth(score: float, tokens: int) -> float:
    """Return the worth of a memory for a budget: of two that answer alike the cheaper one leaves more room.

    The long answers at the end cost most of a budget, and each says little about the question.
    """
    cost: float = tokens**COST_EXPONENT
    return score / cost


def most_whole(max_tokens: int) -> float:
    """Return the tokens up to which a text is given whole: a reader then misses nothing of it."""
    return max(LARGE_SHARE * max_tokens, min(WHOLE_SHARE * max_tokens, WHOLE_TOKENS))


def first_room(max_tokens: int) -> int:
    """Return the tokens of an excerpt before the remaining room is given to it."""
    return min(max(round(FIRST_SHARE * max_tokens), FIRST_TOKENS.start), FIRST_TOKENS.stop)


def first_excerpt(around: Surroundings, max_tokens: int) -> Excerpt | None:
    """Return the excerpt before the remaining room is given to it; one sentence may be longer than that."""
    return around.excerpt(first_room(max_tokens)) or around.sentence()


def shown_excerpt(excerpt: Excerpt, hit: FoundPassage) -> ShownExcerpt:
    """Return the place of an excerpt, with the scores of the passage around which it is."""
    scores = {"vector": hit.cosine, "bm25": hit.bm25}
    return ShownExcerpt(
        start=excerpt.start,
        end=excerpt.end,
        scores={name: score for name, score in scores.items() if score is not None},
    )


def _moved(ranked: Ranked, head: Head) -> Ranked:
    """Return a head with the score of the version that was found."""
    return replace(ranked, candidate=head, found_id=ranked.found_id or ranked.id)


def _likely(estimates: Sequence[Parcel], max_tokens: int, limit: int) -> list[str]:
    """Return the ids of the texts to fetch: those that fit by estimate, and some for the remaining room."""
    small = [parcel for parcel in estimates if parcel.tokens <= max_tokens]
    first = fitting(small, max_tokens, most=limit)
    if first == [parcel.id for parcel in estimates[:limit]]:
        return first
    spare = fitting(small, max_tokens + max_tokens // SPARE_SHARE, most=2 * limit)
    return list(dict.fromkeys((*first, *spare)))


def speaker(candidate: Candidate) -> str:
    """Return the speaker: the name, else the role; '' for a memory that is not a message."""
    return candidate.name or candidate.role or ""


def _entry(candidate: Candidate, text: str, since: date | None) -> Entry:
    return Entry(
        id=candidate.id,
        kind=candidate.kind,
        text=text,
        session_id=candidate.session_id,
        occurred_at=candidate.occurred_at,
        idx=candidate.idx or 0,
        speaker=speaker(candidate),
        owner=candidate.owner,
        since=since,
    )


def _item(ranked: Ranked, rank: int, text: MemoryText) -> Item:
    candidate = ranked.candidate
    return Item(
        id=candidate.id,
        client_id=candidate.owner or None,
        external_id=candidate.external_id,
        kind=candidate.kind,
        rank=rank,
        text=text.text,
        score=ranked.score,
        relevance=0.0,  # See `graphmem.recall.abstaining`.
        scores=ranked.scores,
        ranks=ranked.ranks,
        role=candidate.role,
        name=candidate.name,
        occurred_at=candidate.occurred_at,
        conversation_id=candidate.conversation_id or None,
        session_id=candidate.session_id or None,
        session_external_id=text.session_external_id,
        metadata=decoded(text.metadata),
        tags=text.tags,
        idx=candidate.idx,
        token_count=candidate.token_count,
    )


def unmarked_item(item: Item) -> Item:
    """Return an item with the ids that its client knows."""
    if item.client_id is None:
        return item
    lifts = item.lifted_by
    return replace(
        item,
        id=bare_id(item.id),
        session_id=bare_id(item.session_id) if item.session_id else None,
        lifted_by=lifts and [replace(one, id=bare_id(one.id)) for one in lifts],
    )


def unmarked_omitted(one: Omitted) -> Omitted:
    """Return an omitted memory with the id that its client knows."""
    return replace(one, id=bare_id(one.id)) if one.client_id else one
