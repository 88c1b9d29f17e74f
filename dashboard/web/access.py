"""Puts who asks before what is asked: a dependency of every router but the public one.

Runs after routing, so what it guards is the route's own pattern. A test walks all routes and fails on one without it.
"""

from __future__ import annotations

import hmac
from http import HTTPStatus
from typing import Annotated
from urllib.parse import parse_qsl

from fastapi import Depends
from starlette.requests import Request

from dashboard.hub.people.auth import Identity, Permission
from dashboard.web.origin import SAFE_METHODS, Credential, Kind, origin_problem
from dashboard.web.parts import Parts, parts_of
from dashboard.web.replies import SignInNeeded, WebError

CSRF_HEADER = "x-loopline-csrf"
MAX_FORM_BYTES = 64 << 10


class Access:
    """`Depends(Access(permission, kind))`: gives the `Identity`, which is also at `request.state.identity`."""

    def __init__(self, permission: Permission, kind: Kind) -> None:
        self.permission, self.kind = permission, kind

    async def __call__(self, request: Request) -> Identity:
        parts = parts_of(request)
        identity, credential = _identify(request, parts, self.kind)
        problem = origin_problem(parts.site, request.method, self.kind, credential, request.headers)
        if problem:
            raise WebError(HTTPStatus.FORBIDDEN, "wrong_origin", problem)
        if identity is None:
            raise SignInNeeded
        if not identity.may(self.permission):
            message = f"A token of role {identity.role} may not do this."
            raise WebError(HTTPStatus.FORBIDDEN, "wrong_role", message)
        if credential == "cookie" and request.method not in SAFE_METHODS:
            await _check_csrf(request, parts)
        request.state.identity = identity
        return identity


def session_cookie(request: Request, parts: Parts) -> str | None:
    return request.cookies.get(parts.site.cookie)


def _identify(request: Request, parts: Parts, kind: Kind) -> tuple[Identity | None, Credential]:
    """Who it is, and by what. A request with a bearer token is judged by that alone."""
    values = request.headers.getlist("authorization")
    if values:
        scheme, _, token = values[0].partition(" ")
        right = len(values) == 1 and scheme.lower() == "bearer"
        identity = parts.auth.by_bearer(token.strip()) if right else None
        if identity is None:
            count_failure(request, parts)
        return identity, "bearer"
    cookie = session_cookie(request, parts) if kind != "ingest" else None
    if cookie is None:
        return None, "none"
    return parts.auth.by_session(cookie), "cookie"


def count_failure(request: Request, parts: Parts) -> None:
    """Note a wrong credential of a peer. Raises `WebError` (429) if there are too many."""
    peer = request.client.host if request.client is not None else ""
    wait_s = parts.failures.take(peer, parts.hub.clock.mono_ns())
    if wait_s:
        message = "Too many wrong tokens; wait a moment."
        raise WebError(HTTPStatus.TOO_MANY_REQUESTS, "too_many_attempts", message, retry_after_s=wait_s)


async def _check_csrf(request: Request, parts: Parts) -> None:
    """A change by a page brings the page's proof, as a header or a form field; JSON only as JSON."""
    cookie = session_cookie(request, parts) or ""
    given = request.headers.get(CSRF_HEADER)
    if given is None:
        given = (await read_form(request)).get("csrf", "")
    elif not request.headers.get("content-type", "").lower().startswith("application/json"):
        raise WebError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "json_only", "Send JSON with Content-Type application/json.")
    if not hmac.compare_digest(given.encode(), parts.auth.csrf(cookie).encode()):
        raise WebError(HTTPStatus.FORBIDDEN, "stale_page", "This page is out of date; reload it and try again.")


async def read_form(request: Request) -> dict[str, str]:
    """Fields of a URL-encoded form; the last of a name. Nothing for another content type."""
    if not request.headers.get("content-type", "").lower().startswith("application/x-www-form-urlencoded"):
        return {}
    if not hasattr(request.state, "form"):
        body = await read_body(request, MAX_FORM_BYTES)
        request.state.form = dict(
            parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=200)
        )
    form: dict[str, str] = request.state.form
    return form


async def read_body(request: Request, limit: int) -> bytes:
    """The body, at most `limit` bytes; refused as soon as it is longer."""
    told = request.headers.get("content-length", "")
    if told.isdigit() and int(told) > limit:
        raise _too_large(limit)
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > limit:
            raise _too_large(limit)
        parts.append(part)
    return b"".join(parts)


def _too_large(limit: int) -> WebError:
    message = f"The body is longer than {limit} bytes."
    return WebError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "body_too_large", message)


ReadPage = Annotated[Identity, Depends(Access(Permission.READ, "page"))]
ReadApi = Annotated[Identity, Depends(Access(Permission.READ, "api"))]
ExportApi = Annotated[Identity, Depends(Access(Permission.EXPORT, "page"))]
"""A download is a document: a link of ours or a typed address."""
MetricsApi = Annotated[Identity, Depends(Access(Permission.METRICS, "api"))]
IngestApi = Annotated[Identity, Depends(Access(Permission.INGEST, "ingest"))]
SettingsApi = Annotated[Identity, Depends(Access(Permission.SETTINGS, "api"))]
SettingsForm = Annotated[Identity, Depends(Access(Permission.SETTINGS, "form"))]
PeopleForm = Annotated[Identity, Depends(Access(Permission.PEOPLE, "form"))]
