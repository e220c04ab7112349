"""What comes from outside is checked, and the sentence names the field and what it may be."""

import math
from datetime import UTC, date, datetime
from http import HTTPMethod
from typing import Any
from uuid import UUID

import msgspec
import pytest

from graphmem.contextual.types import ContextualQuery
from graphmem.conversations.types import Batch, NewConversation, NewMessage
from graphmem.entities.aliases import EntitiesAsked
from graphmem.errors import InvalidInput
from graphmem.exploring.types import AuditAsked
from graphmem.facts.types import NewFact
from graphmem.jobs.outbox import JobsAsked
from graphmem.memories.links import LinksAsked
from graphmem.model.annotations import ChangedAnnotations
from graphmem.model.pages import MOST_ENTRIES
from graphmem.model.validation import MOST_NESTED, as_json, invalid, listed, text_id, validated
from graphmem.model.vocabulary import KINDS, ClientId
from graphmem.recall.types import Question
from graphmem.references.types import ReferencesAsked
from graphmem.reviews.types import ReviewsAsked
from graphmem.runs.types import AccessesAsked, RunQuestion, RunsAsked
from graphmem.search.types import SearchQuery
from graphmem.summaries.types import NewSummary, SummariesAsked

SAID: dict[str, Any] = {"session_id": "s", "role": "user", "content": "Hello."}


def refused(value: Any, wanted: Any) -> InvalidInput:
    with pytest.raises(InvalidInput) as caught:
        validated(value, wanted)
    assert str(caught.value).startswith(f"{caught.value.field}: ")
    return caught.value


def test_what_fits_becomes_the_struct() -> None:
    assert validated({"query": "Where?"}, Question) == Question(query="Where?")
    assert validated({"messages": [SAID]}, Batch).messages == [NewMessage(**SAID)]


def test_a_struct_is_checked_too() -> None:
    assert validated(NewMessage(**SAID), NewMessage) == NewMessage(**SAID)
    assert refused(NewMessage(**SAID | {"name": ""}), NewMessage).field == "name"


@pytest.mark.parametrize(
    ("value", "field"),
    [
        ({"query": "half \ud83d"}, "query"),
        ({"query": "?", "tags": ["a", "\ud83d"]}, "tags[1]"),
        ({"query": "?", "\ud83d": 1}, "body"),
    ],
)
def test_half_of_a_surrogate_pair_is_refused_wherever_it_is(value: Any, field: str) -> None:
    problem = refused(value, Question)
    assert problem.field == field
    assert "is half of a surrogate pair, not a character; send whole characters" in str(problem)


def test_an_id_is_a_text_in_whatever_type_it_comes() -> None:
    class Named(str): ...

    assert text_id("ü", "id") == text_id(Named("ü"), "id") == "ü"
    assert text_id(UUID(int=7), "id") == str(UUID(int=7))


@pytest.mark.parametrize(
    ("value", "wanted", "known"),
    [
        ({"messages": [SAID | {"when": 3}]}, Batch, "it may have metadata, tags, expires_at,"),
        ({"query": "?", "when": 3}, Question, "it may have query, conversation_id,"),
        ({"when": 3}, Batch, "it may have messages, create"),
    ],
)
def test_beside_an_unknown_field_those_that_there_are_are_named(
    value: Any, wanted: Any, known: str
) -> None:
    assert known in str(refused(value, wanted))


def test_a_time_is_read_with_its_zone() -> None:
    question = validated({"query": "?", "since": "2026-03-02T09:30:00Z"}, Question)

    assert question.since == datetime(2026, 3, 2, 9, 30, tzinfo=UTC)
    assert refused({"query": "?", "since": "2026-03-02T09:30:00"}, Question).field == "since"


@pytest.mark.parametrize(
    ("value", "field"),
    [
        ({"query": ""}, "query"),
        ({}, "query"),
        ({"query": "?", "limit": 0}, "limit"),
        ({"query": "?", "limit": 201}, "limit"),
        ({"query": "?", "limit": "20"}, "limit"),
        ({"query": "?", "limit": True}, "limit"),
        ({"query": "?", "max_tokens": 200_001}, "max_tokens"),
        ({"query": "?", "kinds": []}, "kinds"),
        ({"query": "?", "kinds": ["fact", "feeling"]}, "kinds[1]"),
        ({"query": "?", "ranking": "best"}, "ranking"),
        ({"query": "?", "unheard": 1}, "unheard"),
        ({"query": "?", "explain": "yes"}, "explain"),
        ([], "body"),
        ("text", "body"),
        (None, "body"),
    ],
)
def test_the_field_is_named(value: Any, field: str) -> None:
    assert refused(value, Question).field == field


@pytest.mark.parametrize(
    ("message", "field"),
    [
        (SAID | {"role": "robot"}, "messages[1].role"),
        (SAID | {"content": 5}, "messages[1].content"),
        (SAID | {"importance": 1.5}, "messages[1].importance"),
        (SAID | {"unheard": 1}, "messages[1].unheard"),
        ({"session_id": "s", "content": "x"}, "messages[1].role"),
        ("text", "messages[1]"),
    ],
)
def test_the_place_in_a_list_is_named(message: Any, field: str) -> None:
    assert refused({"messages": [SAID, message]}, Batch).field == field


def test_too_few_and_too_many_messages_name_the_list() -> None:
    assert refused({"messages": []}, Batch).field == "messages"
    assert refused({"messages": [SAID] * 1001}, Batch).field == "messages"


def test_a_closed_list_is_told() -> None:
    sentence = str(refused({"query": "?", "kinds": ["feeling"]}, Question))
    assert sentence.endswith(f"; it is one of {', '.join(sorted(KINDS))}")

    sentence = str(refused({"messages": [SAID | {"role": "robot"}]}, Batch))
    assert sentence.endswith(
        "; it is one of ai, assistant, developer, function, human, system, tool, user"
    )


@pytest.mark.parametrize(
    ("type", "said"),
    [
        (None, "null"),
        (5, "a whole number"),
        ([], "a list"),
        ({}, "an object"),
        (True, "true or false"),
    ],
)
def test_a_type_that_is_no_text_is_told_in_words(type: Any, said: str) -> None:
    problem = refused({"type": type, "target_id": "s"}, NewSummary)
    assert str(problem).startswith(f"type: expected a text, got {said}; it is one of thread, plan")


def test_what_an_id_may_be_is_told() -> None:
    sentence = str(refused({"id": "no spaces"}, NewConversation))

    assert sentence.startswith("id: does not have the form that it must have; ")
    assert sentence.endswith("; 1–128 of letters, digits, `.`, `_`, `:` and `-`")


@pytest.mark.parametrize(
    ("given", "wanted", "said"),
    [
        ({"query": "?", "top_sessions": 21}, ContextualQuery, "; 1–20; maximum number of sessions"),
        ({"limit": 0}, ReviewsAsked, "; entries on a page, 1–200"),
        ({"limit": 201}, ReviewsAsked, "; entries on a page, 1–200"),
        ({"fact": "x", "importance": 1.5}, NewFact, "; 0–1"),
    ],
)
def test_both_bounds_of_a_number_are_told(given: Any, wanted: type, said: str) -> None:
    assert str(refused(given, wanted)).endswith(said)


@pytest.mark.parametrize("id", ["a", "A.b_c:d-9", "x" * 128])
def test_a_legal_id_is_taken(id: str) -> None:
    assert validated(id, ClientId) == id


@pytest.mark.parametrize("id", ["", "x" * 129, "a b", "a/b", "é", "a\n", "a\0", "{}"])
def test_an_illegal_id_is_refused(id: str) -> None:
    refused(id, ClientId)


def test_a_field_whose_name_holds_a_backtick_or_a_line_break_is_named_whole() -> None:
    assert refused({"query": "?", "a`b\nc": 1}, Question).field == "a`b\nc"


def test_msgspecs_complaint_about_a_body_becomes_ours() -> None:
    with pytest.raises(msgspec.ValidationError) as caught:
        msgspec.json.decode(b'{"query": 5}', type=Question)

    problem = invalid(caught.value, Question)

    assert problem.field == "query"
    assert str(problem) == "query: expected a text, got a whole number"


NO_TAG = (
    "tags[0]: does not have the form that it must have; 1–64 characters without commas and line breaks, and "
    "no white space at its ends"
)


@pytest.mark.parametrize(
    ("value", "wanted", "sentence"),
    [
        ({"query": "x", "min_relevance": "high"}, SearchQuery,
         "min_relevance: expected a number or null, got a text; 0–1"),
        ({"query": "x", "min_relevance": 2}, SearchQuery, "min_relevance: expected a number <= 1.0; 0–1"),
        ({"query": ""}, Question, "query: expected a text of at least 1 character"),
        ({"query": "x" * 32_769}, Question, "query: expected a text of at most 32,768 characters"),
        ({"query": "x", "source_ids": []}, SearchQuery, "source_ids: expected a list of at least 1 entry"),
        ({"query": "x", "since": "now"}, SearchQuery,
         "since: is not a time as RFC 3339 writes it, such as 2026-03-02T09:30:00Z; RFC 3339, with a zone"),
        ({"id": "no spaces"}, NewConversation,
         "id: does not have the form that it must have; 1–128 of letters, digits, `.`, `_`, `:` and `-`"),
        ({"tags": ["Berlin, Mitte"]}, ChangedAnnotations,
         NO_TAG),
        ({"query": "x", "tags": ["x" * 65]}, SearchQuery,
         NO_TAG),
        ({"tags": [" a"]}, ChangedAnnotations,
         NO_TAG),
        ([], SearchQuery, "body: expected an object, got a list"),
        ({"query": 4}, RunQuestion, None),
    ],
)  # fmt: skip
def test_the_sentence_is_for_people(value: Any, wanted: Any, sentence: str | None) -> None:
    told = str(refused(value, wanted))

    assert sentence is None or told == sentence
    assert not {"`str", "`int", "`float", "`array", "`object", "regex"} & set(told.split())


LISTS = [
    AccessesAsked,
    AuditAsked,
    EntitiesAsked,
    JobsAsked,
    LinksAsked,
    ReferencesAsked,
    ReviewsAsked,
    RunsAsked,
    SummariesAsked,
]


@pytest.mark.parametrize("limit", [0, MOST_ENTRIES + 1, 5.5, "5"])
@pytest.mark.parametrize("asked", LISTS)
def test_a_page_of_a_list_has_a_largest_size(asked: type[Any], limit: Any) -> None:
    with pytest.raises(InvalidInput) as raised:
        validated({"limit": limit}, asked)
    assert raised.value.field == "limit"
    assert validated({"limit": MOST_ENTRIES}, asked).limit == MOST_ENTRIES


def nested(levels: int) -> dict[str, Any]:
    """Return an object with so many levels of objects."""
    value: dict[str, Any] = {}
    for _ in range(levels - 1):
        value = {"a": value}
    return value


OBJECT = "is of the type object; send texts, numbers, lists and objects"
DEEP = f"is nested too deeply; send at most {MOST_NESTED} levels"


@pytest.mark.parametrize(
    ("value", "wanted", "sentence"),
    [
        ({"metadata": {"a": object()}}, NewConversation, f"metadata.a: {OBJECT}"),
        ({"messages": [object()]}, Batch, f"messages[0]: {OBJECT}"),
        (
            {"messages": [SAID, SAID | {"metadata": {"o": [1, object()]}}]},
            Batch,
            f"messages[1].metadata.o[1]: {OBJECT}",
        ),
        (
            {"messages": [NewMessage(**SAID, metadata={"o": object()})]},
            Batch,
            f"messages[0].metadata.o: {OBJECT}",
        ),
        ({"metadata": nested(2_000)}, NewConversation, f"metadata: {DEEP}"),
        (
            {"messages": [SAID | {"metadata": nested(2_000)}]},
            Batch,
            f"messages[0].metadata: {DEEP}",
        ),
        (
            {"messages": [NewMessage(**SAID, metadata=nested(2_000))]},
            Batch,
            f"messages[0].metadata: {DEEP}",
        ),
        (
            {"metadata": {"a": {(1, 2): 3}}},
            NewConversation,
            "metadata.a: has a key of the type tuple; send texts as keys",
        ),
        (object(), ClientId, f"body: {OBJECT}"),
    ],
)
def test_what_is_not_json_is_refused_where_it_is(value: Any, wanted: Any, sentence: str) -> None:
    assert str(refused(value, wanted)) == sentence


BYTES = "is of the type bytes; send a text: decode it"
NAN = "is nan, which JSON does not have; send a finite number"
INFINITE = "is inf, which JSON does not have; send a finite number"


@pytest.mark.parametrize(
    ("value", "wanted", "sentence"),
    [
        ({"query": b"Where?"}, Question, f"query: {BYTES}"),
        ({"messages": [SAID | {"content": b"x"}]}, Batch, f"messages[0].content: {BYTES}"),
        (
            {"messages": [NewMessage(**SAID, metadata={"a": b"x"})]},
            Batch,
            f"messages[0].metadata.a: {BYTES}",
        ),
        (
            {"metadata": {"a": bytearray(b"x")}},
            NewConversation,
            "metadata.a: is of the type bytearray; send a text: decode it",
        ),
        ({"messages": b"x"}, Batch, f"messages: {BYTES}"),
        ({"query": "?", "min_relevance": math.nan}, Question, f"min_relevance: {NAN}"),
        ({"query": "?", "min_relevance": math.inf}, Question, f"min_relevance: {INFINITE}"),
        (
            {"messages": [SAID | {"occurred_at": math.nan}]},
            Batch,
            f"messages[0].occurred_at: {NAN}",
        ),
        ({"metadata": {"a": [1.5, math.nan]}}, NewConversation, f"metadata.a[1]: {NAN}"),
        (
            {"messages": [NewMessage(**SAID, metadata={"a": math.inf})]},
            Batch,
            f"messages[0].metadata.a: {INFINITE}",
        ),
    ],
)
def test_bytes_and_numbers_that_are_not_finite_are_refused(
    value: Any, wanted: Any, sentence: str
) -> None:
    assert str(refused(value, wanted)) == sentence


def test_a_value_within_itself_is_nested_too_deeply() -> None:
    value: dict[str, Any] = {}
    value["a"] = value
    assert str(refused({"metadata": value}, NewConversation)) == f"metadata: {DEEP}"


def test_what_json_has_a_form_for_is_taken() -> None:
    moment, id = datetime(2026, 3, 2, tzinfo=UTC), UUID(int=1)
    value = {"t": moment, "id": id, "set": {1}, "tuple": (1, (2,)), "said": NewMessage(**SAID)}
    assert as_json(value) == msgspec.to_builtins(value) | {"tuple": [1, [2]]}
    assert as_json({1: 2, id: 3}) == {"1": 2, str(id): 3}
    deep = nested(MOST_NESTED - 1)
    assert validated({"metadata": deep}, NewConversation).metadata == deep


@pytest.mark.parametrize(
    ("key", "name"),
    [
        (date(2020, 1, 1), "2020-01-01"),
        (datetime(2020, 1, 1, tzinfo=UTC), "2020-01-01T00:00:00Z"),
        (1.5, "1.5"),
        (7, "7"),
        (HTTPMethod.GET, "GET"),
    ],
)
def test_a_key_that_json_has_a_form_for_is_its_text(key: Any, name: str) -> None:
    assert validated({"metadata": {key: 1}}, NewConversation).metadata == {name: 1}


@pytest.mark.parametrize("key", [True, None, (1, 2), b"a"], ids=repr)
def test_a_key_that_json_has_no_form_for_is_refused(key: Any) -> None:
    sentence = f"metadata: has a key of the type {type(key).__name__}; send texts as keys"
    assert str(refused({"metadata": {key: 1}}, NewConversation)) == sentence


def test_the_place_in_a_list_of_its_own_has_its_name() -> None:
    with pytest.raises(InvalidInput) as caught:
        listed([{"metadata": {"o": object()}}], "new")
    assert str(caught.value) == f"new[0].metadata.o: {OBJECT}"
