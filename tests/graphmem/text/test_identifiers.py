"""Identifiers: what is spelled like code, a file, an address or an error code, and what only looks so."""

import pytest

from graphmem.text.identifiers import identifiers


def found(text: str) -> set[str]:
    return {name for _, _, name in identifiers(text)}


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("set max_retries to 3", "max_retries"),
        ("call getUserName first", "getUserName"),
        ("in graphmem.memories.write, I think", "graphmem.memories.write"),
        ("use asyncio.gather here", "asyncio.gather"),
        ("run `make bench` again", "make bench"),
        ("then main() returns", "main()"),
        ("then retry.all() returns", "retry.all()"),
        ("it answers AUTH-401.", "AUTH-401"),
        ("logs E_CLOCK_DRIFT at night", "E_CLOCK_DRIFT"),
        ("failed with 0x80070005", "0x80070005"),
        ("see ticket ops-4711", "ops-4711"),
        ("HTTP 503 again", "HTTP 503"),
        ("an HTTP/1.1 503 again", "HTTP 503"),
        ("status code: 404", "HTTP 404"),
        ("lots of 502 errors", "HTTP 502"),
        ("exit code 137", "exit code 137"),
        ("error 1205 in SQL", "error 1205"),
        ("errno=28", "error 28"),
        ("deploy/ingress.yaml is wrong", "deploy/ingress.yaml"),
        ("see README.md.", "README.md"),
        ("see d.md.", "d.md"),
        ("(see notes.md)", "notes.md"),
        ("in /etc/hosts or so", "/etc/hosts"),
        ("in ~/.config/app.toml", "~/.config/app.toml"),
        ("in ./run.sh", "./run.sh"),
        ("in C:\\logs\\app.log", "C:\\logs\\app.log"),
        ("at https://www.example.org/docs/a?x=1#y", "example.org/docs/a"),
        ("write to mara.l@example.org today", "mara.l@example.org"),
    ],
)
def test_it_is_found(text: str, name: str):
    assert name in found(text)


def test_a_mark_without_a_partner_turns_no_words_into_a_term():
    assert found("a stray ` and `make bench` to the `make lint`") == {"make bench", "make lint"}


@pytest.mark.parametrize(
    "text",
    [
        "and/or, he/she, km/h, 24/7, 10/12/2024, yes/no/maybe",
        "e.g. this, i.e. that, at 3 p.m., a.k.a. them, S.M. of B.C., etc.",
        "3.14, 1.2.3, 12:30, 50%",
        "I went home.then I slept",
        "well-known, up-to-date, top-10, pre-2000",
        "zip code 90210, in 2024, 503 people",
        "@mara #oncall",
        "```\n```",
        "plain words only",
        "a - b -- c / d",
    ],
)
def test_what_only_looks_like_one_is_not(text: str):
    assert found(text) == set()
