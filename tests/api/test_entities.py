"""Entities over HTTP: listed, joined, parted and looked for; what is foreign is unknown."""

from typing import Any

import httpx
import msgspec
import pytest
from graphmem_api.bodies import decoded
from graphmem_api.entities import ALIAS, UNDONE

from graphmem.client import Graphmem
from graphmem.entities.aliases import NewAlias, UndoneAlias
from tests.planted import plant

PATH = "/api/v0/entities"
NEW_ALIAS: Any = ALIAS.value
UNDOING: Any = UNDONE.value
SAID = ("We asked Anna about the Ledger.", "Yes, Anna Schmidt did, in PostgreSQL.")


@pytest.fixture
async def told(memory: Graphmem, http: httpx.AsyncClient) -> None:
    """Memories with two names of one person, and two that no rule joins."""
    rows: list[dict[str, Any]] = [
        {"kind": "fact", "text": text, "version": 1, "keywords": []} for text in SAID
    ]
    await plant(memory, *rows)


def test_the_examples_can_be_sent() -> None:
    assert decoded(msgspec.json.encode(NEW_ALIAS), NewAlias)
    assert decoded(msgspec.json.encode(UNDOING), UndoneAlias)


async def listed(http: httpx.AsyncClient, **query: Any) -> dict[str, dict[str, Any]]:
    answer = await http.get(PATH, params=query)
    assert answer.status_code == 200
    return {one["normalized"]: one for one in answer.json()["entities"]}


async def test_aliases_are_found_shown_made_and_undone(http: httpx.AsyncClient, told: None) -> None:
    answer = await http.post(f"{PATH}/aliases/run")
    assert (answer.status_code, answer.json()["made"], answer.json()["dropped"]) == (200, 1, 0)
    shown = await listed(http, name="anna")
    assert shown["anna"]["alias_of"]["name"] == "Anna Schmidt"
    assert shown["anna"]["alias_of"]["rule"] == "first_name"
    assert [one["name"] for one in shown["anna schmidt"]["aliases"]] == ["Anna"]

    made = await http.post(f"{PATH}/aliases", json=NEW_ALIAS)
    again = await http.post(f"{PATH}/aliases", json=NEW_ALIAS)
    assert (made.status_code, again.status_code) == (201, 200)
    assert made.json() | {"created_at": ""} == {
        "alias": "Ledger",
        "canonical": "PostgreSQL",
        "rule": "manual",
        "created_at": "",
        "created": True,
    }
    assert again.json() == made.json() | {"created": False}

    undone = await http.post(f"{PATH}/aliases/undo", json=UNDOING)
    assert (undone.status_code, undone.json()["rule"]) == (200, "first_name")
    await http.post(f"{PATH}/aliases/run")
    assert (await listed(http, name="anna"))["anna"]["alias_of"] is None


async def test_pages_go_on_where_they_end(http: httpx.AsyncClient, told: None) -> None:
    first = (await http.get(PATH, params={"limit": 2})).json()
    rest = (await http.get(PATH, params={"cursor": first["cursor"]})).json()
    names = [one["name"] for page in (first, rest) for one in page["entities"]]
    assert names == ["Anna", "Anna Schmidt", "Ledger", "PostgreSQL"]
    assert rest["cursor"] is None


async def test_what_belongs_to_another_client_is_unknown(
    http: httpx.AsyncClient, rival_http: httpx.AsyncClient, told: None
) -> None:
    await http.post(f"{PATH}/aliases/run")
    assert await listed(rival_http) == {}
    pairs = [("aliases", NEW_ALIAS), ("aliases/undo", UNDOING)]
    for path, body in pairs:
        foreign = await rival_http.post(f"{PATH}/{path}", json=body)
        unknown = await rival_http.post(
            f"{PATH}/{path}", json={name: f"{value} x" for name, value in body.items()}
        )
        assert (foreign.status_code, unknown.status_code) == (404, 404)
        assert foreign.json()["code"] == unknown.json()["code"]
    assert (await listed(http, name="anna"))["anna"]["alias_of"]["name"] == "Anna Schmidt"


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("aliases", {"alias": "Anna"}, "canonical"),
        ("aliases", {"alias": "Anna", "canonical": "Anna"}, "canonical"),
        ("aliases", {"alias": "", "canonical": "Anna"}, "alias"),
        ("aliases", {"alias": "...", "canonical": "Anna"}, "alias"),
        ("aliases", {"alias": "Anna", "canonical": "x" * 201}, "canonical"),
        ("aliases", {"alias": 1, "canonical": "Anna"}, "alias"),
        ("aliases", {"alias": "Anna", "canonical": "Anna Schmidt", "rule": "path"}, "rule"),
        ("aliases/undo", {"alias": " "}, "alias"),
        ("aliases/undo", {}, "alias"),
    ],
)
async def test_what_cannot_be_a_name_is_refused(
    path: str, body: dict[str, Any], field: str, refusing: httpx.AsyncClient
) -> None:
    answer = await refusing.post(f"{PATH}/{path}", json=body)
    assert answer.status_code == 400
    assert field in f"{answer.json().get('field')} {answer.json()['detail']}"


async def test_what_is_refused_joins_and_parts_nothing(http: httpx.AsyncClient, told: None) -> None:
    await http.post(f"{PATH}/aliases/run")
    before = await listed(http)
    for path, body, field in (
        ("aliases", NEW_ALIAS | {"rule": "path"}, "rule"),
        ("aliases/undo", UNDOING | {"rule": "path"}, "rule"),
    ):
        answer = await http.post(f"{PATH}/{path}", json=body)
        assert answer.status_code == 400
        assert answer.headers["content-type"] == "application/problem+json"
        assert (answer.json()["code"], answer.json()["field"]) == ("invalid_input", field)
    assert await listed(http) == before


@pytest.mark.parametrize(
    "query", [{"limit": 0}, {"limit": 201}, {"name": ""}, {"cursor": "x"}, {"other": "x"}]
)
async def test_a_list_that_cannot_be_asked_for_is_refused(
    query: dict[str, Any], refusing: httpx.AsyncClient
) -> None:
    answer = await refusing.get(PATH, params=query)
    assert answer.status_code == 400
    assert next(iter(query)) in answer.text


async def test_beside_a_database_it_is_refused_as_well(http: httpx.AsyncClient) -> None:
    answer = await http.get(PATH, params={"limit": 0})
    assert answer.status_code == 400
    assert answer.headers["content-type"] == "application/problem+json"
    assert (answer.json()["code"], answer.json()["field"]) == ("invalid_input", "limit")
