"""Summaries: versioned digests of threads, plans and sessions, and how sessions are related."""

from typing import Any, cast

from graphmem.model.validation import validated
from graphmem.service.bound import Bound, new_id, now
from graphmem.sessions import related as sessions
from graphmem.sessions.summarize import SessionWork, summarize_session
from graphmem.sessions.types import RelatedSessions
from graphmem.summaries import add as writing
from graphmem.summaries import show as reading
from graphmem.summaries.prompt_text import prompt_text
from graphmem.summaries.types import NewSummary, Summaries, SummariesAsked, Summary


class Digests(Bound):
    """What a client can do with its summaries."""

    async def add_summary(self, **fields: Any) -> Summary:
        """Write a summary, as the next version where its target has one already.

        `type` is thread, plan or session; the other fields are those of `NewThreadSummary`,
        `NewPlanSummary` or `NewSessionSummary`. Raises `InvalidInput`, `Unavailable`.
        """
        new: NewSummary = validated(fields, cast("type[Any]", NewSummary))
        return await writing.summarize(
            new,
            client_id=self.client_id,
            now=now(),
            new_id=new_id,
            graph=self.runtime.graph,
            embedder=self.runtime.embedder,
            tokens=self.runtime.tokens,
            calibration=self.runtime.calibration,
        )

    async def summarize_session(self, session_id: str) -> Summary:
        """Summarize a session by its own id, and link it to others; return the summary.

        What comes out as it stands already is no new version. Raises `SessionNotFound`, `InvalidInput`
        where the session holds no message, `Unavailable`.
        """
        summary_id = await summarize_session(
            session_id,
            SessionWork(
                client_id=self.client_id,
                now=now(),
                new_id=new_id,
                graph=self.runtime.graph,
                embedder=self.runtime.embedder,
                tokens=self.runtime.tokens,
                calibration=self.runtime.calibration,
                llm=self.runtime.llm,
            ),
        )
        return await self.summary(summary_id)

    async def related_sessions(self, session_id: str) -> RelatedSessions:
        """Return the sessions that one is related to, the strongest first.

        Raises `SessionNotFound`, `Unavailable`.
        """
        return await sessions.related_sessions(
            session_id, client_id=self.client_id, graph=self.runtime.graph
        )

    async def summaries(self, **asked: Any) -> Summaries:
        """Return summaries, newest activity first; what is asked are `SummariesAsked`'s fields.

        Raises `InvalidInput`, `Unavailable`.
        """
        return await reading.summaries(
            validated(asked, SummariesAsked), client_id=self.client_id, graph=self.runtime.graph
        )

    async def summary(self, summary_id: str) -> Summary:
        """Return one version of a summary. Raises `MemoryNotFound`, `Unavailable`."""
        return await reading.summary(summary_id, client_id=self.client_id, graph=self.runtime.graph)

    @staticmethod
    def prompt_text(summary: Summary) -> str:
        """Return a summary as a model reads it."""
        return prompt_text(summary)
