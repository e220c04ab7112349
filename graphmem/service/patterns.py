"""Patterns: what shows only across sessions."""

from collections.abc import Mapping
from typing import Any

from graphmem.model.validation import validated
from graphmem.patterns import running
from graphmem.patterns.types import PatternAnswer, PatternAsked, Patterns
from graphmem.service.bound import Bound, now


class Spotting(Bound):
    """How a client looks for patterns."""

    @staticmethod
    def patterns() -> Patterns:
        """Return the catalogue: what each pattern finds, what may be set, what it answers."""
        return Patterns(patterns=running.patterns())

    async def pattern(
        self, name: str, parameters: Mapping[str, Any] | None = None
    ) -> PatternAnswer:
        """Return what a pattern finds, at most 1,000 rows; for what is not set the defaults hold.

        Raises `PatternNotFound`, `InvalidInput`, `TookTooLong`, `Unavailable`.
        """
        asked = validated({"parameters": parameters or {}}, PatternAsked)
        return await running.run(
            name,
            asked.parameters,
            asked=running.Asked(self.client_id, now()),
            graph=self.runtime.graph,
            embedder=self.runtime.embedder,
        )
