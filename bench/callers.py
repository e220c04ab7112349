"""Callers that do all kinds of things to a service, what was acknowledged to them, and whether it is stored.

A caller that gets no answer, or 503, sends the same again, with the same ids. So everything that was
acknowledged must be stored once, in its order, and at most the last write of a caller is open.
"""

import asyncio
import random
import secrets
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from typing import Any

import httpx
from msgspec import Struct, field

from graphmem.doctor.integrity import MOST, RULES, SCANNED
from graphmem.graph.driver import Graph

PASSING = {"503", "507", "429", "cut"}
"""The outcomes that a fault explains: refused for now, a full disk, too many requests, a lost connection."""

REST_SECONDS = 1.0
"""The time for which a caller waits after such an outcome."""

BUDGET = {"max_tokens": 2_000_000, "max_time_ms": 36_000_000, "max_retries": 1_000}

OPERATIONS = 30
"""The operations of a run before the next one begins."""

MESSAGES = """CYPHER 25
MATCH (m:Message {client_id: $client_id, conversation_id: $id})
OPTIONAL MATCH (m)-[:PART_OF]->(s:Session {client_id: $client_id})
RETURN m.external_id AS external_id, m.position AS position,
  m.embedding IS NOT NULL AND m.token_count > 0 AND s IS NOT NULL AS whole
ORDER BY position"""

VERSIONS = """CYPHER 25
MATCH (head:Memory {client_id: $client_id, id: $id})
OPTIONAL MATCH path = (head)(()<-[:SUPERSEDES]-(:Memory {client_id: $client_id})){1,}(newer:Memory)
WITH head, newer, length(path) AS place ORDER BY place
WITH head, collect(newer) AS newer
UNWIND [head] + newer AS one
RETURN one.id AS id, one.embedding IS NOT NULL AS whole"""

RUNS = """CYPHER 25
MATCH (run:Run {client_id: $client_id})
RETURN run.id AS id, run.spent AS spent, run.given AS given, run.max_tokens AS max_tokens,
  COLLECT { MATCH (run)-[:SPAWNED]->(child:Run) RETURN child.max_tokens - child.returned } AS gave,
  COLLECT { MATCH (run)-[:HOLDS]->(hold:Hold) RETURN hold.tokens } AS holds,
  COLLECT {
    MATCH (run)-[:PERFORMED]->(access:Access) WHERE access.operation_id IS NOT NULL
    RETURN access {.operation_id, .tokens}
  } AS done"""

LEFT = """CYPHER 25
MATCH (one:Memory {client_id: $client_id}) WHERE one.conversation_id IN $ids RETURN count(one) AS left"""


class Outcome(Struct, frozen=True):
    """One answer: when it was asked and given, what for, and its status, or `cut` if there was none."""

    asked: float
    given: float
    kind: str
    code: str

    def within(self, windows: Sequence[tuple[float, float]]) -> bool:
        """Tell whether a part of it was in one of these times."""
        return any(self.asked <= end and self.given >= begin for begin, end in windows)


class Ledger(Struct):
    """What a client was acknowledged, and all its answers."""

    client_id: str
    messages: dict[str, list[str]] = field(default_factory=dict)
    """The external ids of each conversation, in order."""
    chains: list[list[str]] = field(default_factory=list)
    """The versions of each fact, oldest first."""
    operations: dict[str, dict[str, int]] = field(default_factory=dict)
    """The tokens of each operation of each run."""
    deleted: list[str] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)

    @property
    def acknowledged(self) -> int:
        """The number of acknowledged writes."""
        parts = [*self.messages.values(), *self.chains, *self.operations.values()]
        return sum(map(len, parts)) + len(self.deleted)


class Balance(Struct):
    """What a comparison of a ledger with the graph found."""

    acknowledged: int = 0
    lost: int = 0
    doubled: int = 0
    half: int = 0
    unbalanced: int = 0

    def add(self, other: "Balance") -> None:
        """Add another one."""
        for name in self.__struct_fields__:
            setattr(self, name, getattr(self, name) + getattr(other, name))

    @property
    def faults(self) -> int:
        """The number of all that is not as acknowledged."""
        return self.lost + self.doubled + self.half + self.unbalanced


class Caller:
    """One caller of a client, which does one thing after the other until it is told to stop."""

    def __init__(self, http: httpx.AsyncClient, ledger: Ledger, name: str, pause: float) -> None:
        self.http, self.ledger, self.name, self.pause = http, ledger, name, pause
        self.chance = random.Random(name)
        self.stopping = False

    async def ask(
        self, kind: str, path: str, body: Any = None, method: str = "POST"
    ) -> httpx.Response | None:
        """Send one request and note its outcome; None if there was no answer."""
        await asyncio.sleep(self.chance.uniform(0.5, 1.5) * self.pause)
        began, code, answer = time.monotonic(), "cut", None
        try:
            answer = await self.http.request(method, f"/api/v0{path}", json=body)
            code = str(answer.status_code)
        except httpx.TransportError:
            pass
        self.ledger.outcomes.append(Outcome(began, time.monotonic(), kind, code))
        if code in PASSING:
            await asyncio.sleep(REST_SECONDS)
        return answer

    async def insist(
        self, kind: str, path: str, body: Any = None, method: str = "POST"
    ) -> httpx.Response | None:
        """Send a request until it is answered; None if the caller was stopped before."""
        while True:
            answer = await self.ask(kind, path, body, method)
            if answer is not None and str(answer.status_code) not in PASSING:
                return answer
            if self.stopping:
                return None


Work = Callable[[Caller], Coroutine[Any, Any, None]]


async def write_messages(caller: Caller) -> None:
    """Remember messages in one conversation, some at a time."""
    talk, place = caller.name, 0
    said = caller.ledger.messages[talk] = []
    while not caller.stopping:
        ids = [f"{talk}-{place + n}" for n in range(caller.chance.randint(1, 3))]
        messages = [
            {
                "session_id": f"{talk}-s{place // 50}",
                "role": "user",
                "content": f"Note {id}: the pump in hall {len(id) + place} was checked.",
                "external_id": id,
            }
            for id in ids
        ]
        body = {"messages": messages, "create": True}
        answer = await caller.insist("messages", f"/conversations/{talk}/messages", body)
        if answer is not None and answer.is_success:
            said += ids
            place += len(ids)


async def write_facts(caller: Caller) -> None:
    """Remember a fact, and supersede it again and again."""
    new = {"fact": f"The price of {caller.name} is 1 euro.", "category": "preference"}
    answer = await caller.insist("facts", "/facts", new)
    if answer is None or not answer.is_success:
        return
    chain = [answer.json()["id"]]
    caller.ledger.chains.append(chain)
    while not caller.stopping:
        price = {"fact": f"The price of {caller.name} is {len(chain) + 1} euros."}
        answer = await caller.insist("supersede", f"/facts/{chain[-1]}/supersede", price)
        if answer is not None and answer.is_success:
            chain.append(answer.json()["id"])
        elif answer is not None and answer.status_code == 409:
            # Nobody else supersedes it: the answer before was lost, and the write was done.
            chain.append(answer.json()["head_id"])


async def work_in_runs(caller: Caller) -> None:
    """Read and write within the budgets of runs, one after the other: each repetition costs a retry."""
    place = 0
    while not caller.stopping:
        start = {
            "agent_type": "a",
            "episode_id": "e",
            "budget": BUDGET,
            "operation_id": f"{caller.name}-{place}",
        }
        answer = await caller.insist("runs", "/rlm/sessions", start)
        if answer is None or not answer.is_success:
            continue
        run = answer.json()["id"]
        done = caller.ledger.operations[run] = {}
        for _ in range(OPERATIONS):
            if caller.stopping:
                return
            operation = caller.chance.choice(["retrieve", "write"])
            bodies: dict[str, dict[str, Any]] = {
                "retrieve": {"query": f"pump in hall {place}", "max_tokens": 60},
                "write": {"type": "log", "content": f"Log {place} of {caller.name}."},
            }
            id, place, body = f"{caller.name}:{place}", place + 1, bodies[operation]
            path = f"/rlm/sessions/{run}/{operation}"
            answer = await caller.insist("runs", path, body | {"operation_id": id})
            if answer is not None and answer.is_success:
                done[id] = answer.json().get("tokens_used", 0)
        await caller.insist("runs", f"/rlm/sessions/{run}/end", {"outcome": "success"})


async def delete(caller: Caller) -> None:
    """Open conversations, write into them, and delete them."""
    place = 0
    while not caller.stopping:
        talk, place = f"{caller.name}-{place}", place + 1
        said = {"session_id": f"{talk}-s", "role": "user", "content": f"Forget {talk} soon."}
        body = {"messages": [said | {"external_id": talk}], "create": True}
        if await caller.insist("messages", f"/conversations/{talk}/messages", body) is None:
            return
        gone = await caller.insist("deletes", f"/conversations/{talk}", method="DELETE")
        if gone is not None:
            caller.ledger.deleted.append(talk)


async def read(caller: Caller) -> None:
    """Ask in all ways."""
    place = 0
    while not caller.stopping:
        place += 1
        question = f"Was the pump in hall {caller.chance.randint(1, 99)} checked?"
        turn = {"turn_id": f"{caller.name}-{place}", "window": [f"user: {question}"]}
        kind, path, body = caller.chance.choice(
            [
                ("recall", "/recall", {"query": question, "max_tokens": 400}),
                ("search", "/search", {"query": question, "max_tokens": 400}),
                ("contextual", "/contextual/search", {"query": question, "max_tokens": 400}),
                ("hyde", "/hyde/retrieve", turn | {"conversation_id": caller.name}),
            ]
        )
        await caller.ask(kind, path, body)


async def browse(caller: Caller) -> None:
    """Read lists."""
    while not caller.stopping:
        path = caller.chance.choice(["/conversations", "/memories", "/reviews", "/entities"])
        await caller.ask("lists", path, method="GET")


MIX: tuple[Work, ...] = (
    *(write_messages, write_facts, read, work_in_runs),
    *(read, delete, write_messages, browse),
)
"""The works of the first eight callers, of one client; the next eight have the same for the next client."""


@asynccontextmanager
async def calling(url: str, callers: int, *, pause: float = 0.2) -> AsyncIterator[list[Ledger]]:
    """Have callers of four new clients work for the length of the block; yield their ledgers."""
    named = secrets.token_hex(4)
    ledgers = [Ledger(f"client-{named}-{number}") for number in range(4)]
    # The service closes a connection after five idle seconds: a request must not meet that.
    limits = httpx.Limits(max_connections=None, keepalive_expiry=2)
    timeout = httpx.Timeout(60)
    https = [
        httpx.AsyncClient(
            base_url=url, headers={"X-Client-Id": one.client_id}, timeout=timeout, limits=limits
        )
        for one in ledgers
    ]
    found = [
        Caller(https[client], ledgers[client], f"caller-{number}", pause)
        for number in range(callers)
        for client in [number // len(MIX) % len(ledgers)]
    ]
    tasks = [
        asyncio.create_task(_work(MIX[number % len(MIX)], caller))
        for number, caller in enumerate(found)
    ]
    try:
        yield ledgers
    finally:
        for caller in found:
            caller.stopping = True
        await asyncio.gather(*tasks)
        for http in https:
            await http.aclose()


async def _work(work: Work, caller: Caller) -> None:
    """Do a work; an answer that it cannot read is an outcome, too, and ends it."""
    try:
        await work(caller)
    except Exception as problem:
        now = time.monotonic()
        caller.ledger.outcomes.append(Outcome(now, now, work.__name__, repr(problem)))


async def compared(graph: Graph, ledgers: Sequence[Ledger]) -> Balance:
    """Compare the graph with what was acknowledged, and with the rules of `graphmem doctor`."""
    balance = Balance()
    for rule in RULES:
        [defect] = await graph.rows(rule.query, scanned=SCANNED, most=MOST)
        balance.half += defect.found
    for ledger in ledgers:
        for conversation, ids in ledger.messages.items():
            rows = await graph.execute(MESSAGES, client_id=ledger.client_id, id=conversation)
            balance.add(_in_order([row["external_id"] for row in rows], ids, 3))
            balance.half += sum(not row["whole"] for row in rows)
            balance.half += [row["position"] for row in rows] != list(range(len(rows)))
        for chain in ledger.chains:
            rows = await graph.execute(VERSIONS, client_id=ledger.client_id, id=chain[0])
            balance.add(_in_order([row["id"] for row in rows], chain, 1))
            balance.half += sum(not row["whole"] for row in rows)
        balance.add(_of_runs(await graph.execute(RUNS, client_id=ledger.client_id), ledger))
        [row] = await graph.execute(LEFT, client_id=ledger.client_id, ids=ledger.deleted)
        balance.lost += row["left"]
        balance.acknowledged += len(ledger.deleted)
    return balance


def _in_order(stored: Sequence[str], acknowledged: Sequence[str], most_open: int) -> Balance:
    """Compare ids in order; at most so many of the last write may be stored without its answer."""
    return Balance(
        acknowledged=len(acknowledged),
        lost=len(set(acknowledged) - set(stored)),
        doubled=len(stored) - len(set(stored)),
        half=int(
            list(stored[: len(acknowledged)]) != list(acknowledged)
            or len(stored) > len(acknowledged) + most_open
        ),
    )


def _of_runs(rows: Sequence[dict[str, Any]], ledger: Ledger) -> Balance:
    balance = Balance(acknowledged=sum(map(len, ledger.operations.values())))
    for id in set(ledger.operations) - {row["id"] for row in rows}:
        balance.lost += len(ledger.operations[id]) + 1
    for row in rows:
        done = Counter(one["operation_id"] for one in row["done"])
        spent = sum(one["tokens"] for one in row["done"])
        kept = ledger.operations.get(row["id"], {})
        balance.lost += len(set(kept) - set(done))
        balance.doubled += sum(done.values()) - len(done)
        used = row["spent"] + row["given"] + sum(row["holds"])
        is_even = row["spent"] == spent and row["given"] == sum(row["gave"])
        balance.unbalanced += not (is_even and used <= row["max_tokens"])
    return balance


def unexplained(ledgers: Sequence[Ledger], windows: Sequence[tuple[float, float]]) -> Counter[str]:
    """Count the failures that no fault explains, by kind and code."""
    return Counter(
        f"{one.kind} {one.code}"
        for ledger in ledgers
        for one in ledger.outcomes
        if not is_expected(one) and not (one.code in PASSING and one.within(windows))
    )


def is_expected(one: Outcome) -> bool:
    """Tell whether an outcome is an answer, also a repetition's: it was superseded, or deleted, before."""
    repeated = {("supersede", "409"), ("deletes", "404")}
    return one.code.startswith("2") or (one.kind, one.code) in repeated
