"""The bundled model: unpacked whole or not at all, and in the shape that fastembed reads."""

import hashlib
import json
import threading
import zipfile
from pathlib import Path
from typing import Any

import pytest
from fastembed import TextEmbedding
from fastembed.common.model_description import ModelSource, PoolingType

from graphmem import config
from graphmem.artifacts import model
from graphmem.artifacts.model import Member, bundled_model
from graphmem.errors import FetchFailed
from graphmem.model.progress import silent

CONTENT = {"model.onnx": b"weights", "tokenizer.json": b"words"}


@pytest.fixture
def jar(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small jar in the model's place, which costs no fetching."""
    jar = tmp_path / "model.jar"
    members = {
        name: Member(f"inner-{name}", len(content), hashlib.sha256(content).hexdigest())
        for name, content in CONTENT.items()
    }
    with zipfile.ZipFile(jar, "w") as archive:
        for name, content in CONTENT.items():
            archive.writestr(f"inner-{name}", content)
    monkeypatch.setattr(model, "MEMBERS", members)
    monkeypatch.setattr(model, "fetch", lambda *arguments, **named: [jar])
    return jar


def test_the_folder_has_all_that_fastembed_needs(jar: Path, tmp_path: Path) -> None:
    folder = bundled_model(tmp_path / "cache", silent)

    assert folder == tmp_path / "cache" / "models" / "bge-small-en-v1.5-q"
    assert {name: (folder / name).read_bytes() for name in CONTENT} == CONTENT
    tokenizer = json.loads((folder / "tokenizer_config.json").read_text())
    assert tokenizer == {"model_max_length": 512, "pad_token": "[PAD]"}
    assert json.loads((folder / "config.json").read_text()) == {"pad_token_id": 0}
    assert json.loads((folder / "special_tokens_map.json").read_text()) == {}


def test_nothing_but_the_model_is_left_behind(jar: Path, tmp_path: Path) -> None:
    folder = bundled_model(tmp_path / "cache", silent)

    assert {path.name for path in folder.parent.iterdir()} == {folder.name, f"{folder.name}.lock"}


def test_a_whole_model_needs_no_jar(
    jar: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = bundled_model(tmp_path / "cache", silent)
    monkeypatch.setattr(model, "fetch", lambda *arguments, **named: pytest.fail("fetched again"))

    assert bundled_model(tmp_path / "cache", silent) == folder


def test_two_at_once_unpack_it_once(
    jar: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = threading.Barrier(2, timeout=10)
    unpacked: list[int] = []
    unpack = model._unpack

    def unpacking(*given: Any) -> None:
        unpacked.append(1)
        unpack(*given)

    monkeypatch.setattr(model, "fetch", lambda *arguments, **named: (both.wait(), [jar])[1])
    monkeypatch.setattr(model, "_unpack", unpacking)

    threads = [
        threading.Thread(target=bundled_model, args=(tmp_path / "cache", silent)) for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert unpacked == [1]


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json", "config.json"])
def test_a_model_that_was_cut_short_is_unpacked_again(jar: Path, tmp_path: Path, name: str) -> None:
    folder = bundled_model(tmp_path / "cache", silent)
    whole = (folder / name).read_bytes()
    (folder / name).write_bytes(b"")

    assert (bundled_model(tmp_path / "cache", silent) / name).read_bytes() == whole


def test_a_member_that_is_another_is_refused(
    jar: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = Member("inner-model.onnx", 7, "0" * 64)
    monkeypatch.setattr(model, "MEMBERS", {**model.MEMBERS, "model.onnx": other})

    with pytest.raises(FetchFailed, match=r"inner-model.onnx in .* is not what was expected"):
        bundled_model(tmp_path / "cache", silent)
    assert not (tmp_path / "cache" / "models" / "bge-small-en-v1.5-q").exists()


def test_a_jar_that_is_none_is_refused(jar: Path, tmp_path: Path) -> None:
    jar.write_bytes(b"not a jar")

    with pytest.raises(FetchFailed, match="remove that jar"):
        bundled_model(tmp_path / "cache", silent)


def test_fastembed_loads_the_real_model_from_its_folder() -> None:
    folder = bundled_model(config.load().cache_dir, silent)
    name = "graphmem/test-bundled-model"
    TextEmbedding.add_custom_model(
        model=name,
        dim=384,
        pooling=PoolingType.CLS,
        normalization=True,
        sources=ModelSource(url="file:///bundled"),
        model_file="model.onnx",
    )

    embedder: Any = TextEmbedding(name, specific_model_path=str(folder), threads=1)

    cat, kitten, tax = embedder.embed(["a cat", "a kitten", "the tax office"])
    assert cat.shape == (384,)
    assert cat @ kitten > cat @ tax
