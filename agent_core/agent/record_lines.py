"""Files of one JSON object a line, each with its checksum, so that a damaged line costs itself alone. Pure.

A line without a checksum is of a version before them and is believed. Where a line break was hit, the records on both
sides of it are found again by their checksums.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator

import msgspec

_SEAL = re.compile(rb',"crc":(\d{1,10})\}\Z')
_SEALS = re.compile(rb',"crc":(\d{1,10})\}')
_MAX_TRIES = 256
"""Pairs of a beginning and an end that are tried in one damaged line."""


class Line(msgspec.Struct, frozen=True):
    """`record` is None where the line is damaged: then `size` bytes are left out."""

    number: int
    record: bytes | None
    size: int = 0


def sealed(record: bytes) -> bytes:
    """An encoded JSON object with at least one field, as a line of a file."""
    return b'%b,"crc":%d}\n' % (record[:-1], zlib.crc32(record))


def parted(data: bytes) -> Iterator[Line]:
    """The records of whole lines. A line that is no JSON object, or whose checksum is of something else, is damaged."""
    for number, line in enumerate(data.split(b"\n")[:-1], 1):
        record = _opened(line)
        if record is not None:
            yield Line(number, record)
            continue
        left = len(line)
        for found in _found_again(line):
            left -= len(found)
            yield Line(number, found)
        yield Line(number, None, max(1, left))


def _opened(line: bytes) -> bytes | None:
    seal = _SEAL.search(line)
    if seal is not None:
        record = line[: seal.start()] + b"}"
        return record if zlib.crc32(record) == int(seal[1]) else None
    if not (line.startswith(b"{") and line.endswith(b"}")):
        return None
    try:
        line.decode()
        msgspec.json.decode(line, type=dict[str, msgspec.Raw])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return line


def _found_again(line: bytes) -> Iterator[bytes]:
    """Whole records within a damaged line."""
    tries, at = 0, 0
    seals = list(_SEALS.finditer(line))
    for seal in seals:
        begin = line.find(b'{"', at)
        while 0 <= begin < seal.start() and tries < _MAX_TRIES:
            tries += 1
            record = line[begin : seal.start()] + b"}"
            if zlib.crc32(record) == int(seal[1]):
                yield record
                at = seal.end()
                break
            begin = line.find(b'{"', begin + 1)
