"""What a GGUF file says of itself: architecture, sizes, chat templates, special tokens; and whether it is whole.

Source: ggml-org/ggml `docs/gguf.md`, versions 2 and 3, little-endian.
"""

from __future__ import annotations

import mmap
import struct
from pathlib import Path
from typing import Any, Final

import msgspec

from agent_core.errors import EngineError

_MAGIC: Final = b"GGUF"
_VERSIONS: Final = (2, 3)
_STRING, _ARRAY = 8, 9
_SCALARS: Final = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_MAX_DIMENSIONS: Final = 4
_CONTROL: Final = 3
"""Token type of what a tokenizer never makes from plain text."""

_BLOCKS: Final = {
    0: (1, 4), 1: (1, 2), 2: (32, 18), 3: (32, 20), 6: (32, 22), 7: (32, 24), 8: (32, 34), 9: (32, 36),
    10: (256, 84), 11: (256, 110), 12: (256, 144), 13: (256, 176), 14: (256, 210), 15: (256, 292), 30: (1, 2),
}  # fmt: skip
"""Elements and bytes of a block by ggml type (`ggml.h`); types that are not here are not measured."""

_WANTED: Final = ("tokenizer.ggml.tokens", "tokenizer.ggml.token_type")
"""Arrays that are kept; others are stepped over."""


class Gguf(msgspec.Struct, frozen=True, kw_only=True):
    """`context_tokens`: what the model was trained for, 0 if the file does not say.

    `kv_bytes_per_token`: keys and values of one position in 16-bit floats, 0 if the file does not say.
    `templates`: chat templates by name, the usual one under "". `special`: control tokens by their text.
    """

    path: Path
    size_bytes: int
    architecture: str
    name: str
    context_tokens: int
    kv_bytes_per_token: int
    templates: dict[str, str]
    special: dict[str, int]
    bos: str
    eos: str
    adds_bos: bool


def read_gguf(path: Path) -> Gguf:
    """Raises EngineError `engine_unavailable` for a file that is missing, unreadable, cut short or no GGUF."""
    try:
        with path.open("rb") as file:
            if path.stat().st_size < 24:
                raise _unusable(path, "is no GGUF model: it is too short", "download it again")
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                return _read(path, data)
    except FileNotFoundError:
        raise _unusable(path, "does not exist", "check the path after 'llama:'") from None
    except OSError as error:
        raise _unusable(path, f"can't be read ({error.strerror or 'input/output error'})", "check the path") from None
    except (struct.error, UnicodeDecodeError, MemoryError, OverflowError):
        raise _unusable(path, "is damaged or cut short", "download it again") from None


def _unusable(path: Path, what: str, hint: str) -> EngineError:
    return EngineError(f"The model file {path} {what}; {hint}.", code="engine_unavailable")


class _Cursor:
    def __init__(self, data: mmap.mmap) -> None:
        self.data, self.at = data, 0

    def take(self, form: str) -> Any:
        value = struct.unpack_from("<" + form, self.data, self.at)[0]
        self.at += struct.calcsize("<" + form)
        return value

    def text(self) -> str:
        size = self.take("Q")
        if size > len(self.data) - self.at:
            raise struct.error("a string ends behind the file")
        self.at += size
        return self.data[self.at - size : self.at].decode("utf-8", "replace")

    def skip_text(self) -> None:
        size = self.take("Q")
        self.at += size
        if self.at > len(self.data):
            raise struct.error("a string ends behind the file")

    def value(self, kind: int, *, keep: bool) -> Any:
        if kind == _STRING:
            return self.text()
        if kind != _ARRAY:
            return self.take(_scalar(kind))
        inner, count = self.take("I"), self.take("Q")
        if count > len(self.data):
            raise struct.error("an array ends behind the file")
        if inner == _STRING:
            if keep:
                return [self.text() for _ in range(count)]
            for _ in range(count):
                self.skip_text()
            return []
        form = f"<{count}{_scalar(inner)}"
        start = self.at
        self.at += struct.calcsize(form)
        if self.at > len(self.data):
            raise struct.error("an array ends behind the file")
        return list(struct.unpack_from(form, self.data, start)) if keep or count <= 1024 else []


def _scalar(kind: int) -> str:
    form = _SCALARS.get(kind)
    if form is None:
        raise struct.error("unknown type of value")
    return form


def _read(path: Path, data: mmap.mmap) -> Gguf:
    cursor = _Cursor(data)
    if data[:4] != _MAGIC:
        raise _unusable(path, "is no GGUF model", "only GGUF files can be run")
    cursor.at = 4
    version = cursor.take("I")
    if version not in _VERSIONS:
        raise _unusable(path, f"has GGUF version {version}", "versions 2 and 3 can be read; convert the model anew")
    tensors, pairs = cursor.take("Q"), cursor.take("Q")
    values: dict[str, Any] = {}
    for _ in range(pairs):
        key = cursor.text()
        values[key] = cursor.value(cursor.take("I"), keep=key in _WANTED)
    missing = _missing_bytes(cursor, tensors, values)
    if missing > 0:
        raise _unusable(path, f"is cut short, {missing:,} bytes of its weights are missing", "download it again")
    return _described(path, len(data), values)


def _missing_bytes(cursor: _Cursor, tensors: int, values: dict[str, Any]) -> int:
    """How far the furthest tensor reaches behind the end of the file."""
    end = 0
    for _ in range(tensors):
        cursor.skip_text()
        dimensions = cursor.take("I")
        if dimensions > _MAX_DIMENSIONS:
            raise struct.error("too many dimensions")
        count = 1
        for _ in range(dimensions):
            count *= cursor.take("Q")
        kind, offset = cursor.take("I"), cursor.take("Q")
        elements, size = _BLOCKS.get(kind, (1, 0))
        end = max(end, offset + count // elements * size)
    alignment = _number(values, "general.alignment") or 32
    start = (cursor.at + alignment - 1) // alignment * alignment
    return start + end - len(cursor.data)


def _described(path: Path, size: int, values: dict[str, Any]) -> Gguf:
    architecture = str(values.get("general.architecture", ""))
    tokens = values.get("tokenizer.ggml.tokens") or []
    kinds = values.get("tokenizer.ggml.token_type") or []
    prefix = "tokenizer.chat_template"
    return Gguf(
        path=path,
        size_bytes=size,
        architecture=architecture,
        name=str(values.get("general.name", path.stem)),
        context_tokens=_number(values, f"{architecture}.context_length"),
        kv_bytes_per_token=_kv_bytes(architecture, values),
        templates={
            key[len(prefix) :].lstrip("."): text
            for key, text in values.items()
            if key.startswith(prefix) and isinstance(text, str)
        },
        special={
            text: at for at, (text, kind) in enumerate(zip(tokens, kinds, strict=False)) if kind == _CONTROL and text
        },
        bos=_token(tokens, values.get("tokenizer.ggml.bos_token_id")),
        eos=_token(tokens, values.get("tokenizer.ggml.eos_token_id")),
        adds_bos=values.get("tokenizer.ggml.add_bos_token", values.get("tokenizer.ggml.model") == "llama") is True,
    )


def _kv_bytes(architecture: str, values: dict[str, Any]) -> int:
    """An upper bound: layers that share or compress their state count in full."""

    def per_layer(name: str, default: int) -> list[int]:
        value = values.get(f"{architecture}.{name}", default)
        return [int(each) for each in value] if isinstance(value, list) else [int(value)] * layers

    layers = _number(values, f"{architecture}.block_count")
    heads = max(per_layer("attention.head_count", 0), default=0)
    width = _number(values, f"{architecture}.embedding_length") // heads if heads else 0
    key = _number(values, f"{architecture}.attention.key_length") or width
    value = _number(values, f"{architecture}.attention.value_length") or width
    return 2 * (key + value) * sum(per_layer("attention.head_count_kv", heads))


def _number(values: dict[str, Any], key: str) -> int:
    value = values.get(key, 0)
    return value if isinstance(value, int) else 0


def _token(tokens: list[str], position: object) -> str:
    return tokens[position] if isinstance(position, int) and 0 <= position < len(tokens) else ""
