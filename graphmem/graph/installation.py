"""The one installation in a database: the embedding model and the tokenizer of its memories.

The model can be changed while it is in use. The change goes through four states:

    announced  every process loads the wanted model beside the current one
    embedding  every write embeds with both; earlier memories are embedded again, into the other index
    switched   searches use the new model; writes still embed with both, since some process may lag
    cleaning   the old index and its vectors are removed
"""

from datetime import datetime
from typing import Any, Literal

from msgspec import Struct, field

from graphmem.artifacts.model import BUNDLED
from graphmem.errors import ModelMismatch
from graphmem.graph.driver import Graph
from graphmem.graph.query import Query
from graphmem.model.vocabulary import FIRST, Side, other, side_of

State = Literal["announced", "embedding", "switched", "cleaning"]


class EmbeddingModel(Struct, frozen=True):
    """A model: its name, the hash of its weights, and the length of its vectors.

    `source` is its location as in the setting; None if its name tells it.
    """

    name: str
    sha256: str
    dimensions: int
    source: str | None = None

    @property
    def key(self) -> str:
        """The key that identifies its vectors, as `Embedder.key` does."""
        return f"{self.name}@{self.sha256}"

    @property
    def setting(self) -> str | None:
        """The value of GRAPHMEM_EMBEDDING_MODEL that names the model; None for the bundled one."""
        return None if self.name == BUNDLED else self.source or self.name

    def is_like(self, another: "EmbeddingModel") -> bool:
        """Tell whether both models make the same vectors, whatever their sources."""
        mine = (self.name, self.sha256, self.dimensions)
        return mine == (another.name, another.sha256, another.dimensions)


class Change(Struct, frozen=True):
    """A change of the embedding model: its state, its progress, and the last memory done.

    `low` and `high` are the calibration of the wanted model.
    """

    id: str
    state: State
    at: datetime
    wanted: EmbeddingModel
    low: float
    high: float
    indexed: bool
    done: int
    total: int
    after_client: str
    after_id: str


class Installation(Struct, frozen=True):
    """The models on which all processes of a database must agree.

    `embeddings` are the properties that a write fills; searches use the first one.
    """

    embedding_model: str
    embedding_sha256: str
    dimensions: int
    tokenizer: str
    embedding_source: str | None = None
    embeddings: list[str] = field(default_factory=lambda: [FIRST.embedding])
    former: EmbeddingModel | None = None
    change: Change | None = None

    @property
    def side(self) -> Side:
        """The side that searches use."""
        return side_of(self.embeddings[0])

    @property
    def model(self) -> EmbeddingModel:
        """The model that searches use."""
        return EmbeddingModel(
            self.embedding_model, self.embedding_sha256, self.dimensions, self.embedding_source
        )

    @property
    def beside(self) -> EmbeddingModel | None:
        """The second model of writes, now or soon; None while no change is under way."""
        if self.change is None or self.change.state == "cleaning":
            return None
        return self.former if self.change.state == "switched" else self.change.wanted

    @property
    def known(self) -> list[EmbeddingModel]:
        """The models that a process may be set to: the current, the wanted, and the one before."""
        wanted = self.change.wanted if self.change else None
        return [one for one in (self.model, wanted, self.former) if one is not None]


class Calibration(Struct, frozen=True):
    """The cosine of unrelated texts (`low`) and of texts of the same meaning (`high`) in the model."""

    low: float
    high: float
    knowledge: dict[str, float] = {}
    """The model's knowledge of other languages than English, 0–1, by their codes; empty until measured."""


class StoredKnowledge(Struct, frozen=True):
    """A model's knowledge of languages."""

    languages: list[str]
    knowledge: list[float]


class Moved(Struct, frozen=True):
    """The new state of a change; '' is its end."""

    state: str


class Nothing(Struct, frozen=True):
    """The empty row of an administrative statement."""


KEEP_INSTALLATION = Query("graph/keep_installation", Installation, writes=True)
STORED_INSTALLATION = Query("graph/stored_installation", Installation)
CHANGE_INSTALLATION = Query("graph/change_installation", Moved, writes=True)
DROP_VECTOR_INDEX = Query("graph/drop_vector_index", Nothing, writes=True)
DROP_PASSAGE_INDEX = Query("graph/drop_passage_index", Nothing, writes=True)
STORED_CALIBRATION = Query("graph/stored_calibration", Calibration)
KEEP_CALIBRATION = Query("graph/keep_calibration", Calibration, writes=True)
STORED_KNOWLEDGE = Query("graph/stored_knowledge", StoredKnowledge)
KEEP_KNOWLEDGE = Query("graph/keep_knowledge", StoredKnowledge, writes=True)


async def agree(graph: Graph, ours: Installation) -> Installation:
    """Return the stored installation; store this process's one if there is none.

    Raises `ModelMismatch` if the stored one differs.
    """
    # Read first: a start on a full disk, where nothing may be written, still answers questions.
    stored = await installation(graph)
    if stored is None:
        kept = await graph.write(
            lambda transaction: transaction.rows(
                KEEP_INSTALLATION,
                embedding_model=ours.embedding_model,
                embedding_sha256=ours.embedding_sha256,
                dimensions=ours.dimensions,
                tokenizer=ours.tokenizer,
                embedding_source=ours.embedding_source,
            )
        )
        stored = kept[0]
    require_same(stored, ours)
    return stored


async def installation(graph: Graph) -> Installation | None:
    """Return the stored installation; None in a new database. Raises `Unavailable`."""
    stored = await graph.rows(STORED_INSTALLATION)
    return stored[0] if stored else None


async def begin_change(
    graph: Graph, wanted: EmbeddingModel, measured: Calibration, *, id: str, now: datetime
) -> None:
    """Announce another model."""
    properties = {
        "change_id": id,
        "change_state": "announced",
        "change_at": now,
        "wanted_model": wanted.name,
        "wanted_sha256": wanted.sha256,
        "wanted_dimensions": wanted.dimensions,
        "wanted_source": wanted.source,
        "wanted_low": measured.low,
        "wanted_high": measured.high,
    }
    await _move(graph, properties)


async def begin_embedding(graph: Graph, stored: Installation, *, total: int, now: datetime) -> None:
    """Require both vectors of every write from now on."""
    properties = {
        "change_state": "embedding",
        "change_at": now,
        "change_total": total,
        "embeddings": [stored.side.embedding, other(stored.side).embedding],
    }
    await _move(graph, properties, stored.change)


async def keep_indexed(graph: Graph, change: Change) -> None:
    """Record that the other index exists."""
    await _move(graph, {"change_indexed": True}, change)


async def switch(graph: Graph, stored: Installation, *, now: datetime) -> None:
    """Make the wanted model and its side the current ones."""
    change, former = stored.change, stored.model
    assert change is not None, "a switch ends a change"
    properties = {
        **_without_cursor("switched", now),
        "embedding_model": change.wanted.name,
        "embedding_sha256": change.wanted.sha256,
        "dimensions": change.wanted.dimensions,
        "embedding_source": change.wanted.source,
        "cosine_low": change.low,
        "cosine_high": change.high,
        "embeddings": [other(stored.side).embedding, stored.side.embedding],
        "former_model": former.name,
        "former_sha256": former.sha256,
        "former_dimensions": former.dimensions,
        "former_source": former.source,
    }
    await _move(graph, properties, change)


async def begin_cleaning(graph: Graph, stored: Installation, *, now: datetime) -> bool:
    """Require only the current vector of writes; return whether the state was as expected."""
    properties = {**_without_cursor("cleaning", now), "embeddings": [stored.side.embedding]}
    return await _move(graph, properties, stored.change)


async def end_change(graph: Graph, change: Change) -> None:
    """Remove a finished change."""
    names = (
        *("change_id", "change_state", "change_at", "change_indexed", "change_done"),
        *("change_total", "change_after_client", "change_after_id", "wanted_model"),
        *("wanted_sha256", "wanted_dimensions", "wanted_source", "wanted_low", "wanted_high"),
    )
    await _move(graph, dict.fromkeys(names), change)


async def restart_walk(graph: Graph, change: Change) -> None:
    """Restart the walk over all memories."""
    properties = {"change_done": 0, "change_after_client": None, "change_after_id": None}
    await _move(graph, properties, change)


def progressed(change: Change, *, client_id: str, id: str, done: int) -> dict[str, Any]:
    """Return the parameters with which `CHANGE_INSTALLATION` records the last memory done."""
    properties = {
        "change_done": done,
        "change_after_client": client_id,
        "change_after_id": id,
    }
    return _parameters(properties, change)


async def _move(graph: Graph, properties: dict[str, Any], change: Change | None = None) -> bool:
    parameters = _parameters(properties, change)
    return bool(
        await graph.write(lambda transaction: transaction.rows(CHANGE_INSTALLATION, **parameters))
    )


def _parameters(properties: dict[str, Any], change: Change | None) -> dict[str, Any]:
    return {
        "change": change.id if change else "",
        "state": change.state if change else "",
        "after": change.after_id if change else "",
        "properties": properties,
    }


def _without_cursor(state: State, now: datetime) -> dict[str, Any]:
    return {
        "change_state": state,
        "change_at": now,
        "change_after_client": None,
        "change_after_id": None,
    }


async def calibration(graph: Graph) -> Calibration | None:
    """Return the installation's calibration; one from before 0.2 has none. Raises `Unavailable`."""
    stored = await graph.rows(STORED_CALIBRATION)
    return stored[0] if stored else None


async def keep_calibration(graph: Graph, measured: Calibration) -> Calibration:
    """Store a calibration unless there is one, and return the stored one."""
    kept = await graph.write(
        lambda transaction: transaction.rows(KEEP_CALIBRATION, low=measured.low, high=measured.high)
    )
    return kept[0]


async def knowledge(graph: Graph, model: str) -> dict[str, float] | None:
    """Return the stored knowledge of the model with this key; None if it is that of another or of none."""
    stored = await graph.rows(STORED_KNOWLEDGE, model=model)
    return dict(zip(stored[0].languages, stored[0].knowledge, strict=True)) if stored else None


async def keep_knowledge(graph: Graph, model: str, measured: dict[str, float]) -> None:
    """Store the knowledge of the model with this key instead of that of another."""
    await graph.write(
        lambda transaction: transaction.rows(
            KEEP_KNOWLEDGE,
            model=model,
            languages=list(measured),
            knowledge=list(measured.values()),
        )
    )


def require_same(stored: Installation, ours: Installation) -> None:
    """Raise `ModelMismatch` if the stored installation differs from this process's.

    During a change of the model, and until the next one, both the old and the new model are accepted.
    """
    if stored.tokenizer != ours.tokenizer:
        raise ModelMismatch(
            f"the memories in this database were counted with {stored.tokenizer!r}, "
            f"this graphmem counts with {ours.tokenizer!r}: use the version that wrote them"
        )
    if not any(one.is_like(ours.model) for one in stored.known):
        raise ModelMismatch(
            f"the memories in this database were embedded with {_described(stored.model)}, not with "
            f"{_described(ours.model)}, {_choice(ours.model)}: {how_to_name(stored.model)}, embed them "
            "anew with `graphmem reembed`, or use another database or data folder"
        )


def _described(model: EmbeddingModel) -> str:
    """Return a model's name, with its hash and dimensions where they are known."""
    if not model.sha256:
        return repr(model.name)
    return f"{model.name!r} (sha256 {model.sha256[:12]}…, {model.dimensions} dimensions)"


def how_to_name(model: EmbeddingModel) -> str:
    """Return the remedy that lets the settings name a model."""
    if model.setting is None:
        return "unset GRAPHMEM_EMBEDDING_MODEL"
    return f"set GRAPHMEM_EMBEDDING_MODEL to {model.setting}"


def _choice(model: EmbeddingModel) -> str:
    if model.setting is None:
        return "the bundled model, since GRAPHMEM_EMBEDDING_MODEL is not set"
    return "which GRAPHMEM_EMBEDDING_MODEL names"
