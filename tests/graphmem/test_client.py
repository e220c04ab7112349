"""The public class: its arguments are the fields of its requests, and a block is opened rightly."""

import inspect
from pathlib import Path
from typing import Any, NoReturn, get_type_hints

import msgspec
import pytest

import graphmem
from graphmem import config
from graphmem.client import Graphmem
from graphmem.config import SettingsGiven
from graphmem.contexts.context import CreateContextOptions
from graphmem.contextual.types import ContextualQuery, ExpansionAsked
from graphmem.conversations.types import ChangedConversation
from graphmem.entities.aliases import EntitiesAsked
from graphmem.episodes.types import NewEpisode
from graphmem.exploring.types import AuditAsked
from graphmem.exports.export import ExportAsked
from graphmem.facts.types import NewFact, NextFact
from graphmem.forgetting.types import ForgetAsked, VerifyAsked
from graphmem.hypotheses.types import TurnAsked
from graphmem.jobs.outbox import JobsAsked
from graphmem.memories.chunk import ChunkOptions
from graphmem.memories.links import LinksAsked
from graphmem.memories.versions import VersionsAsked
from graphmem.model.annotations import ChangedAnnotations
from graphmem.neighbourhood.types import NeighbourhoodAsked
from graphmem.recall.types import ExplainedQuestion, Question
from graphmem.references.types import NewReference, NewSpan, ReferencesAsked
from graphmem.retrieve_memory.types import FactsAsked, MemoryAsked
from graphmem.reviews.types import NewRating, ReviewsAsked
from graphmem.runs.environment import RunEnvironment
from graphmem.runs.session import RunSession
from graphmem.runs.types import (
    AccessesAsked,
    NewRun,
    NewWrite,
    PeekAsked,
    RunQuestion,
    RunsAsked,
    SubcallAsked,
)
from graphmem.search.retriever import MemoryRetriever, RetrieverDefaults
from graphmem.search.types import SearchQuery, SpanQuery
from graphmem.summaries.types import SummariesAsked

REQUESTS: dict[Any, tuple[type[msgspec.Struct], set[str]]] = {
    Graphmem.remember_episode: (NewEpisode, set()),
    Graphmem.remember_fact: (NewFact, set()),
    Graphmem.supersede_fact: (NextFact, {"fact_id"}),
    Graphmem.annotate: (ChangedAnnotations, {"memory_id"}),
    Graphmem.change_conversation: (ChangedConversation, {"conversation_id"}),
    Graphmem.forget: (ForgetAsked, set()),
    Graphmem.verify_forgotten: (VerifyAsked, set()),
    Graphmem.versions: (VersionsAsked, {"memory_id"}),
    Graphmem.links: (LinksAsked, {"memory_id"}),
    Graphmem.search: (SearchQuery, set()),
    Graphmem.search_spans: (SpanQuery, set()),
    Graphmem.chunk: (ChunkOptions, {"memory_id"}),
    Graphmem.create_context: (CreateContextOptions, set()),
    Graphmem.retriever: (RetrieverDefaults, set()),
    Graphmem.recall: (Question, set()),
    Graphmem.explain: (ExplainedQuestion, set()),
    Graphmem.search_contextual: (ContextualQuery, set()),
    Graphmem.expand_context: (ExpansionAsked, set()),
    Graphmem.hyde_retrieve: (TurnAsked, set()),
    Graphmem.retrieve_memory: (MemoryAsked, {"raw"}),
    Graphmem.context_pre_retrieve: (FactsAsked, set()),
    Graphmem.reviews: (ReviewsAsked, set()),
    Graphmem.review: (NewRating, {"memory_id"}),
    Graphmem.add_reference: (NewReference, set()),
    Graphmem.references: (ReferencesAsked, set()),
    Graphmem.register_span: (NewSpan, set()),
    Graphmem.summaries: (SummariesAsked, set()),
    Graphmem.entities: (EntitiesAsked, set()),
    Graphmem.run: (NewRun, {"on_access"}),
    Graphmem.neighbourhood: (NeighbourhoodAsked, {"node_id"}),
    Graphmem.cypher_audit: (AuditAsked, set()),
    Graphmem.jobs: (JobsAsked, set()),
    Graphmem.export: (ExportAsked, set()),
    RunEnvironment.start: (NewRun, set()),
    RunEnvironment.list_runs: (RunsAsked, set()),
    RunEnvironment.retrieve: (RunQuestion, {"run_id"}),
    RunEnvironment.peek: (PeekAsked, {"run_id"}),
    RunEnvironment.write: (NewWrite, {"run_id"}),
    RunEnvironment.subcall: (SubcallAsked, {"run_id"}),
    RunEnvironment.accesses: (AccessesAsked, {"run_id"}),
    RunSession.retrieve: (RunQuestion, set()),
    RunSession.write: (NewWrite, set()),
    RunSession.subcall: (SubcallAsked, set()),
    MemoryRetriever.search: (SearchQuery, set()),
    MemoryRetriever.search_with_hops: (SearchQuery, set()),
}


def default(value: Any) -> Any:
    """Return a default as it is compared: an empty tuple stands for an empty list."""
    return [] if value == () else value


@pytest.mark.parametrize("method", REQUESTS, ids=lambda method: method.__qualname__)
def test_the_arguments_are_the_fields_of_the_request(method: Any) -> None:
    request, others = REQUESTS[method]
    signature = inspect.signature(method).parameters
    given = {
        name: default(one.default)
        for name, one in signature.items()
        if name != "self" and name not in others
    }
    fields = {
        field.name: field.default_factory()
        if field.default_factory is not msgspec.NODEFAULT
        else inspect.Parameter.empty
        if field.default is msgspec.NODEFAULT
        else field.default
        for field in msgspec.structs.fields(request)
    }
    if method.__qualname__.startswith("MemoryRetriever."):
        # It takes a request as it is too, so that an argument left out must be told apart.
        assert {name for name in given if name != "query"} == set(fields) - {"query"}
        return
    assert given == fields
    assert not [one for one in signature.values() if one.kind is one.VAR_KEYWORD]


def test_hops_are_searched_with_the_same_arguments() -> None:
    hops = inspect.signature(Graphmem.search_with_hops).parameters
    plain = inspect.signature(Graphmem.search).parameters
    assert set(hops) == set(plain)
    assert {name for name in plain if hops[name].default != plain[name].default} == {"max_hops"}


def test_the_settings_are_the_arguments_of_open() -> None:
    fields = {field.name for field in msgspec.structs.fields(config.Settings)}
    assert set(get_type_hints(SettingsGiven)) == fields


async def test_open_without_a_block_says_what_to_do() -> None:
    opening = graphmem.open(client_id="block")
    with pytest.raises(TypeError, match="async with"):
        await opening
    with pytest.raises(TypeError, match="async with"):
        opening.__enter__()
    with pytest.raises(AttributeError, match=r"not running yet.*recall.*async with"):
        await opening.recall("When?")


async def test_a_block_is_opened_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unset(*_: object) -> NoReturn:
        raise graphmem.SettingError("GRAPHMEM_DATA_DIR", "is unusable")

    monkeypatch.setattr("graphmem.opening.running", unset)
    opening = graphmem.open(data_dir=tmp_path)
    with pytest.raises(graphmem.SettingError):
        await opening.__aenter__()
    with pytest.raises(TypeError, match=r"opened already: call graphmem.open\(\.\.\.\) again"):
        await opening.__aenter__()


def test_a_client_that_cannot_be_one_is_refused_by_its_name() -> None:
    nobody: Any = None
    for made in (
        lambda: graphmem.open(client_id="a client"),
        lambda: graphmem.AsyncClient(client_id="a client"),
        lambda: graphmem.AsyncClient().for_client(nobody),
        lambda: Graphmem(nobody, nobody),
    ):
        with pytest.raises(
            graphmem.InvalidInput, match=r"^client_id: .*1–128 of letters"
        ) as refused:
            made()
        assert refused.value.field == "client_id"


OTHERS: dict[str, Any] = {
    "messages": [{"role": "user", "content": "Hello."}],
    "query": "Where?",
    "fact": "Mara drinks tea.",
    "content": "Tea is served.",
    "rating": "good",
    "max_tokens": 100,
    "memory_id": "m",
    "conversation_id": "c",
    "type": "log",
    "outcome": "success",
    "agent_type": "tester",
    "budget_fraction": 0.5,
    "span_id": "s",
}
"""Arguments for the methods that need more than an id."""


def by_id() -> list[Any]:
    """Return the methods whose first argument is an id, with its name and the other arguments."""
    found = []
    for owner in (Graphmem, RunEnvironment):
        for name, method in inspect.getmembers(owner, inspect.iscoroutinefunction):
            arguments = inspect.signature(method).parameters.values()
            id, *others = [one.name for one in arguments if one.default is one.empty][1:] or [""]
            if id.endswith("_id") and id not in {"from_id", "turn_id"}:
                given = {other: OTHERS[other] for other in others}
                found.append(pytest.param(owner, name, id, given, id=f"{owner.__name__}.{name}"))
    return found


@pytest.mark.parametrize(("owner", "name", "id", "others"), by_id())
async def test_an_id_that_is_no_text_is_refused_by_its_name(
    owner: type, name: str, id: str, others: dict[str, Any], memory: Graphmem
) -> None:
    asked = memory if owner is Graphmem else memory.runs()
    ids: tuple[object, ...] = ([], None, 7, "\ud83d")
    for wrong in ids:
        with pytest.raises(graphmem.InvalidInput, match=r"expected a text|surrogate") as refused:
            await getattr(asked, name)(wrong, **others)
        assert refused.value.field == id


def test_every_error_and_every_public_type_is_exported_once() -> None:
    import graphmem.errors as errors

    raised = {name for name, one in vars(errors).items() if isinstance(one, type)}
    ours = {name for name in raised if getattr(errors, name).__module__ == errors.__name__}
    assert ours <= set(dir(graphmem))
    assert all(getattr(graphmem, name) is not None for name in dir(graphmem))
    misspelt = "Graphmen"
    with pytest.raises(AttributeError, match="no attribute 'Graphmen'"):
        getattr(graphmem, misspelt)
