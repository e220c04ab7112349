"""The embedding model and the tokenizer of this process, compared with those of the database."""

import asyncio
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import msgspec

from graphmem import llm
from graphmem.artifacts.maven import sha256_of
from graphmem.artifacts.model import BUNDLED, MEMBERS, NAME
from graphmem.config import Settings
from graphmem.doctor.findings import Finding, note, ok, problem, refused, warning
from graphmem.embedding import BUNDLED_DIMENSIONS
from graphmem.embedding_api import is_url, load_api_model, url_and_name
from graphmem.errors import ModelFailed, ModelMismatch, SettingError
from graphmem.graph.driver import Graph
from graphmem.graph.installation import (
    STORED_CALIBRATION,
    STORED_INSTALLATION,
    EmbeddingModel,
    Installation,
    how_to_name,
    knowledge,
    require_same,
)
from graphmem.model.validation import counted
from graphmem.model.vocabulary import FIRST, Side
from graphmem.retrieval.knowledge import KNOWN, knows
from graphmem.retrieval.reranking import load_reranker
from graphmem.retrieval.understanding import SAMPLED_TEXTS
from graphmem.text.languages import language
from graphmem.text.names import UNCASED
from graphmem.tokens import TOKENIZER
from graphmem.warming import SAMPLED_QUESTIONS

WEIGHTS = "model.onnx"

CLIENTS, TEXTS = 20, 60
"""The number of clients whose languages are looked at, and of texts of each."""

SPOKEN_SHARE = 0.05
"""The share of these texts from which a language counts as spoken."""

LLM_SECONDS = 20.0
"""The time that the language model has for one word."""

MULTILINGUAL = "sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2"


def files(settings: Settings) -> list[Finding]:
    """Check the model's files on this machine, or ask its URL."""
    if settings.embedding_model is None:
        return _bundled(settings.cache_dir / "models" / NAME)
    if is_url(settings.embedding_model):
        return [_url(settings.embedding_model, settings.embedding_key)]
    folder = Path(settings.embedding_model)
    if folder.is_dir() and not (folder / WEIGHTS).is_file():
        return [
            problem(
                "embedding model",
                f"{folder} holds no {WEIGHTS}",
                "let GRAPHMEM_EMBEDDING_MODEL name a folder with it and its tokenizer files",
            )
        ]
    return []


def reranker(settings: Settings) -> list[Finding]:
    """Load the reranker, if one is set and on this machine."""
    try:
        model = load_reranker(settings, fetch=False)
    except SettingError as error:
        return [refused("reranker", error)]
    if model is None:
        return []
    return [ok("reranker", f"{model.name} (sha256 {model.sha256[:12]}…) reads pairs")]


async def agreement(graph: Graph, settings: Settings) -> list[Finding]:
    """Compare the model of this process with the model of the stored embeddings."""
    stored = await graph.rows(STORED_INSTALLATION)
    if not stored:
        return [note("embedding model", "no memory was ever embedded in this database")]
    ours = installation(settings)
    try:
        compared = ours or _by_name(stored[0], _named(str(settings.embedding_model)))
        require_same(stored[0], compared)
    except (ModelMismatch, SettingError) as error:
        return [refused("embedding model", error), *await _stored_url(stored[0], settings)]
    changing = list(_changing(stored[0]))
    if not compared.model.is_like(stored[0].model):
        behind = _behind(stored[0], settings.embedding_model)
        return changing or [behind, *await _stored_url(stored[0], settings)]
    doubt = "" if ours else " (its files were not compared)"
    return [
        ok(
            "embedding model",
            f"{stored[0].embedding_model} with {stored[0].dimensions} dimensions, tokens of "
            f"{stored[0].tokenizer}: as in the database{doubt}",
        ),
        *changing,
    ]


async def measured(graph: Graph) -> list[Finding]:
    """Tell if it was never measured how similar texts are in the model: relevance is then a guess."""
    stored = await graph.rows(STORED_INSTALLATION)
    if not stored or await graph.rows(STORED_CALIBRATION):
        return []
    what = f"the similarities of {stored[0].embedding_model} were not measured for this database"
    return [note("calibration", what, "nothing: the next start measures and stores them")]


async def language_model(settings: Settings) -> list[Finding]:
    """Check whether the language model's URL answers, if there is one."""
    given = (settings.llm_url, settings.llm_model, settings.llm_key)
    if not any(given):
        return []
    model = llm.language_model(settings)
    if model is None:
        missing = "GRAPHMEM_LLM_MODEL" if settings.llm_url else "GRAPHMEM_LLM_URL"
        return [warning("language model", f"none is used, since {missing} is not set", "set it")]
    try:
        await model.reply("Say yes.", seconds=LLM_SECONDS, most_tokens=5)
    except ModelFailed as failed:
        return [unanswered(failed, settings)]
    finally:
        await model.close()
    return [ok("language model", f"{model.name} answers at {settings.llm_url}")]


def unanswered(failed: ModelFailed, settings: Settings) -> Finding:
    """Return the finding for a language model that gave no answer."""
    remedy = (
        "set GRAPHMEM_LLM_KEY to a key that it takes"
        if failed.status in (401, 403)
        else "start it, or mend GRAPHMEM_LLM_URL and GRAPHMEM_LLM_MODEL; meanwhile no hypotheses are written "
        "and no episodes become facts"
    )
    what = f"{settings.llm_model} at {settings.llm_url} gives no answer: {failed}"
    return warning("language model", what, remedy)


async def languages(graph: Graph) -> list[Finding]:
    """Tell which languages of the first clients' texts the embedding model does not know.

    Also those in which names are not found by their letters.
    """
    stored = await graph.rows(STORED_INSTALLATION)
    if not stored:
        return []
    texts = await _sampled(graph)
    spoken = Counter(filter(None, map(language, texts)))
    often = [one for one, count in spoken.most_common() if count >= SPOKEN_SHARE * len(texts)]
    known = await knowledge(graph, stored[0].model.key) or {}
    found = []
    if strange := [one for one in often if knows(known, one) < KNOWN]:
        share = 100 * sum(spoken[one] for one in strange) // len(texts)
        found.append(
            note(
                "languages",
                f"{share} % of {len(texts):,} texts looked at are in languages that "
                f"{stored[0].embedding_model} does not know ({', '.join(strange)}): there only words and "
                "spelling find",
                f"`graphmem reembed --embedding-model {MULTILINGUAL}`, or name the URL of another "
                "multilingual model",
            )
        )
    if uncased := [UNCASED[one] for one in often if one in UNCASED]:
        found.append(
            note(
                "names",
                f"texts are in {', '.join(uncased)}: there names are found only in Latin letters, in "
                "quotation marks and beside a title",
                "send the names of a text as keywords where the kind of memory has them",
            )
        )
    return found


async def _sampled(graph: Graph) -> list[str]:
    """Return some texts of each of the first clients."""
    texts: list[str] = []
    client_id = ""
    for _ in range(CLIENTS):
        found = await graph.rows(SAMPLED_QUESTIONS, after=client_id, limit=1)
        if not found:
            break
        client_id = found[0].client_id
        [sample] = await graph.rows(SAMPLED_TEXTS, client_id=client_id, limit=TEXTS)
        texts += sample.texts
    return texts


async def side(graph: Graph) -> Side:
    """Return the side that searches of this database use."""
    stored = await graph.rows(STORED_INSTALLATION)
    return stored[0].side if stored else FIRST


async def dimensions(graph: Graph, settings: Settings) -> int:
    """Return the length of the vectors of this database."""
    stored = await graph.rows(STORED_INSTALLATION)
    ours = stored[0] if stored else installation(settings)
    return ours.dimensions if ours else BUNDLED_DIMENSIONS


def installation(settings: Settings) -> Installation | None:
    """Return the model of a process with these settings, as far as it is known without fetching."""
    chosen = settings.embedding_model
    if chosen is None:
        return Installation(BUNDLED, MEMBERS[WEIGHTS].sha256, BUNDLED_DIMENSIONS, TOKENIZER)
    folder = Path(chosen).absolute()
    try:
        config = msgspec.json.decode((folder / "config.json").read_bytes())
        length = config.get("hidden_size", BUNDLED_DIMENSIONS)
        return Installation(f"folder/{folder.name}", sha256_of(folder / WEIGHTS), length, TOKENIZER)
    except (OSError, msgspec.DecodeError):
        return None


def _url(chosen: str, key: str) -> Finding:
    """Ask a URL for a vector."""
    try:
        model = load_api_model(chosen, key)
    except SettingError as error:
        what, _, remedy = str(error).removeprefix(f"{error.name}: ").partition(": ")
        return problem("embedding URL", what, remedy)
    model.close()
    return ok("embedding URL", f"{model.url} answers, with {model.dimensions} dimensions")


async def _stored_url(stored: Installation, settings: Settings) -> list[Finding]:
    """Ask the URL that the memories were embedded by, unless it is that of the settings."""
    source = stored.embedding_source
    if source is None or not is_url(source) or source == settings.embedding_model:
        return []
    return [await asyncio.to_thread(_url, source, settings.embedding_key)]


def _named(chosen: str) -> str:
    """Return the name of the model of a setting. Raises `SettingError`."""
    return f"url/{url_and_name(chosen)[1]}" if is_url(chosen) else chosen


def _by_name(stored: Installation, name: str) -> Installation:
    """Return the installation of a process whose model has this name; only names are compared."""
    known = next((one for one in stored.known if one.name == name), EmbeddingModel(name, "", 0))
    return Installation(name, known.sha256, known.dimensions, TOKENIZER)


def _changing(stored: Installation) -> Iterator[Finding]:
    """Report the progress of a change of the model."""
    change = stored.change
    if change is None:
        return
    if change.state in ("announced", "embedding"):
        share = 100 * change.done // max(1, change.total)
        yield note(
            "embedding model",
            f"{change.done:,} of {counted(change.total, 'memory')} ({share} %) have an embedding of "
            f"{change.wanted.name}; searches go on with {stored.embedding_model} until all are",
            "nothing, while `graphmem serve` runs: it does the work; `graphmem reembed` does it here "
            "and shows how far it is",
        )
    else:
        yield note(
            "embedding model",
            f"what is left of a change of the model to {change.wanted.name} is being removed",
            "nothing, while `graphmem serve` runs",
        )


def _behind(stored: Installation, chosen: str | None) -> Finding:
    names = (
        f"names the former model, {chosen}"
        if chosen
        else "is not set, which stands for the former model, the bundled one"
    )
    return warning(
        "embedding model",
        f"the memories are embedded with {stored.model.setting or 'the bundled model'}; "
        f"GRAPHMEM_EMBEDDING_MODEL {names}: each start loads it for nothing",
        f"{how_to_name(stored.model)}, or run `graphmem reembed` to embed them with the former again",
    )


def _bundled(folder: Path) -> list[Finding]:
    for name, member in MEMBERS.items():
        if (folder / name).exists() and sha256_of(folder / name) != member.sha256:
            return [
                problem(
                    "embedding model",
                    f"{folder / name} is not the file that was fetched",
                    f"remove {folder}: the next start unpacks it again",
                )
            ]
    return []
