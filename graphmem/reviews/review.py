"""Reviews: what a question was shown waits until what happened since tells how well it did."""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict

from graphmem.errors import InvalidInput, MemoryNotFound
from graphmem.graph.driver import Graph, Transaction
from graphmem.graph.query import Query, RowsWritten
from graphmem.jobs.outbox import postpone
from graphmem.memories.delete import LOCK_MEMORY
from graphmem.model.times import BEGINNING, utc
from graphmem.model.vocabulary import Rating
from graphmem.retrieval.decay import FsrsState, MemoryState, review
from graphmem.retrieval.vocabulary import Shares, Vocabulary
from graphmem.retrieve_memory.types import FoundEpisode
from graphmem.reviews.types import Applied, Basis, NewRating, Rated, ReviewsRun
from graphmem.text.common_words import FUNCTION_WORDS
from graphmem.text.words import QUESTION_WORDS, stem, stems

REVIEW_JOB = "reviews"
"""The kind of job that rates a conversation's reviews."""

EXPIRY = timedelta(days=7)
"""How long a review waits for something that speaks about it."""

SOON = timedelta(minutes=10)
"""Within which time a question that comes again tells that its answer did not help."""

NEAR = 0.6
"""From which cosine on a later message may come back to an episode."""

RARE_SHARE = 0.1
"""Up to which share of a client's memories a term counts as rare: those of one topic share its words."""

LATER_MESSAGES = 50
"""How many messages after an answer are looked at."""

SEEN_CHARACTERS = 20_000
"""How much of a text is looked for terms."""

REVIEWS_AT_ONCE = 50
"""How many reviews one transaction rates."""

_COMMON = {stem(word) for word in FUNCTION_WORDS | QUESTION_WORDS}
_WORD = re.compile(r"\w+")


class Shown(Struct, frozen=True, kw_only=True):
    """An episode that a review has shown, and what has happened to it since."""

    id: str
    rank: int
    text: str
    outdated: bool
    later: list[str]


class PendingReview(Struct, frozen=True, kw_only=True):
    """A review that waits, with all that speaks about its episodes."""

    id: str
    query: str
    at: datetime
    asked_soon: list[str]
    episodes: list[Shown]


class LockedReview(Struct, frozen=True):
    """A review that this transaction holds."""

    id: str
    at: datetime


class LockedEpisode(Struct, frozen=True, kw_only=True):
    """A memory that this transaction holds; only an episode has what FSRS knows."""

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
        """What FSRS knows of it."""
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


class Waiting(Struct, frozen=True):
    """The conversations in which reviews wait."""

    conversation_ids: list[str]


class Verdict(Struct, frozen=True, kw_only=True):
    """How an episode is to be rated, and the review that says so."""

    review_id: str
    episode_id: str
    rating: Rating
    basis: Basis
    reviewed_at: datetime


RECORD_REVIEW = Query("reviews/record_review", RowsWritten, writes=True)
KEEP_CALLER_S_REVIEW = Query("reviews/keep_caller_s_review", RowsWritten, writes=True)
LOCK_EPISODES = Query("reviews/lock_episodes", LockedEpisode, writes=True)
LOCK_REVIEWS = Query("reviews/lock_reviews", LockedReview, writes=True)
PENDING_REVIEWS = Query("reviews/pending_reviews", PendingReview)
APPLY_RATINGS = Query("reviews/apply_ratings", RowsWritten, writes=True)
SETTLE_REVIEWS = Query("reviews/settle_reviews", RowsWritten, writes=True)
REVIEWED_CONVERSATIONS = Query("reviews/reviewed_conversations", Waiting)


async def record_review(
    episodes: Sequence[FoundEpisode],
    *,
    client_id: str,
    conversation_id: str,
    query: str,
    id: str,
    job_id: str,
    at: datetime,
    graph: Graph,
) -> None:
    """Keep what a question was shown until it is rated or, by a job seven days after the last, expires.

    Raises `Unavailable`.
    """
    returned = [
        {"id": episode.id, "rank": rank, "score": episode.score}
        for rank, episode in enumerate(episodes, start=1)
    ]

    async def work(transaction: Transaction) -> None:
        [recorded] = await transaction.rows(
            RECORD_REVIEW,
            client_id=client_id,
            id=id,
            conversation_id=conversation_id,
            question=query,
            at=at,
            returned=returned,
        )
        if recorded.written:
            await postpone(
                transaction,
                client_id=client_id,
                id=job_id,
                kind=REVIEW_JOB,
                key=conversation_id,
                payload={"conversation_id": conversation_id},
                now=at,
                run_at=at + EXPIRY,
                conversation_id=conversation_id,
            )

    await graph.write(work)


async def rate(
    memory_id: str,
    new: NewRating,
    *,
    client_id: str,
    review_id: str,
    now: datetime,
    graph: Graph,
) -> Applied:
    """Rate an episode as a caller says; one reviewed at that time or later stays as it is.

    Raises `InvalidInput` for what is no episode, `MemoryNotFound`, `Unavailable`.
    """
    at = utc(new.reviewed_at, "reviewed_at") if new.reviewed_at else now

    async def work(transaction: Transaction) -> Applied:
        # The conversation comes first, as for all who add to it: a deletion waits.
        await transaction.rows(LOCK_MEMORY, client_id=client_id, id=memory_id)
        locked = await transaction.rows(
            LOCK_EPISODES, client_id=client_id, ids=[memory_id], review_id=review_id
        )
        if not locked:
            raise MemoryNotFound(memory_id)
        [episode] = locked
        if episode.state is None:
            raise InvalidInput("memory_id", f"only episodes are rated; this is a {episode.kind}")
        verdict = Verdict(
            review_id=review_id,
            episode_id=memory_id,
            rating=new.rating,
            basis="caller",
            reviewed_at=at,
        )
        rows = _rows([verdict], [episode])
        if rows:
            await transaction.rows(
                KEEP_CALLER_S_REVIEW,
                client_id=client_id,
                id=review_id,
                conversation_id=episode.conversation_id,
                at=at,
            )
            await transaction.rows(APPLY_RATINGS, client_id=client_id, rows=rows)
        # Rated by this very call, in a try whose answer got lost.
        return Applied(applied=bool(rows) or episode.rated)

    return await graph.write(work)


async def run_reviews(
    conversation_id: str | None,
    *,
    client_id: str,
    now: datetime,
    graph: Graph,
    vocabulary: Vocabulary,
) -> ReviewsRun:
    """Rate the episodes of reviews that wait, in one conversation or in all, and say what came of it.

    An unknown conversation has none. Raises `Unavailable`.
    """
    shares = await vocabulary.shares(client_id)
    if conversation_id is not None:
        ids = [conversation_id]
    else:
        [waiting] = await graph.rows(REVIEWED_CONVERSATIONS, client_id=client_id)
        ids = waiting.conversation_ids
    total = ReviewsRun()
    for id in ids:
        after: LockedReview | None = LockedReview("", BEGINNING)
        while after is not None:
            page = Page(client_id, id, now, shares, after)
            run, after = await graph.write(page.rate)
            total += run
    return total


async def review_conversation(
    transaction: Transaction,
    conversation_id: str,
    *,
    client_id: str,
    now: datetime,
    shares: Shares,
) -> ReviewsRun:
    """Rate the episodes of all reviews of a conversation that wait, in a transaction that does more.

    `shares` are `Vocabulary.shares` of the client.
    """
    total = ReviewsRun()
    after: LockedReview | None = LockedReview("", BEGINNING)
    while after is not None:
        run, after = await Page(client_id, conversation_id, now, shares, after).rate(transaction)
        total += run
    return total


class Page(Struct, frozen=True):
    """Some of a conversation's reviews, those recorded after another."""

    client_id: str
    conversation_id: str
    now: datetime
    shares: Shares
    after: LockedReview

    async def rate(self, transaction: Transaction) -> tuple[ReviewsRun, LockedReview | None]:
        """Rate what waits, and return where the next page begins, none after the last.

        The reviews' locks decide who rates them: another run waits, and finds them done.
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
        pending = await self._pending(transaction, locked)
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

    async def _pending(
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


def judged(pending: Sequence[PendingReview], shares: Shares) -> list[Verdict]:
    """Return how the episodes of reviews are to be rated, each once, by the strongest that speaks.

    Nothing is returned for an episode that nothing speaks about.
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
    """Return the ids of the reviews that are done, that have expired, and that go on waiting.

    A review is done when one of its episodes was rated, on its account or another's.
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
    shown: Shown, queries: set[str], shares: Shares, *, asked_again: bool
) -> tuple[Basis, Rating] | None:
    """Return why and how an episode is to be rated, as far as anything speaks about it."""
    if shown.outdated:
        return "outdated", "again"
    telling = {term for term in stems(shown.text) if _is_rare(term, shares)}
    # What repeats the question does not come back to the answer.
    if any(telling & stems(text) for text in shown.later if _plain(text) not in queries):
        return "reused", "easy" if shown.rank == 1 else "good"
    return ("asked_again", "hard") if asked_again else None


def _is_rare(term: str, shares: Shares) -> bool:
    return len(term) > 2 and term not in _COMMON and shares.get(term, 0.0) <= RARE_SHARE


_ORDER: Mapping[Rating, int] = {"again": 3, "easy": 2, "good": 1, "hard": 0}


def _strength(verdict: Verdict) -> tuple[int, datetime]:
    """Return what decides between two verdicts on one episode: what speaks loudest, then the newer."""
    return _ORDER[verdict.rating], verdict.reviewed_at


def _plain(text: str) -> str:
    """Return a text's words alone: the same question may be written in several ways."""
    return " ".join(_WORD.findall(text.casefold()))


def _rows(verdicts: Iterable[Verdict], episodes: Iterable[LockedEpisode]) -> list[dict[str, Any]]:
    """Return what `apply_ratings` takes; an episode that was reviewed by then already is passed over."""
    by_id = {episode.id: episode for episode in episodes}
    rows = []
    for verdict in verdicts:
        episode = by_id.get(verdict.episode_id)
        before = episode.state if episode else None
        if before is None or verdict.reviewed_at <= before.last_reviewed_at:
            continue
        after = review(before, verdict.rating, verdict.reviewed_at)
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
