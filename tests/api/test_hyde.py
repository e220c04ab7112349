"""What a turn should know, over HTTP."""

from typing import Any

import httpx
import pytest

PATH = "/api/v0/hyde/retrieve"


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine may need longer than two seconds; the bench measures those."""
    monkeypatch.setattr("graphmem.hypotheses.ask.SECONDS", 30.0)


async def test_without_a_language_model_it_answers_and_says_so(http: httpx.AsyncClient) -> None:
    kept = (await http.post("/api/v0/facts", json={"fact": "Mara prefers tabs."})).json()
    asked = {"turn_id": "t", "window": ["user: What does Mara prefer?"], "on_failure": "window"}

    answer = await http.post(PATH, json=asked)

    assert answer.status_code == 200
    body = answer.json()
    assert [one["id"] for one in body["memories"]] == [kept["id"]]
    assert body["degraded"] == ["no_llm", "window"]
    assert "**[user_fact | user | v1]**\nMara prefers tabs." in body["injection"]
    assert set(body) == {
        "memories",
        "hypotheses",
        "injection",
        "cached",
        "degraded",
        "timings",
    }
    assert (await http.post(PATH, json=asked)).json()["cached"]


@pytest.mark.parametrize("role", ["user", "human"])
async def test_messages_find_what_their_window_finds(http: httpx.AsyncClient, role: str) -> None:
    kept = (await http.post("/api/v0/facts", json={"fact": "Mara prefers tabs."})).json()
    messages = [{"role": role, "content": ["What does Mara prefer?"]}]

    asked = {"turn_id": "t", "messages": messages, "on_failure": "window"}
    answer = (await http.post(PATH, json=asked)).json()

    assert [one["id"] for one in answer["memories"]] == [kept["id"]]


async def test_another_client_s_turn_is_another_turn(
    http: httpx.AsyncClient, rival_http: httpx.AsyncClient
) -> None:
    await http.post("/api/v0/facts", json={"fact": "Mara prefers tabs."})
    asked = {"turn_id": "t", "window": ["user: What does Mara prefer?"], "on_failure": "window"}
    assert (await http.post(PATH, json=asked)).json()["memories"]

    answer = (await rival_http.post(PATH, json=asked)).json()
    assert (answer["memories"], answer["cached"]) == ([], False)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"window": ["a"]}, "turn_id"),
        ({"turn_id": "", "window": ["a"]}, "turn_id"),
        ({"turn_id": "t"}, "window"),
        ({"turn_id": "t", "window": "a"}, "window"),
        ({"turn_id": "t", "window": ["a"], "hypotheses": 0}, "hypotheses"),
        ({"turn_id": "t", "window": ["a"], "scopes": ["no spaces"]}, "scopes[0]"),
        ({"turn_id": "t", "window": ["a"], "depth": 1}, "depth"),
        ({"turn_id": "t", "messages": [{"zork": 1}]}, "messages[0].role"),
        ({"turn_id": "t", "messages": [{"role": "bot", "content": "a"}]}, "messages[0].role"),
        ({"turn_id": "t", "messages": [{"role": "user", "content": 7}]}, "messages[0].content"),
    ],
)
async def test_a_bad_question_names_its_field(
    refusing: httpx.AsyncClient, body: dict[str, Any], field: str
) -> None:
    answer = await refusing.post(PATH, json=body)
    assert (answer.status_code, answer.json()["field"]) == (400, field)


async def test_beside_a_database_it_names_its_field_too(http: httpx.AsyncClient) -> None:
    answer = await http.post(PATH, json={"turn_id": "t", "window": ["a"], "hypotheses": 0})
    assert answer.headers["content-type"] == "application/problem+json"
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_input")
    assert answer.json()["field"] == "hypotheses"
