"""Any body ends in an answer, or in a 4xx that names the field; nothing is ever half written."""

import asyncio
import codecs
import json
import threading
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from graphmem_api.bodies import BODY_BYTES, LONG_BODY, decoded
from hypothesis import HealthCheck, given, settings, strategies as st

from graphmem.conversations.types import Batch
from graphmem.errors import InvalidInput
from graphmem.model.validation import MOST_NESTED
from graphmem.recall.types import Question

RECALL = "/api/v0/recall"
NOWHERE = "/api/v0/conversations/unknown"
JSON = {"Content-Type": "application/json"}

STRANGE = {
    "lucene": '+(title:"a" OR b~2) AND NOT [1 TO *] ^3 \\ / && || ! { } ? *',
    "lucene keywords": "AND OR NOT TO",
    "only wildcards": "* ? ~ ^ :",
    "cypher": "'}) MATCH (n) DETACH DELETE n //",
    "cypher parameter": "$client_id `memory` \\u0027",
    "nul": "a\x00b",
    "only nul": "\x00",
    "controls": "".join(map(chr, range(1, 32))) + "x",
    "right to left": "\u202eשלום עליכם\u200f مرحبا",
    "emoji": "👩‍👩‍👧‍👦 🏳️‍🌈 🧠" * 50,
    "combining": "e" + "\u0301" * 2000,
    "not a character": "\ufffe\uffff\U0010ffff",
    "private use": "\ue000\U000f0000",
    "line separators": "a\u2028b\u2029c\u0085d",
    "special tokens": "<|endoftext|> <|im_start|> [CLS] [SEP]",
    "format": "%s %n {0} ${jndi:ldap://x} {{7*7}}",
    "script": "<script>alert(1)</script>",
    "quotes": "\"'`´‘’“”«»",
}


def message(**changes: Any) -> dict[str, Any]:
    return {"session_id": "s", "role": "user", "content": "words"} | changes


async def count(http: httpx.AsyncClient, path: str) -> int:
    """Return how many messages a conversation holds, and empty it."""
    return (await http.delete(path)).json()["memories"]


@pytest.mark.parametrize("text", STRANGE.values(), ids=STRANGE)
async def test_any_text_is_a_legal_message_and_a_legal_query(
    text: str, http: httpx.AsyncClient, conversation: str
) -> None:
    names = {"session_id": text[:256], "external_id": text[:256], "name": text[:256]}
    written = await http.post(
        f"{conversation}/messages", json={"messages": [message(content=text, **names)]}
    )
    assert written.status_code == 201, written.text
    shown = (await http.get(f"/api/v0/memories/{written.json()['ids'][0]}")).json()
    assert (shown["text"], shown["external_id"], shown["name"]) == (
        text,
        names["external_id"],
        names["name"],
    )
    for ranking in ("default", "rrf", "vector", "bm25"):
        asked = await http.post(RECALL, json={"query": text, "ranking": ranking})
        assert asked.status_code == 200, asked.text
    filtered = await http.post(RECALL, json={"query": text, "conversation_id": text[:128]})
    assert (filtered.status_code, filtered.json()["items"]) == (200, [])


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=200))
def test_any_text_is_read_as_it_was_sent(text: str) -> None:
    for ascii_only in (True, False):
        body = json.dumps({"query": text}, ensure_ascii=ascii_only).encode()
        assert decoded(body, Question).query == text


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda below: (
        st.lists(below, max_size=4)
        | st.dictionaries(
            st.sampled_from(["messages", "session_id", "role", "content", "query", "limit"])
            | st.text(max_size=5),
            below,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@settings(max_examples=300)
@given(value=JSON_VALUES)
def test_any_json_is_read_or_refused_by_name(value: Any) -> None:
    for wanted in (Batch, Question):
        try:
            decoded(json.dumps(value).encode(), wanted)
        except InvalidInput as problem:
            assert problem.field  # noqa: PT017 - either outcome is right


@settings(max_examples=300)
@given(body=st.binary(max_size=60))
def test_any_bytes_are_read_or_refused_by_name(body: bytes) -> None:
    for prefix in (b"", b'{"query":', b'{"query":"'):
        try:
            decoded(prefix + body, Question)
        except InvalidInput as problem:
            assert problem.field  # noqa: PT017 - either outcome is right


@pytest.mark.parametrize("body", [b"[" * 100_000 + b"]" * 100_000, b'{"a":' * 100_000])
def test_depth_is_refused_where_any_json_is_taken(body: bytes) -> None:
    with pytest.raises(InvalidInput, match="nested too deeply"):
        decoded(body, Any)


@pytest.mark.parametrize(("begin", "end"), [("[", "]"), ('{"a":', "}"), ('[{"a":', "}]")])
def test_lists_and_objects_are_nested_at_most_so_deeply(begin: str, end: str) -> None:
    levels = MOST_NESTED // len(end)
    whole = f"{begin * levels}1{end * levels}"
    decoded(whole.encode(), Any)
    for deeper in (f"[{whole}]", f'{{"b": 1, "a": {whole}}}'):
        with pytest.raises(InvalidInput, match=f"body: .*at most {MOST_NESTED} levels"):
            decoded(deeper.encode(), Any)


# The stack of the thread that reads a long body is shallower than that of the handler: a body could be read
# that a later step could not write.
@pytest.mark.parametrize("length", [0, LONG_BODY], ids=["short", "long"])
@pytest.mark.parametrize("levels", [MOST_NESTED, 900, 950, 1_100])
@pytest.mark.parametrize(
    "said",
    [
        '"tool_calls": [{"name": "add", "args": {"a": DEEP}}]',
        '"content": [{"type": "tool_use", "name": "add", "input": DEEP}]',
        '"content": "a", "metadata": {"a": DEEP}',
    ],
    ids=["args", "input", "metadata"],
)
async def test_a_body_that_is_nested_too_deeply_is_refused_at_any_length(
    said: str, levels: int, length: int, refusing: httpx.AsyncClient
) -> None:
    given = f'{{"role": "user", {said.replace("DEEP", "[" * levels + "]" * levels)}}}'
    body = f'{{"messages": [{given}]}}' + " " * length
    answer = await refusing.post(f"{NOWHERE}/messages", content=body.encode(), headers=JSON)
    assert answer.status_code == 400, answer.text
    assert answer.json()["field"] == "body"
    assert f"at most {MOST_NESTED} levels" in answer.json()["detail"]


async def test_a_long_body_is_read_in_a_thread(
    refusing: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads = []

    def read(body: bytes, wanted: Any) -> Any:
        threads.append(threading.current_thread() is threading.main_thread())
        return decoded(body, wanted)

    monkeypatch.setattr("graphmem_api.bodies.decoded", read)
    for length in (1, LONG_BODY):
        answer = await refusing.post("/api/v0/recall", json={"query": 7, "other": " " * length})
        assert answer.status_code == 400
    assert threads == [True, False]


REFUSED: dict[str, tuple[bytes, str]] = {
    "nothing": (b"", "body"),
    "blank": (b" \n", "body"),
    "null": (b"null", "body"),
    "list": (b"[]", "body"),
    "string": (b'"query"', "body"),
    "cut short": (b'{"query": "a"', "body"),
    "two values": (b'{"query": "a"} {}', "body"),
    "NaN": (b'{"query": "a", "limit": NaN}', "body"),
    "Infinity": (b'{"query": "a", "limit": -Infinity}', "body"),
    "beyond floats": (b'{"query": "a", "limit": 1e999}', "limit"),
    "many digits": (b'{"query": "a", "limit": ' + b"9" * 10_000 + b"}", "limit"),
    "deep": (b"[" * 100_000, "body"),
    "deep inside": (b'{"query": "a", "kinds": ' + b"[" * 100_000, "kinds[0]"),
    "deep in an unknown field": (b'{"query": "a", "x": ' + b'{"x":' * 100_000, "x"),
    "twice": (b'{"query": "a", "query": "b"}', "query"),
    "lone surrogate": (rb'{"query": "\ud800"}', "query"),
    "turned surrogates": (rb'{"query": "\udc00\ud800"}', "query"),
    "not UTF-8": (b'{"query": "\xff"}', "query"),
    "surrogate in UTF-8": (b'{"query": "\xed\xa0\x80"}', "query"),
    "UTF-16": ('{"query": "a"}'.encode("utf-16"), "body"),
    "unknown field": (b'{"query": "a", "top_k": 3}', "top_k"),
    "missing": (b"{}", "query"),
    "empty": (b'{"query": ""}', "query"),
    "only spaces": ('{"query": " \u2003\\n"}'.encode(), "query"),
    "number for text": (b'{"query": 5}', "query"),
    "text for number": (b'{"query": "a", "limit": "5"}', "limit"),
    "fraction": (b'{"query": "a", "limit": 5.5}', "limit"),
    "too few": (b'{"query": "a", "limit": 0}', "limit"),
    "too many": (b'{"query": "a", "max_tokens": 200001}', "max_tokens"),
    "kind": (b'{"query": "a", "kinds": ["memo"]}', "kinds[0]"),
    "no kinds": (b'{"query": "a", "kinds": []}', "kinds"),
    "no zone": (b'{"query": "a", "since": "2026-03-02T09:30:00"}', "since"),
    "no such day": (b'{"query": "a", "until": "2026-02-30T09:30:00Z"}', "until"),
    "before all time": (b'{"query": "a", "since": "0001-01-01T00:00:00+14:00"}', "since"),
    "after all time": (b'{"query": "a", "until": "9999-12-31T23:59:59-14:00"}', "until"),
    "seconds for time": (b'{"query": "a", "since": 1767225600}', "since"),
    "long query": (json.dumps({"query": "q" * 32_769}).encode(), "query"),
    "long conversation": (
        json.dumps({"query": "q", "conversation_id": "c" * 129}).encode(),
        "conversation_id",
    ),
}


@pytest.mark.parametrize(("body", "field"), REFUSED.values(), ids=REFUSED)
async def test_a_question_that_cannot_be_names_the_field(
    body: bytes, field: str, refusing: httpx.AsyncClient
) -> None:
    answer = await refusing.post(RECALL, content=body, headers=JSON)
    assert answer.status_code == 400, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert (problem["code"], problem["field"]) == ("invalid_input", field)
    assert problem["detail"].startswith(field)


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [(RECALL, {"query": ""}, "query"), ("/api/v0/conversations", {"id": "a b"}, "id")],
)
async def test_beside_a_database_a_refusal_is_the_same_problem(
    path: str, body: dict[str, Any], field: str, http: httpx.AsyncClient
) -> None:
    answer = await http.post(path, json=body)
    assert answer.status_code == 400, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert (answer.json()["code"], answer.json()["field"]) == ("invalid_input", field)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"query": "a", "limit": 201}, ["limit", "<= 200"]),
        ({"query": "a", "kinds": ["memo"]}, ["kinds[0]", "memo", "episode", "message"]),
        ({"query": "a", "since": "2026-03-02T09:30:00"}, ["since", "zone"]),
        ({"query": "q" * 32_769}, ["query", "32,768"]),
    ],
)
async def test_a_refusal_names_the_limit_and_the_remedy(
    body: dict[str, Any], words: list[str], refusing: httpx.AsyncClient
) -> None:
    detail = (await refusing.post(RECALL, json=body)).json()["detail"]
    assert all(word in detail for word in words)


BAD_MESSAGES: dict[str, tuple[dict[str, Any], str, int]] = {
    "role": ({"role": "boss"}, "role", 400),
    "empty": ({"content": ""}, "content", 400),
    "blank": ({"content": "\n\t"}, "content", 400),
    "too long": ({"content": "x" * 1_000_001}, "content", 413),
    "too long in bytes": ({"content": "ü" * 500_001}, "content", 413),
    "session": ({"session_id": "s" * 257}, "session_id", 400),
    "blank session": ({"session_id": " "}, "session_id", 400),
    "external id": ({"external_id": "e" * 257}, "external_id", 400),
    "name": ({"name": ""}, "name", 400),
    "no zone": ({"occurred_at": "2026-03-02T09:30:00"}, "occurred_at", 400),
    "before all time": ({"occurred_at": "0001-01-01T00:00:00Z"}, "occurred_at", 400),
    "importance": ({"importance": 1.5}, "importance", 400),
    "unknown": ({"text": "words"}, "text", 400),
    "surrogate": ({"content": "\ud800"}, "content", 400),
    "surrogate name": ({"name": "\udfff"}, "name", 400),
}


@pytest.mark.parametrize(("changes", "field", "status"), BAD_MESSAGES.values(), ids=BAD_MESSAGES)
async def test_one_bad_message_refuses_the_batch_and_writes_nothing(
    changes: dict[str, Any], field: str, status: int, refusing: httpx.AsyncClient
) -> None:
    batch = {"messages": [message(), message(**changes), message()]}
    answer = await refusing.post(
        f"{NOWHERE}/messages", content=json.dumps(batch).encode(), headers=JSON
    )
    assert answer.status_code == status, answer.text
    assert answer.json()["field"] == f"messages[1].{field}"


@pytest.mark.parametrize(
    ("messages", "status", "field"),
    [
        ([message(), message(role="boss"), message()], 400, "messages[1].role"),
        ([message(), message(content="x" * 1_000_001)], 413, "messages[1].content"),
        ([message()] * 1_001, 400, "messages"),
    ],
    ids=["role", "too long", "too many"],
)
async def test_a_batch_that_is_refused_writes_nothing(
    messages: list[Any], status: int, field: str, http: httpx.AsyncClient, conversation: str
) -> None:
    await http.post(f"{conversation}/messages", json={"messages": [message()]})
    answer = await http.post(f"{conversation}/messages", json={"messages": messages})
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    code = "too_large" if status == 413 else "invalid_input"
    assert (answer.json()["code"], answer.json()["field"]) == (code, field)
    assert await count(http, conversation) == 1


@pytest.mark.parametrize("messages", [[], [message()] * 1_001, {}, None])
async def test_a_batch_holds_1_to_1000_messages(messages: Any, refusing: httpx.AsyncClient) -> None:
    answer = await refusing.post(f"{NOWHERE}/messages", json={"messages": messages})
    assert (answer.status_code, answer.json()["field"]) == (400, "messages")


@pytest.mark.usefixtures("bulk_data")
@pytest.mark.parametrize(
    "content",
    [
        "word " * 200_000,
        "x" * 350_000,
        "漢" * 333_333,
        "\x00" * 1_000_000,
        "a\u0301" * 100_000,
    ],
    ids=["a megabyte", "no space", "a megabyte of Han", "a megabyte of NUL", "combining"],
)
async def test_long_messages_are_remembered_whole(
    content: str, http: httpx.AsyncClient, conversation: str
) -> None:
    written = await http.post(
        f"{conversation}/messages", json={"messages": [message(content=content)]}
    )
    assert written.status_code == 201, written.text
    shown = await http.get(f"/api/v0/memories/{written.json()['ids'][0]}")
    assert shown.json()["text"] == content
    query = content[:32_768]
    if query.strip():
        assert (await http.post(RECALL, json={"query": query})).status_code == 200


@pytest.mark.parametrize("id", ["", "a b", "a/b", "a\n", "é", "x" * 129, "\x00", 5])
async def test_an_id_that_cannot_be_is_refused(id: Any, refusing: httpx.AsyncClient) -> None:
    answer = await refusing.post("/api/v0/conversations", json={"id": id})
    assert (answer.status_code, answer.json()["field"]) == (400, "id")


@pytest.mark.parametrize("title", list(STRANGE.values()), ids=list(STRANGE))
async def test_any_title_is_legal(title: str, http: httpx.AsyncClient) -> None:
    answer = await http.post("/api/v0/conversations", json={"title": title[:1024]})
    assert (answer.status_code, answer.json()["title"]) == (201, title[:1024])


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Content-Type": ""},
        {"Content-Type": "text/plain"},
        {"Content-Type": "application/x-www-form-urlencoded"},
        {"Content-Type": "multipart/form-data; boundary=x"},
        {"Content-Type": "application/msgpack"},
        {"Content-Type": "application/json; charset=latin-1"},
        {"Content-Type": "application/json", "Content-Encoding": "gzip"},
    ],
)
async def test_only_json_is_read(headers: dict[str, str], refusing: httpx.AsyncClient) -> None:
    answer = await refusing.post(RECALL, content=b'{"query": "a"}', headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (415, "unsupported_media_type")
    assert answer.headers["content-type"] == "application/problem+json"


async def test_json_may_name_its_charset_and_begin_with_its_mark(http: httpx.AsyncClient) -> None:
    named = {"Content-Type": 'application/json; charset="UTF-8"'}
    for mark in (b"", codecs.BOM_UTF8):
        answer = await http.post(RECALL, content=mark + b'{"query": "a"}', headers=named)
        assert answer.status_code == 200, answer.text


async def megabytes(number: int) -> AsyncIterator[bytes]:
    yield b'{"query": "'
    for _ in range(number):
        yield b"x" * 1024 * 1024


@pytest.mark.parametrize("announced", [True, False], ids=["content-length", "chunked"])
async def test_a_body_beyond_the_limit_names_the_limit(
    announced: bool, refusing: httpx.AsyncClient
) -> None:
    content = b" " * (BODY_BYTES + 1) if announced else megabytes(33)
    answer = await refusing.post(RECALL, content=content, headers=JSON)
    assert (answer.status_code, answer.json()["code"]) == (413, "too_large")
    assert answer.json()["field"] == "body"
    assert "33,554,432" in answer.json()["detail"]


async def test_concurrent_bad_and_good_batches_leave_the_good_ones(
    http: httpx.AsyncClient, conversation: str
) -> None:
    good = {"messages": [message(external_id=None)] * 3}
    bad = {"messages": [message(), message(role="boss")]}
    answers = await asyncio.gather(
        *(http.post(f"{conversation}/messages", json=batch) for batch in [good, bad] * 4)
    )
    assert [answer.status_code for answer in answers] == [201, 400] * 4
    assert await count(http, conversation) == 12
