"""Long texts that say nothing that is asked: logs, traces, code, tables, records, minutes and answers."""

import json
import random
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from graphmem.tokens import TokenCounter

FILE = Path(__file__).with_name("pieces.tsv")


def pieces() -> Mapping[tuple[str, str], Sequence[str]]:
    """Return the parts of sentences by language and part."""
    found: dict[tuple[str, str], list[str]] = defaultdict(list)
    for line in FILE.read_text(encoding="utf-8").splitlines():
        language, part, text = line.split("\t")
        found[language, part].append(text)
    return found


PIECES = pieces()
SERVICES = "gateway scheduler billing indexer mailer auth catalog search uploader metrics".split()  # noqa: SIM905
EVENTS = (
    "request {n} finished with status 200 in {m} ms",
    "connection pool grew to {m} of 64",
    "retrying job {n} in {m} s",
    "cache miss for key user:{n}",
    "flushed {m} segments to disk",
    "heartbeat from worker {m} received",
    "token for session {n} refreshed",
    "queue depth is {m}",
    "slow query took {n} ms: SELECT * FROM orders WHERE id = {m}",
    "garbage collection paused for {m} ms",
    "config reloaded, {m} keys changed",
    "upload {n} stored as object {m}",
    "health check of node {m} passed",
    "dropped {m} expired entries",
    "client 10.0.{m}.{m} disconnected",
    "disk usage at {m} percent",
)
VERBS = "load parse merge resolve dispatch render convert validate fetch encode".split()  # noqa: SIM905
NOUNS = "order invoice profile frame route schedule token image record session".split()  # noqa: SIM905
GOODS = (
    "drill",
    "canvas",
    "violin bow",
    "garden hose",
    "oak table",
    "lens",
    "saddle",
    "kettle",
    "coat",
)
STATES = ("delivered", "in repair", "ordered", "returned", "paid", "on loan", "checked", "archived")
PLACES = ("Utrecht", "Graz", "Toledo", "Malmö", "Bristol", "Cádiz", "Kassel", "Leeds", "Trieste")

SENTENCES_IN_PARAGRAPH = 6


def filler(
    form: str, language: str, wanted: int, made: random.Random, tokens: TokenCounter
) -> list[str]:
    """Return the lines of a text of about so many tokens."""
    lines: list[str] = []
    length = 0
    while length < wanted:
        line = LINES[form](language, made, len(lines))
        lines.append(line)
        length += tokens.count(line) + 1
    return lines


def _time(made: random.Random, place: int) -> str:
    day, hour, minute = 1 + place // 1440 % 28, place // 60 % 24, place % 60
    return f"2025-03-{day:02d}T{hour:02d}:{minute:02d}:{made.randint(10, 59)}Z"


def _log(_language: str, made: random.Random, place: int) -> str:
    event = made.choice(EVENTS).format(n=made.randint(1_000, 99_999), m=made.randint(2, 99))
    level = made.choice(("INFO", "INFO", "DEBUG", "WARN"))
    return f"{_time(made, place)} {level} {made.choice(SERVICES)}[{made.randint(100, 999)}] {event}"


def _trace(_language: str, made: random.Random, place: int) -> str:
    if place % 14 == 0:
        name = (
            f"{made.choice(NOUNS).title()}{made.choice(('Timeout', 'Missing', 'Locked'))}Exception"
        )
        return f'Exception in thread "worker-{place}" com.acme.{made.choice(SERVICES)}.{name}'
    noun, verb = made.choice(NOUNS), made.choice(VERBS)
    return (
        f"    at com.acme.{made.choice(SERVICES)}.{noun.title()}{verb.title()}r.{verb}"
        f"({noun.title()}.java:{made.randint(12, 990)})"
    )


def _code(_language: str, made: random.Random, place: int) -> str:
    verb, noun, other = made.choice(VERBS), made.choice(NOUNS), made.choice(NOUNS)
    match place % 6:
        case 0:
            return f"\ndef {verb}_{noun}_{place}({noun}, {other}_id=None):"
        case 1:
            return f'    """{verb.title()} the {noun} of a {other} and return it."""'
        case 2:
            return f"    if {noun}.{other} is None or len({noun}.items) > {made.randint(3, 400)}:"
        case 3:
            return f"        raise {other.title()}Error({made.choice(NOUNS)!r}, {noun}.id)"
        case 4:
            return f"    {other} = [{verb}(one, {made.randint(1, 64)}) for one in {noun}.items if one.ready]"
        case _:
            return f"    return {other}[-1] if {other} else {noun}"


def _csv(language: str, made: random.Random, place: int) -> str:
    mark = "," if language == "en" else ";"
    day = f"2024-{made.randint(1, 12):02d}-{made.randint(1, 28):02d}"
    number = f"{made.choice('ABCDEFG')}-{1_000 + place}"
    return mark.join(
        (
            day,
            number,
            made.choice(GOODS),
            made.choice(PLACES),
            str(made.randint(10, 9_000)),
            made.choice(STATES),
        )
    )


def _json(_language: str, made: random.Random, place: int) -> str:
    return json.dumps(
        {
            "id": f"{made.choice(NOUNS)}-{place:05d}",
            "place": made.choice(PLACES),
            "status": made.choice(STATES),
            "load": round(made.random(), 3),
            "tags": made.sample(NOUNS, 2),
        },
        ensure_ascii=False,
    )


def _sentence(language: str, made: random.Random) -> str:
    subject, act, end = (made.choice(PIECES[language, part]) for part in ("subject", "act", "end"))
    return f"{subject[0].upper()}{subject[1:]} {act} {end}."


def _prose(language: str, made: random.Random, _place: int) -> str:
    return " ".join(
        _sentence(language, made) for _ in range(made.randint(2, SENTENCES_IN_PARAGRAPH))
    )


def _minutes(language: str, made: random.Random, place: int) -> str:
    top = {"en": "Item", "de": "Punkt", "es": "Punto"}[language]
    head = f"{top} {place // 5 + 1}. " if place % 5 == 0 else "- "
    return f"{head}{_sentence(language, made)}"


LINES: dict[str, Callable[[str, random.Random, int], str]] = {
    "log": _log,
    "trace": _trace,
    "code": _code,
    "csv": _csv,
    "json": _json,
    "minutes": _minutes,
    "answer": _prose,
}
"""How a line of each form is made: from the language, the chance and its place."""
