"""Writes a GGUF model with random weights: real to llama.cpp in all but sense, loaded in 20 ms, 8,000 tokens a second.

Its tokenizer knows bytes and three control tokens, so that any text is as many tokens as it has bytes.
"""

from __future__ import annotations

import random
import struct
from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import Any

CHATML = (
    "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>\n'}}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
CONTROL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")

_SCALARS = {4: "I", 5: "i", 6: "f", 7: "?", 10: "Q"}
WIDTH, HEADS, FORWARD = 32, 2, 64


def text(value: str) -> bytes:
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def pair(key: str, kind: int, value: Any) -> bytes:
    """A key with a value of a GGUF type: 4 uint32, 6 float32, 7 bool, 8 string."""
    return (
        text(key) + struct.pack("<I", kind) + (text(value) if kind == 8 else struct.pack("<" + _SCALARS[kind], value))
    )


def pairs(key: str, kind: int, values: Sequence[Any]) -> bytes:
    """A key with an array of strings (8) or int32 (5)."""
    head = text(key) + struct.pack("<IIQ", 9, kind, len(values))
    return head + (
        b"".join(map(text, values)) if kind == 8 else struct.pack(f"<{len(values)}{_SCALARS[kind]}", *values)
    )


def byte_tokens() -> list[str]:
    """The characters that stand for the 256 bytes in GPT-2's byte-level BPE."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in plain]
    stands = {byte: chr(byte) for byte in plain} | {byte: chr(256 + at) for at, byte in enumerate(others)}
    return [stands[byte] for byte in range(256)]


def write_tiny(
    path: Path,
    *,
    seed: int = 1,
    context: int = 4096,
    layers: int = 2,
    template: str | None = CHATML,
    architecture: str = "llama",
    extra: Sequence[bytes] = (),
) -> Path:
    """`template` None: the file has none. `extra`: further pairs of the header."""
    tokens = [*CONTROL, *byte_tokens()]
    kinds = [3] * len(CONTROL) + [1] * 256
    a = architecture
    header = [
        pair("general.architecture", 8, a),
        pair("general.name", 8, "tiny"),
        pair(f"{a}.block_count", 4, layers),
        pair(f"{a}.context_length", 4, context),
        pair(f"{a}.embedding_length", 4, WIDTH),
        pair(f"{a}.feed_forward_length", 4, FORWARD),
        pair(f"{a}.attention.head_count", 4, HEADS),
        pair(f"{a}.attention.head_count_kv", 4, HEADS),
        pair(f"{a}.attention.layer_norm_rms_epsilon", 6, 1e-5),
        pair(f"{a}.rope.dimension_count", 4, WIDTH // HEADS),
        pair(f"{a}.vocab_size", 4, len(tokens)),
        pair("tokenizer.ggml.model", 8, "gpt2"),
        pair("tokenizer.ggml.pre", 8, "smollm"),
        pairs("tokenizer.ggml.tokens", 8, tokens),
        pairs("tokenizer.ggml.token_type", 5, kinds),
        pairs("tokenizer.ggml.merges", 8, ["h e"]),
        pair("tokenizer.ggml.bos_token_id", 4, 1),
        pair("tokenizer.ggml.eos_token_id", 4, 2),
        pair("tokenizer.ggml.add_bos_token", 7, False),
        *([pair("tokenizer.chat_template", 8, template)] if template is not None else []),
        *extra,
    ]
    infos, weights = _tensors(random.Random(seed), layers, len(tokens))
    head = b"GGUF" + struct.pack("<IQQ", 3, len(infos), len(header)) + b"".join(header) + b"".join(infos)
    path.write_bytes(head + b"\0" * (-len(head) % 32) + weights)
    return path


def _tensors(rnd: random.Random, layers: int, vocabulary: int) -> tuple[list[bytes], bytes]:
    shapes: dict[str, tuple[int, ...]] = {
        "token_embd.weight": (WIDTH, vocabulary),
        "output.weight": (WIDTH, vocabulary),
        "output_norm.weight": (WIDTH,),
    }
    for layer in range(layers):
        block = f"blk.{layer}"
        shapes |= {f"{block}.{name}_norm.weight": (WIDTH,) for name in ("attn", "ffn")}
        shapes |= {f"{block}.attn_{name}.weight": (WIDTH, WIDTH) for name in ("q", "k", "v", "output")}
        shapes |= {f"{block}.ffn_{name}.weight": (WIDTH, FORWARD) for name in ("gate", "up")}
        shapes[f"{block}.ffn_down.weight"] = (FORWARD, WIDTH)
    infos: list[bytes] = []
    weights = b""
    for name, shape in shapes.items():
        count = shape[0] * (shape[1] if len(shape) > 1 else 1)
        values = [1.0] * count if "norm" in name else [rnd.gauss(0, 0.3) for _ in range(count)]
        if name == "output.weight":
            _silence(values, vocabulary)
        infos.append(text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, 0, len(weights)))
        data = array("f", values).tobytes()
        weights += data + b"\0" * (-len(data) % 32)
    return infos, weights


def _silence(values: list[float], vocabulary: int) -> None:
    """Let the model write printable ASCII and the end of a message only."""
    spoken = {2, *(len(CONTROL) + byte for byte in range(32, 127))}
    for token in range(vocabulary):
        if token not in spoken:
            values[token * WIDTH : (token + 1) * WIDTH] = [0.0] * WIDTH
