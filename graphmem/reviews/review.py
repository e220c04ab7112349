"""Reviews: the episodes of an answer are rated from later events, or by the caller."""

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict, replace

from graphmem.context import Context
from graphmem.errors import InvalidInput, MemoryNotFound
from graphmem.graph.driver import Transaction
from graphmem.graph.query import Query, RowsWritten
from graphmem.jobs.outbox import postpone
from graphmem.memories.memory import LOCK_MEMORY
from graphmem.model.pages import listing, page
from graphmem.model.times import BEGINNING, happened
from graphmem.model.vocabulary import Rating
from graphmem.retrieval import decay
from graphmem.retrieval.decay import FsrsState, MemoryState
from graphmem.retrieval.understanding import Shares
from graphmem.retrieve_memory.types import FoundEpisode
from graphmem.reviews.types import (
    REVIEW_STATES,
    Applied,
    Basis,
    NewRating,
    Rated,
    Review,
    Reviews,
    ReviewsAsked,
    ReviewsRun,
)
from graphmem.text.common_words import FUNCTION_WORDS
from graphmem.text.words import QUESTION_WORDS, stem, stems

REVIEW_JOB = "reviews"
"""The kind of job that rates a conversation's reviews."""

EXPIRY = timedelta(days=7)
"""The time for which a review waits for events that rate its episodes."""

SOON = timedelta(minutes=10)
"""A question that is repeated within this time was not answered well."""

NEAR = 0.6
"""The lowest cosine at which a later message may refer to an episode."""

RARE_SHARE = 0.1
"""A rare term is in at most this share of a client's memories; memories of one topic share its words."""

LATER_MESSAGES = 50
"""The number of messages after an answer that are read."""

SEEN_CHARACTERS = 20_000
"""The number of characters of a text that are searched for terms."""

REVIEWS_AT_ONCE = 50
"""The number of reviews that one transaction rates."""

_COMMON = {stem(word) for word in FUNCTION_WORDS | QUESTION_WORDS}
_WORD = re.compile(r"\w+")


class ShownEpisode(Struct, frozen=True, kw_only=True):
    """An episode of an answer, and the later messages that may refer to it."""

    id: str
    rank: int
    text: str
    outdated: bool
    later: list[str]


class PendingReview(Struct, frozen=True, kw_only=True):
    """A pending review, with the later events that rate its episodes."""

    id: str
    query: str
    at: datetime
    asked_soon: list[str]
    episodes: list[ShownEpisode]


class LockedReview(Struct, frozen=True):
    """A review that this transaction has locked."""

    id: str
    at: datetime


class LockedEpisode(Struct, frozen=True, kw_only=True):
    """A memory that this transaction has locked; only an episode has a state for FSRS."""

    id: str
    kind: str
    conversation_id: str
    stability: float | None
    difficulty: float | None
    last_reviewed_at: datetime | None
    fsrs_state: FsrsState | None
    fsrs_step: int | None
    rated: bool

    @property
    def state(self) -> MemoryState | None:
        """Its state for FSRS."""
        if (
            self.stability is None
            or self.difficulty is None
            or self.last_reviewed_at is None
            or self.fsrs_state is None
        ):
            return None
        return MemoryState(
            stability=self.stability,
            difficulty=self.difficulty,
            last_reviewed_at=self.last_reviewed_at,
            fsrs_state=self.fsrs_state,
            fsrs_step=self.fsrs_step,
        )


class ReviewedConversations(Struct, frozen=True):
    """The conversations with pending reviews."""

    conversation_ids: list[str]


class Verdict(Struct, frozen=True, kw_only=True):
    """The rating of an episode, and the review that it follows from."""

    review_id: str
    episode_id: str
    rating: Rating
    basis: Basis
    reviewed_at: datetime


RECORD_REVIEW = Query("reviews/record_review", RowsWritten, writes=True)
KEEP_GIVEN_REVIEW = Query("reviews/keep_given_review", RowsWritten, writes=True)
LOCK_EPISODES = Query("reviews/lock_episodes", LockedEpisode, writes=True)
LOCK_REVIEWS = Query("reviews/lock_reviews", LockedReview, writes=True)
PENDING_REVIEWS = Query("reviews/pending_reviews", PendingReview)
APPLY_RATINGS = Query("reviews/apply_ratings", RowsWritten, writes=True)
SETTLE_REVIEWS = Query("reviews/settle_reviews", RowsWritten, writes=True)
REVIEWED_CONVERSATIONS = Query("reviews/reviewed_conversations", ReviewedConversations)


async def record_review(
    episodes: Sequence[FoundEpisode],
    *,
    conversation_id: str,
    query: str,
    at: datetime,
    context: Context,
) -> None:
    """Keep the episodes of an answer as a pending review, and queue the job that rates it in seven days.

    Raises `Unavailable`.
    """
    id, job_id = context.new_id(), context.new_id()
    returned = [
        {"id": episode.id, "rank": rank, "score": episode.score}
        for rank, episode in enumerate(episodes, start=1)
    ]

    async def write_review(transaction: Transaction) -> None:
        [recorded] = await transaction.rows(
            RECORD_REVIEW,
            client_id=context.client_id,
            id=id,
            conversation_id=conversation_id,
            question=query,
            at=at,
            returned=returned,
        )
        if recorded.written:
            await postpone(
                transaction,
                client_id=context.client_id,
                id=job_id,
                kind=REVIEW_JOB,
                key=conversation_id,
                payload={"conversation_id": conversation_id},
                now=at,
                run_at=at + EXPIRY,
                conversation_id=conversation_id,
            )

    await context.graph.write(write_review)


async def review(memory_id: str, new: NewRating, context: Context) -> Applied:
    """Rate an episode for a caller; one that was reviewed at that time or later stays unchanged.

    Raises `InvalidInput` for a memory that is not an episode and for a time in the future, `MemoryNotFound`,
    `Unavailable`.
    """
    now = context.now()
    at = happened(new.reviewed_at, "reviewed_at", now) if new.reviewed_at else now
    verdict = Verdict(
        review_id=context.new_id(),
        episode_id=memory_id,
        rating=new.rating,
        basis="caller",
        reviewed_at=at,
    )
    applied = await context.graph.write(
        lambda transaction: _apply_given(transaction, verdict, context.client_id)
    )
    return Applied(applied=applied)


async def _apply_given(transaction: Transaction, verdict: Verdict, client_id: str) -> bool:
    """Apply a caller's rating; return whether it counts."""
    # The conversation is locked first, as in all writes to it: a deletion waits.
    await transaction.rows(LOCK_MEMORY, client_id=client_id, id=verdict.episode_id)
    locked = await transaction.rows(
        LOCK_EPISODES,
        client_id=client_id,
        ids=[verdict.episode_id],
        review_id=verdict.review_id,
    )
    if not locked:
        raise MemoryNotFound(verdict.episode_id)
    [episode] = locked
    if episode.state is None:
        raise InvalidInput("memory_id", f"only episodes are rated; this is a {episode.kind}")
    rows = _rows([verdict], [episode])
    if rows:
        await transaction.rows(
            KEEP_GIVEN_REVIEW,
            client_id=client_id,
            id=verdict.review_id,
            conversation_id=episode.conversation_id,
            at=verdict.reviewed_at,
        )
        await transaction.rows(APPLY_RATINGS, client_id=client_id, rows=rows)
    # `rated`: an earlier try of this transaction, whose answer was lost, has applied it.
    return bool(rows) or episode.rated


async def run_reviews(conversation_id: str | None, context: Context) -> ReviewsRun:
    """Rate the episodes of pending reviews, in one conversation or in all; return the counts.

    An unknown conversation has no reviews. Raises `Unavailable`.
    """
    client_id, graph, now = context.client_id, context.graph, context.now()
    shares = await context.vocabulary.shares(client_id)
    if conversation_id is not None:
        ids = [conversation_id]
    else:
        [reviewed] = await graph.rows(REVIEWED_CONVERSATIONS, client_id=client_id)
        ids = reviewed.conversation_ids
    total = ReviewsRun()
    for id in ids:
        first = ReviewPage(client_id, id, now, shares)
        # A transaction for each page.
        total += await _rate_pages(first, lambda one: graph.write(one.rate))
    return total


async def review_conversation(
    transaction: Transaction,
    conversation_id: str,
    *,
    client_id: str,
    now: datetime,
    shares: Shares,
) -> ReviewsRun:
    """Rate the episodes of all pending reviews of a conversation, inside a larger transaction.

    `shares` are `Vocabulary.shares` of the client.
    """
    first = ReviewPage(client_id, conversation_id, now, shares)
    return await _rate_pages(first, lambda one: one.rate(transaction))


NO_REVIEW = LockedReview("", BEGINNING)
"""The review before the first one."""


class ReviewPage(Struct, frozen=True):
    """A page of a conversation's pending reviews: those recorded after another one."""

    client_id: str
    conversation_id: str
    now: datetime
    shares: Shares
    after: LockedReview = NO_REVIEW

    async def rate(self, transaction: Transaction) -> tuple[ReviewsRun, LockedReview | None]:
        """Rate the page's reviews; return the review that the next page follows, None at the end.

        Reviews are locked, so that a concurrent run waits and finds them done.
        """
        locked = await transaction.rows(
            LOCK_REVIEWS,
            client_id=self.client_id,
            conversation_id=self.conversation_id,
            after=self.after.at,
            after_id=self.after.id,
            limit=REVIEWS_AT_ONCE,
        )
        if not locked:
            return ReviewsRun(), None
        pending = await self._read_pending(transaction, locked)
        verdicts = judged(pending, self.shares)
        rows = await self._apply(transaction, verdicts)
        done, expired, waiting = sorted_out(pending, verdicts, self.now)
        for state, ids in (("done", done), ("expired", expired)):
            await transaction.rows(SETTLE_REVIEWS, client_id=self.client_id, ids=ids, state=state)
        ratings = [row["rated"]["rating"] for row in rows]
        run = ReviewsRun(
            reviews=len(pending),
            done=len(done),
            expired=len(expired),
            waiting=len(waiting),
            again=ratings.count("again"),
            hard=ratings.count("hard"),
            good=ratings.count("good"),
            easy=ratings.count("easy"),
            stale=len(verdicts) - len(rows),
        )
        return run, locked[-1] if len(locked) == REVIEWS_AT_ONCE else None

    async def _read_pending(
        self, transaction: Transaction, locked: Sequence[LockedReview]
    ) -> list[PendingReview]:
        return await transaction.rows(
            PENDING_REVIEWS,
            client_id=self.client_id,
            conversation_id=self.conversation_id,
            ids=[one.id for one in locked],
            since=locked[0].at,
            soon=int(SOON.total_seconds()),
            most=LATER_MESSAGES,
            near=NEAR,
            characters=SEEN_CHARACTERS,
        )

    async def _apply(
        self, transaction: Transaction, verdicts: Sequence[Verdict]
    ) -> list[dict[str, Any]]:
        episodes = await transaction.rows(
            LOCK_EPISODES,
            client_id=self.client_id,
            ids=sorted(verdict.episode_id for verdict in verdicts),
            review_id="",
        )
        rows = _rows(verdicts, episodes)
        await transaction.rows(APPLY_RATINGS, client_id=self.client_id, rows=rows)
        return rows


async def _rate_pages(
    first: ReviewPage,
    rate: Callable[[ReviewPage], Awaitable[tuple[ReviewsRun, LockedReview | None]]],
) -> ReviewsRun:
    """Rate all pages of a conversation's pending reviews, from the first one on; return the counts."""
    total, after = await rate(first)
    while after is not None:
        run, after = await rate(replace(first, after=after))
        total += run
    return total


def judged(pending: Sequence[PendingReview], shares: Shares) -> list[Verdict]:
    """Return the strongest verdict on each episode of the reviews.

    An episode without a referring event has none.
    """
    queries = {_plain(one.query) for one in pending}
    verdicts: dict[str, Verdict] = {}
    for one in pending:
        asked_again = _plain(one.query) in map(_plain, one.asked_soon)
        for shown in one.episodes:
            found = _rating(shown, queries, shares, asked_again=asked_again)
            if found is None:
                continue
            basis, rating = found
            verdict = Verdict(
                review_id=one.id,
                episode_id=shown.id,
                rating=rating,
                basis=basis,
                reviewed_at=one.at,
            )
            known = verdicts.get(shown.id)
            if known is None or _strength(verdict) >= _strength(known):
                verdicts[shown.id] = verdict
    return list(verdicts.values())


def sorted_out(
    pending: Iterable[PendingReview], verdicts: Iterable[Verdict], now: datetime
) -> tuple[list[str], list[str], list[str]]:
    """Return the ids of the reviews that are done, that have expired, and that remain pending.

    A review is done when one of its episodes was rated, in this review or another.
    """
    rated = {verdict.episode_id for verdict in verdicts}
    done, expired, waiting = [], [], []
    for one in pending:
        if any(shown.id in rated for shown in one.episodes):
            done.append(one.id)
        elif now - one.at >= EXPIRY:
            expired.append(one.id)
        else:
            waiting.append(one.id)
    return done, expired, waiting


def _rating(
    shown: ShownEpisode, queries: set[str], shares: Shares, *, asked_again: bool
) -> tuple[Basis, Rating] | None:
    """Return the basis and the rating of an episode, None if no event refers to it."""
    if shown.outdated:
        return "outdated", "again"
    rare = {term for term in stems(shown.text) if _is_rare(term, shares)}
    # A message that repeats the question does not refer to the answer.
    if any(rare & stems(text) for text in shown.later if _plain(text) not in queries):
        return "reused", "easy" if shown.rank == 1 else "good"
    return ("asked_again", "hard") if asked_again else None


def _is_rare(term: str, shares: Shares) -> bool:
    return len(term) > 2 and term not in _COMMON and shares.get(term, 0.0) <= RARE_SHARE


_ORDER: Mapping[Rating, int] = {"again": 3, "easy": 2, "good": 1, "hard": 0}


def _strength(verdict: Verdict) -> tuple[int, datetime]:
    """Return the sort key of verdicts on one episode: by rating, then the newer wins."""
    return _ORDER[verdict.rating], verdict.reviewed_at


def _plain(text: str) -> str:
    """Return only the words of a text, so that spellings of the same question are equal."""
    return " ".join(_WORD.findall(text.casefold()))


def _rows(verdicts: Iterable[Verdict], episodes: Iterable[LockedEpisode]) -> list[dict[str, Any]]:
    """Return the rows of `apply_ratings`; episodes that were reviewed at that time or later are skipped."""
    by_id = {episode.id: episode for episode in episodes}
    rows = []
    for verdict in verdicts:
        episode = by_id.get(verdict.episode_id)
        before = episode.state if episode else None
        if before is None or verdict.reviewed_at <= before.last_reviewed_at:
            continue
        after = decay.review(before, verdict.rating, verdict.reviewed_at)
        rows.append(
            {
                "review_id": verdict.review_id,
                "episode_id": verdict.episode_id,
                "state": asdict(after),
                "rated": asdict(
                    Rated(
                        rating=verdict.rating,
                        basis=verdict.basis,
                        reviewed_at=verdict.reviewed_at,
                        stability_before=before.stability,
                        stability_after=after.stability,
                        difficulty_before=before.difficulty,
                        difficulty_after=after.difficulty,
                    )
                ),
            }
        )
    return rows


REVIEWS = Query("reviews/reviews", Review)


async def show_reviews(asked: ReviewsAsked, context: Context) -> Reviews:
    """Return a page of a client's reviews, newest first, with the cursor of the next page.

    Raises `InvalidInput`, `Unavailable`.
    """
    listed = listing(asked)
    before, before_id = listed.position(asked.cursor)
    rows = await context.graph.rows(
        REVIEWS,
        client_id=context.client_id,
        states=[asked.state] if asked.state else list(REVIEW_STATES),
        conversation_ids=[asked.conversation_id] if asked.conversation_id else [],
        before=before,
        before_id=before_id,
        limit=asked.limit + 1,
    )
    shown, after = page(rows, asked.limit, lambda row: listed.cursor(row.at, row.id))
    return Reviews(reviews=shown, cursor=after)
