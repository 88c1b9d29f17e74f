"""Bodies of OTLP as flat records, and what is not let in."""

from __future__ import annotations

import gzip
import json

import pytest

from dashboard.hub.ingest.ndjson import Refused
from dashboard.hub.ingest.otlp import records
from dashboard.hub.ingest.otlp.records import JSON, PROTOBUF, number, read_body, whole
from tests.support.hub.otlp import SECRET, export_body, records_of, span, traces


def test_texts_longer_than_a_label_are_left_out() -> None:
    (record,) = records_of(traces([span(1, 1, 0, 0, 5, model="m", prompt="x" * 257, also="y" * 256)]), "traces")
    assert set(record.attributes) == {"model", "also"}


@pytest.mark.parametrize(
    ("media", "encoding", "body", "code"),
    [
        ("text/plain", "", b"{}", "unsupported_media"),
        (JSON, "br", b"{}", "unsupported_encoding"),
        (JSON, "", b"{", "bad_otlp"),
        (JSON, "", b'{"resourceSpans": 5}', "bad_otlp"),
        (JSON, "", b"[" * 100_000, "bad_otlp"),
        (JSON, "", b'{"resourceSpans":' + b'[{"resource":' * 20_000, "bad_otlp"),
        (PROTOBUF, "", b"\x0a\x7f", "bad_otlp"),
        (JSON, "gzip", b"no gzip", "bad_compression"),
        (JSON, "gzip", gzip.compress(b" " * (40 << 20)), "batch_too_large"),
    ],
    ids=["media", "encoding", "json", "shape", "arrays", "objects", "protobuf", "gzip", "bomb"],
)
def test_what_is_no_export_is_refused(media: str, encoding: str, body: bytes, code: str) -> None:
    with pytest.raises(Refused) as refused:
        read_body(body, media, encoding, "traces")
    assert refused.value.code == code


def test_records_beyond_the_bound_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "MAX_RECORDS", 3)
    body = traces([span(1, number, 0, 0, 1) for number in range(1, 6)])
    found = read_body(json.dumps(body).encode(), JSON, "", "traces")
    assert (len(found.records), found.rejected) == (3, 2)


def test_numbers_come_as_texts_and_as_numbers() -> None:
    assert [whole(one) for one in ("17", 17, 17.0, "x", True, "1e3", float("nan"))] == [17, 17, 17, 0, 0, 1000, 0]
    assert [number(one) for one in ("-3", "0.5", "inf", None)] == [-3, 0.5, None, None]


def test_ids_that_are_none_are_none() -> None:
    body = traces([{**span(1, 1, 0, 0, 1), "traceId": "0" * 32, "spanId": "zz"}])
    (record,) = records_of(body, "traces")
    assert (record.trace, record.span) == ("", "")


def test_an_instant_that_is_zero_is_when_it_was_seen() -> None:
    found = records_of(export_body("codex-0.171-logs.json"), "logs")
    assert all(record.end_ns > 1_796_000_000_000_000_000 for record in found)
    assert SECRET in str(export_body("codex-0.171-logs.json"))
