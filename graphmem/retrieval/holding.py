"""Which versions of a memory a question sees: those that hold at the times that it asks for.

A version holds where it was true by `as_of` and known by `known_as_of`, and no newer version of its chain
was both; nor was it said by then to be over. The times in the indexes only narrow what is looked at: when
a version's truth ended is a question about the versions after it, and about when those became known.
"""

from datetime import datetime
from typing import Any

from msgspec import Struct

from graphmem.model.times import BEGINNING, END, utc

LATEST = END - datetime.resolution
"""The last moment that can be asked for; what was never true begins behind it."""


class Holding(Struct, frozen=True, kw_only=True):
    """The times that are asked for: what was true then, what was known then; without either, now.

    `include_superseded` lets pass what has ended too, as far as it had begun.
    """

    as_of: datetime | None = None
    known_as_of: datetime | None = None
    include_superseded: bool = False

    @property
    def only_active(self) -> bool:
        """Whether only what holds now is found."""
        return self == NOW_ONLY

    @property
    def conditions(self) -> dict[str, Any]:
        """Return what the queries take: when a memory began, when it may end, who decides on that.

        With `ending` newer versions decide. What is known now tells when truth ended, so that `as_of`
        alone narrows by it; what was known then was not superseded then, so that `known_as_of` alone
        narrows by that. With both neither does: a version may have been superseded by then, or have
        ended by what became known later.
        """
        plain = END if self.only_active else BEGINNING
        only_true = self.known_as_of is None and not self.include_superseded
        only_known = self.as_of is None and not self.include_superseded
        return {
            "valid_by": self.as_of or LATEST,
            "invalid_from": (_after(self.as_of) if only_true else None) or plain,
            "created_by": self.known_as_of or END,
            "superseded_from": (_after(self.known_as_of) if only_known else None) or plain,
            "ending": not self.only_active and not self.include_superseded,
        }

    @property
    def of_versions(self) -> dict[str, Any]:
        """Return the conditions for what has versions, and whether they decide: else what is active holds."""
        return self.conditions | {"timed": not self.only_active}

    @property
    def of_messages(self) -> dict[str, Any]:
        """Return the conditions for what has no versions and never ends."""
        every = self.of_versions
        return {name: every[name] for name in ("timed", "valid_by", "created_by")}


NOW_ONLY = Holding()
"""What holds now."""


def holding_asked(
    as_of: datetime | None, known_as_of: datetime | None, include_superseded: bool
) -> Holding:
    """Return the times of a question in UTC. Raises `InvalidInput`."""
    return Holding(
        as_of=utc(as_of, "as_of") if as_of else None,
        known_as_of=utc(known_as_of, "known_as_of") if known_as_of else None,
        include_superseded=include_superseded,
    )


def _after(moment: datetime | None) -> datetime | None:
    """Return the next moment that a time property can hold."""
    return moment + datetime.resolution if moment else None
