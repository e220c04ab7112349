"""The recursive agent answers over a document that it could not read, within its budget."""

from collections.abc import Sequence

from examples.recursive_agent import (
    BUDGET,
    QUESTION,
    Action,
    Answer,
    Delegate,
    Note,
    Observation,
    Retrieve,
    ScriptedModel,
    answer,
    best_sentence,
    keep,
    shown,
)
from graphmem.client import Graphmem
from tests.budgeted import below, check


class Watched(ScriptedModel):
    """The scripted model, and what it did."""

    def __init__(self) -> None:
        self.actions: list[Action] = []

    def act(self, task: str, seen: Sequence[Observation]) -> Action:
        self.actions.append(super().act(task, seen))
        return self.actions[-1]


# S3.44
async def test_it_answers_within_its_budget_by_action_and_observation(memory: Graphmem) -> None:
    assert await keep(memory) > BUDGET
    model = Watched()
    text, tree = await answer(memory, QUESTION, model)
    assert "Ines Falk" in text
    assert "Hollow Head" in text
    kinds = [Delegate, Retrieve, Note, Answer, Delegate, Retrieve, Note, Answer, Answer]
    assert [type(one) for one in model.actions] == kinds
    check(tree)
    runs = list(below(tree))
    assert [run.agent_type for run in runs] == ["lead", "reader", "reader"]
    assert {run.outcome for run in runs} == {"success"}
    assert 0 < sum(run.spent for run in runs) <= BUDGET
    # What the readers left unread came back to the lead.
    assert tree.remaining == BUDGET - sum(run.spent for run in runs)
    found = await memory.search("Ines Falk", source_types=["thread_summary"])
    assert found.items
    lines = list(shown(tree))
    assert len(lines) == 3
    assert lines[1].startswith("  reader: ")


def test_the_best_sentence_has_most_of_the_words() -> None:
    texts = ["Rain fell. The lamp was mended by Ines.", "The lamp is out."]
    assert best_sentence("Who mended the lamp?", texts) == "The lamp was mended by Ines."
