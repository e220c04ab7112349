"""Cypher: the whole graph, of all clients, for who runs this installation."""

from collections.abc import Mapping
from typing import Any

from graphmem.exploring import explore
from graphmem.exploring.show_audit import audit
from graphmem.exploring.types import Asked, Audit, AuditAsked, Limits, Outcome, Table, Via
from graphmem.model.validation import validated
from graphmem.service.bound import Bound, new_id, now


class Exploring(Bound):
    """How an operator asks the graph itself; nothing of it is one client's view."""

    async def cypher(
        self,
        query: str,
        parameters: Mapping[str, Any] | None = None,
        *,
        max_rows: int = 1_000,
        timeout_ms: int = 10_000,
        via: Via = "python",
    ) -> Table:
        """Return what a statement that only reads answers; of 50,000 rows and 60,000 ms at most.

        It sees every client. Raises `CypherRefused`, `CypherMistake`, `InvalidInput`, `TookTooLong`,
        `TookTooMuch`, `Unavailable`.
        """
        return await explore(
            query,
            parameters,
            limits=Limits(max_rows=max_rows, timeout_ms=timeout_ms),
            asked=Asked(id=new_id(), client_id=self.client_id, at=now(), via=via),
            graph=self.runtime.graph,
            afterwards=self.runtime.afterwards,
        )

    async def cypher_audit(
        self,
        *,
        client_id: str | None = None,
        outcome: Outcome | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> Audit:
        """Return statements that were sent, of all clients or of one, newest first. Raises `InvalidInput`."""
        asked = {"client_id": client_id, "outcome": outcome, "limit": limit, "cursor": cursor}
        return await audit(validated(asked, AuditAsked), graph=self.runtime.graph)
