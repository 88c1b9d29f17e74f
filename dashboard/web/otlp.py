"""`/v1/logs`, `/v1/traces`, `/v1/metrics`: OTLP over HTTP, for agents that export what they do by themselves.

Answers are OTLP's: an empty success, a partial success that says how much was left out and why, or a status with a
message; what may be sent again is 429 or 503. An answer of success means that what counts is durable.
"""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import NamedTuple

import msgspec
from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from dashboard.hub.ingest.ndjson import Refused
from dashboard.hub.ingest.otlp.mapping import Read, read_reports
from dashboard.hub.ingest.otlp.records import JSON, PROTOBUF, Signal, read_body
from dashboard.hub.people.auth import Identity
from dashboard.web.access import IngestApi
from dashboard.web.ingest import note_refusal, team_of, timely_body
from dashboard.web.parts import Parts, parts_of

RETRYABLE = (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE)
MAX_EXPORTERS = 50
"""Processes in one body; a collector that gathers more sends more bodies."""
_REJECTED = {"logs": "rejectedLogRecords", "traces": "rejectedSpans", "metrics": "rejectedDataPoints"}
_CODES = {400: 3, 401: 16, 403: 7, 404: 5, 413: 3, 415: 3, 429: 8, 503: 14}
"""Of google.rpc.Status by HTTP status."""

router = APIRouter()


class Taken(NamedTuple):
    rejected: int
    message: str


@router.post("/v1/logs")
async def logs(request: Request, identity: IngestApi) -> Response:
    return await _export(request, identity, "logs")


@router.post("/v1/traces")
async def traces(request: Request, identity: IngestApi) -> Response:
    return await _export(request, identity, "traces")


@router.post("/v1/metrics")
async def metrics(request: Request, identity: IngestApi) -> Response:
    """Read and not kept: who exports metrics tells the same figures call by call in logs or traces."""
    return await _export(request, identity, "metrics")


async def _export(request: Request, identity: Identity, signal: Signal) -> Response:
    parts = parts_of(request)
    media = request.headers.get("content-type", "")
    body = await timely_body(request)
    try:
        wait_s = parts.ingest_rate.take(f"{identity.team}/{identity.name}/otlp", parts.hub.clock.mono_ns())
        if wait_s:
            message = "Send larger batches, less often."
            raise Refused(HTTPStatus.TOO_MANY_REQUESTS, "too_many_batches", message, retry_after_s=wait_s)
        encoding = request.headers.get("content-encoding", "")
        read, beyond = await asyncio.to_thread(_read, body, media, encoding, signal)
        taken = await _take(parts, identity, read, beyond)
    except Refused as refused:
        note_refusal(parts, identity, refused)
        return _status(media, refused)
    return _success(media, signal, taken)


def _read(body: bytes, media: str, encoding: str, signal: Signal) -> tuple[Read, int]:
    found = read_body(body, media, encoding, signal)
    return read_reports(found.records), found.rejected


async def _take(parts: Parts, identity: Identity, read: Read, beyond: int) -> Taken:
    rejected, reasons = beyond + read.rejected, []
    if beyond:
        reasons.append("too many records in one body")
    if read.rejected:
        reasons.append("values out of range")
    for number, (exporter, reports) in enumerate(read.reports.items()):
        if number >= MAX_EXPORTERS:
            rejected += len(reports)
            if "too many resources" not in reasons:
                reasons.append("too many resources")
        else:
            await parts.reporting.accept(team_of(identity), identity.name, exporter, reports)
    parts.hub.counters.unfit += rejected
    return Taken(rejected, "; ".join(reasons))


def _success(media: str, signal: Signal, taken: Taken) -> Response:
    if _is_json(media):
        partial = {_REJECTED[signal]: str(taken.rejected), "errorMessage": taken.message}
        return Response(msgspec.json.encode({"partialSuccess": partial} if taken.rejected else {}), media_type=JSON)
    inner = _field(1, taken.rejected) + _text(2, taken.message) if taken.rejected else b""
    return Response(_bytes(1, inner) if inner else b"", media_type=PROTOBUF)


def _status(media: str, refused: Refused) -> Response:
    """Of what may come again the hub says so by 503 or 429, whatever its own reason is."""
    status = refused.status
    headers = {}
    if refused.retry_after_s is not None:
        status = status if status in RETRYABLE else HTTPStatus.SERVICE_UNAVAILABLE
        headers["retry-after"] = str(max(1, round(refused.retry_after_s)))
    code = _CODES.get(status, 2)
    if _is_json(media):
        body = msgspec.json.encode({"code": code, "message": refused.message})
        return Response(body, status, headers, media_type=JSON)
    return Response(_field(1, code) + _text(2, refused.message), status, headers, media_type=PROTOBUF)


def _is_json(media: str) -> bool:
    return media.partition(";")[0].strip().lower() != PROTOBUF


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def _field(number: int, value: int) -> bytes:
    return _varint(number << 3) + _varint(value)


def _bytes(number: int, data: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _text(number: int, text: str) -> bytes:
    return _bytes(number, text.encode())
