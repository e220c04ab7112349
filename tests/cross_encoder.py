"""A cross-encoder made on the spot: a folder with a model in ONNX that counts the words two texts share.

ONNX files are messages of protocol buffers (github.com/onnx/onnx, `onnx/onnx.proto`); the few fields that
are needed are written here, so that no test needs the package of that name, or a downloaded model.
"""

import json
import struct
from collections.abc import Iterable
from pathlib import Path

from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

WORDS = "boat harbour morning sail bread oven flour lena warm the is where in a".split()  # noqa: SIM905
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")

INT64, FLOAT = 7, 1
FILES = {
    "config.json": {"pad_token_id": 0},
    "tokenizer_config.json": {"model_max_length": 512, "pad_token": "[PAD]"},
    "special_tokens_map.json": {"pad_token": "[PAD]", "unk_token": "[UNK]"},
}


def make_cross_encoder(folder: Path) -> Path:
    """Write the files of a model whose score is the number of words that question and text share."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.onnx").write_bytes(_model())
    _tokenizer().save(str(folder / "tokenizer.json"))
    for name, content in FILES.items():
        (folder / name).write_text(json.dumps(content), "utf-8")
    return folder


def _tokenizer() -> Tokenizer:
    vocabulary = {word: place for place, word in enumerate((*SPECIAL, *WORDS))}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    return tokenizer


def _model() -> bytes:
    """Return a graph that compares each token of the first text with each of the second.

    Tokens up to [SEP] do not count, nor does padding.
    """
    ids = "input_ids"
    nodes: list[tuple[tuple[str, ...], str, str, bytes]] = [
        ((ids, "least"), "Greater", "word", b""),
        (("word",), "Cast", "is_word", _attribute("to", FLOAT)),
        (("token_type_ids",), "Cast", "second", _attribute("to", FLOAT)),
        (("one", "second"), "Sub", "first", b""),
        (("is_word", "first"), "Mul", "asked", b""),
        (("is_word", "second"), "Mul", "read", b""),
        (("asked", "last"), "Unsqueeze", "asked_column", b""),
        (("read", "middle"), "Unsqueeze", "read_row", b""),
        (("asked_column", "read_row"), "Mul", "pairs", b""),
        ((ids, "last"), "Unsqueeze", "ids_column", b""),
        ((ids, "middle"), "Unsqueeze", "ids_row", b""),
        (("ids_column", "ids_row"), "Equal", "equal", b""),
        (("equal",), "Cast", "is_equal", _attribute("to", FLOAT)),
        (("pairs", "is_equal"), "Mul", "shared", b""),
        (("shared", "last"), "ReduceSum", "rows", _attribute("keepdims", 0)),
        (("rows", "middle"), "ReduceSum", "logits", _attribute("keepdims", 1)),
    ]
    graph = b"".join(_bytes(1, _node(*node)) for node in nodes)
    graph += _bytes(2, b"shares words")
    constants = {"least": (INT64, [3]), "last": (INT64, [2]), "middle": (INT64, [1])}
    graph += b"".join(_bytes(5, _tensor(name, *value)) for name, value in constants.items())
    graph += _bytes(5, _tensor("one", FLOAT, [1]))
    for name in ("input_ids", "token_type_ids", "attention_mask"):
        graph += _bytes(11, _value(name, INT64, ("texts", "tokens")))
    graph += _bytes(12, _value("logits", FLOAT, ("texts", "scores")))
    return _number(1, 8) + _bytes(8, _number(2, 13)) + _bytes(7, graph)


def _node(inputs: Iterable[str], operator: str, output: str, attribute: bytes) -> bytes:
    named = b"".join(_bytes(1, name.encode()) for name in inputs)
    return named + _bytes(2, output.encode()) + _bytes(4, operator.encode()) + attribute


def _attribute(name: str, value: int) -> bytes:
    return _bytes(5, _bytes(1, name.encode()) + _number(3, value) + _number(20, 2))


def _tensor(name: str, kind: int, values: list[int]) -> bytes:
    packed = struct.pack(f"<{len(values)}{'q' if kind == INT64 else 'f'}", *values)
    return _number(1, len(values)) + _number(2, kind) + _bytes(8, name.encode()) + _bytes(9, packed)


def _value(name: str, kind: int, sides: Iterable[str]) -> bytes:
    shape = b"".join(_bytes(1, _bytes(2, side.encode())) for side in sides)
    tensor = _number(1, kind) + _bytes(2, shape)
    return _bytes(1, name.encode()) + _bytes(2, _bytes(1, tensor))


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _bytes(field: int, content: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    groups = []
    while value > 0x7F:
        groups.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*groups, value])
