"""A recursive agent that answers a question over a document that is longer than all it may read.

    python -m examples.recursive_agent

The loop is the one of recursive language models: a model emits an action, the environment executes it
and returns an observation, until the model says that it is done. What is known lies in graphmem, not in
the prompt; a run's budget says how much of it may be read. The model here is scripted, so that the
example needs no other one: anything with `act` can stand in its place.
"""

import asyncio
import re
from collections.abc import Iterator, Sequence
from typing import Protocol

from msgspec import Struct

import graphmem
from graphmem.client import Graphmem
from graphmem.runs.session import RunSession
from graphmem.runs.types import RetrievalResult, TreeRun

BUDGET = 4_000
"""How many tokens the agent and all whom it calls may read."""

QUESTION = "Who mended the lamp of the station whose lens the storm of the ninth of March broke?"

STATIONS = (
    "Skerry Rock", "Long Point", "Gull Island", "Hollow Head", "Marsh End", "Tern Ledge",
    "Cold Harbour", "Saint Bride", "Black Stack", "Whale Sound", "Amber Bay", "North Spit",
)  # fmt: skip
MONTHS = (
    "January", "February", "April", "May", "June", "July", "August", "September", "October",
)  # fmt: skip


class Retrieve(Struct, frozen=True, tag=True):
    """Read what answers best."""

    query: str
    max_tokens: int


class Delegate(Struct, frozen=True, tag=True):
    """Have another agent answer a part of the question, with a part of the budget."""

    task: str
    budget_fraction: float


class Note(Struct, frozen=True, tag=True):
    """Leave what was found for the other agents."""

    content: str


class Answer(Struct, frozen=True, tag=True):
    """Be done."""

    text: str


Action = Retrieve | Delegate | Note | Answer
Observation = RetrievalResult | str


class Model(Protocol):
    """What decides on the next action."""

    def act(self, task: str, seen: Sequence[Observation]) -> Action:
        """Return what to do next, given the task and what was observed so far."""
        ...


class ScriptedModel:
    """Plays a language model: splits the one question, reads for its parts, and puts them together."""

    def act(self, task: str, seen: Sequence[Observation]) -> Action:
        """Return the next step of the agent that has the whole question, or of one that has a part."""
        return self._lead(seen) if task == QUESTION else self._read(task, seen)

    def _lead(self, seen: Sequence[Observation]) -> Action:
        answers = [one for one in seen if isinstance(one, str)]
        if not answers:
            return Delegate("Which station's lens did the storm of the ninth of March break?", 0.5)
        station = next(name for name in STATIONS if name in answers[0])
        if len(answers) == 1:
            return Delegate(f"Who mended the lamp of {station}?", 0.5)
        return Answer(f"{answers[0]} {answers[1]}")

    def _read(self, task: str, seen: Sequence[Observation]) -> Action:
        if not seen:
            return Retrieve(task, 500)
        found = seen[0]
        assert isinstance(found, RetrievalResult), "a reader reads first"
        sentence = best_sentence(task, [span.content for span in found.spans])
        return Note(sentence) if len(seen) == 1 else Answer(sentence)


async def work(run: RunSession, task: str, model: Model) -> str:
    """Let a model act in a run until it is done; return its answer."""
    seen: list[Observation] = []
    while True:
        match model.act(task, seen):
            case Retrieve(query, max_tokens):
                seen.append(await run.retrieve(query, max_tokens=max_tokens))
            case Delegate(part, fraction):
                async with run.subcall(agent_type="reader", budget_fraction=fraction) as child:
                    seen.append(await work(child, part, model))
            case Note(content):
                written = await run.write(type="summary", content=content)
                seen.append(written.id)
            case Answer(text):
                return text


async def answer(memory: Graphmem, question: str, model: Model) -> tuple[str, TreeRun]:
    """Return the answer to a question, and the tree of runs that it took."""
    budget = {"max_tokens": BUDGET, "max_time_ms": 300_000, "max_retries": 8}
    async with memory.run(agent_type="lead", episode_id="lighthouses", budget=budget) as run:
        text = await work(run, question, model)
    return text, await run.tree()


async def keep(memory: Graphmem) -> int:
    """Put the document into memory; return how many tokens it has."""
    reference = await memory.add_reference(
        type="knowledge_base", target_id="inspections", label="Inspections of the lighthouses"
    )
    content = await memory.put_content(reference.id, "\n\n".join(document()))
    return content.token_count


def document() -> Iterator[str]:
    """Yield the paragraphs of a document in which one thing happened and the rest is routine."""
    for month in MONTHS:
        for place, station in enumerate(STATIONS):
            yield (
                f"In {month} the inspector came to {station}. The stores were counted and the oil was "
                f"measured; {place + 3} barrels are left. The keeper of {station} asked for rope, paint "
                "and a new ladder. Nothing was broken and nobody was ill."
            )
    yield (
        "The storm of the ninth of March broke the lens of Hollow Head. The keeper hung a ship's lantern "
        "into the gallery, and no ship was lost."
    )
    yield (
        "Ines Falk came with the supply boat and mended the lamp of Hollow Head in nine days. She left "
        "spare prisms behind."
    )


def best_sentence(task: str, texts: Sequence[str]) -> str:
    """Return the sentence that has most words of a task; the first of equals."""
    asked = set(re.findall(r"[a-z]+", task.lower()))
    sentences: list[str] = [one.strip() for text in texts for one in re.findall(r"[^.]+\.", text)]
    return max(sentences, key=lambda one: len(asked & set(re.findall(r"[a-z]+", one.lower()))))


def shown(tree: TreeRun, indent: int = 0) -> Iterator[str]:
    """Yield a tree of runs as lines."""
    yield (
        f"{'  ' * indent}{tree.agent_type}: {tree.spent} of {tree.max_tokens} tokens read, "
        f"{tree.returned} given back, {tree.outcome}"
    )
    for child in tree.children:
        yield from shown(child, indent + 1)


async def main() -> None:
    """Keep the document, answer the question, show where the budget went."""
    async with graphmem.open(client_id="recursive-agent") as memory:
        tokens = await keep(memory)
        print(f"The document has {tokens:,} tokens; {BUDGET:,} may be read.")
        text, tree = await answer(memory, QUESTION, ScriptedModel())
        print(f"{QUESTION}\n{text}\n")
        print("\n".join(shown(tree)))


if __name__ == "__main__":
    asyncio.run(main())
