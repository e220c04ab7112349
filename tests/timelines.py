"""Chains of versions over random times, and the versions that are valid by definition."""

import random
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
HOURS = 24 * 365


@dataclass(frozen=True)
class Version:
    id: str
    valid_at: datetime
    created_at: datetime


@dataclass(frozen=True)
class Over:
    """The end of a version: its place, the time when the end became known, and the end of validity."""

    place: int
    known_at: datetime
    since: datetime


@dataclass(frozen=True)
class Timeline:
    """A chain, oldest first, and the end of one version, if any."""

    versions: tuple[Version, ...]
    over: Over | None = None

    def holding(self, as_of: datetime | None, known_as_of: datetime | None) -> set[str]:
        """Return the ids of the valid versions, by the definition in DECISIONS: Two times."""
        return {
            version.id
            for place, version in enumerate(self.versions)
            if _begun(version, as_of, known_as_of)
            and not any(_begun(one, as_of, known_as_of) for one in self.versions[place + 1 :])
            and not self._is_over(place, as_of, known_as_of)
        }

    def _is_over(self, place: int, as_of: datetime | None, known_as_of: datetime | None) -> bool:
        return (
            self.over is not None
            and self.over.place == place
            and (known_as_of is None or self.over.known_at <= known_as_of)
            and (as_of is None or self.over.since <= as_of)
        )


def _begun(version: Version, as_of: datetime | None, known_as_of: datetime | None) -> bool:
    return (known_as_of is None or version.created_at <= known_as_of) and (
        as_of is None or version.valid_at <= as_of
    )


def moment(chance: random.Random) -> datetime:
    """Return a full hour of the year, or a time just before or after one."""
    tick = chance.choice((-1, 0, 0, 0, 1)) * datetime.resolution
    return BEGIN + timedelta(hours=chance.randrange(HOURS)) + tick


def timeline(name: str, chance: random.Random) -> Timeline:
    """Return a chain of 1–5 versions, with corrections of the past; one chain in three has an end."""
    length = chance.randint(1, 5)
    hours = sorted(chance.sample(range(HOURS), 2 * length))
    created = [BEGIN + timedelta(hours=hour) for hour in hours[::2]]
    versions: list[Version] = []
    for place, written in enumerate(created):
        valid_at = chance.choice((written, moment(chance)))
        if versions and chance.random() < 0.2:
            valid_at = versions[-1].valid_at
        versions.append(Version(f"{name}-v{place + 1}", valid_at, written))
    place = chance.randrange(length)
    known_at = BEGIN + timedelta(hours=hours[2 * place + 1])
    valid_at = versions[place].valid_at
    if chance.random() < 1 / 3 and valid_at < known_at:
        since = valid_at + chance.random() * (known_at - valid_at) + datetime.resolution
        return Timeline(tuple(versions), Over(place, known_at, since))
    return Timeline(tuple(versions))


def asked(chance: random.Random, timelines: list[Timeline]) -> dict[str, Any]:
    """Return random times for a question, one or both; some are times of changes."""
    version = chance.choice(chance.choice(timelines).versions)
    times = {
        "as_of": chance.choice((moment(chance), version.valid_at)),
        "known_as_of": chance.choice((moment(chance), version.created_at)),
    }
    kept = chance.choice((("as_of",), ("known_as_of",), ("as_of", "known_as_of")))
    return {name: times[name] for name in kept}
