"""The tree in the module's docstring is the tree of its classes; each has its code."""

import re

import pytest

from graphmem import errors
from graphmem.errors import (
    ConversationNotFound,
    GraphmemError,
    InvalidInput,
    MemoryNotFound,
    SettingError,
    TooLarge,
    Unavailable,
)

_LINE = re.compile(r"^    (?P<branch>[│├└─ ]*)(?P<name>[A-Z]\w+)(?:  +(?P<about>.*))?$")


def drawn() -> dict[str, str | None]:
    """Return each class that the docstring draws, with the one it hangs from."""
    parents: dict[str, str | None] = {}
    above: dict[int, str] = {}
    for line in (errors.__doc__ or "").splitlines():
        if match := _LINE.match(line):
            depth = len(match["branch"]) // 4
            parents[match["name"]] = above.get(depth - 1)
            above[depth] = match["name"]
    return parents


def defined() -> dict[str, str | None]:
    """Return each class of the module, with its base."""
    classes = [
        each
        for each in vars(errors).values()
        if isinstance(each, type) and issubclass(each, GraphmemError)
    ]
    return {
        each.__name__: each.__bases__[0].__name__ if each is not GraphmemError else None
        for each in classes
    }


def test_the_drawn_tree_is_the_tree_of_classes() -> None:
    assert drawn() == defined()
    assert len(drawn()) > 10


def test_every_error_has_a_code_of_its_own() -> None:
    codes = {getattr(errors, name).code for name in defined()}

    assert len(codes) == len(defined())
    assert MemoryNotFound.code == "memory_not_found"
    assert TooLarge.code == "too_large"
    assert GraphmemError.code == "graphmem_error"


@pytest.mark.parametrize("name", sorted(defined()))
def test_every_error_says_what_it_is(name: str) -> None:
    about = getattr(errors, name).__doc__

    assert about
    assert about.splitlines()[0].endswith(".")


def test_errors_carry_what_they_are_about() -> None:
    invalid, too_large = InvalidInput("query", "is blank"), TooLarge("query", "is long")

    assert (str(invalid), invalid.field) == ("query: is blank", "query")
    assert too_large.field == "query"
    assert (str(MemoryNotFound("m1")), MemoryNotFound("m1").memory_id) == ("no memory 'm1'", "m1")
    assert ConversationNotFound("c1").conversation_id == "c1"
    assert str(ConversationNotFound("c1")) == "no conversation 'c1'"
    assert SettingError("GRAPHMEM_PORT", "is no number").name == "GRAPHMEM_PORT"
    assert Unavailable("asleep").retry_after == 2
    assert Unavailable("asleep", retry_after=9).retry_after == 9


def test_an_error_named_by_hand_keeps_its_code() -> None:
    class Named(InvalidInput):
        code = "by_hand"

    class HTTPTrouble(Named):
        pass

    assert Named.code == "by_hand"
    assert HTTPTrouble.code == "h_t_t_p_trouble"
