"""Puts the web side together: routes behind their guards, errors as answers."""

from __future__ import annotations

from http import HTTPStatus
from urllib.parse import quote

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from dashboard.hub.store.port import StoreError
from dashboard.web import api, ingest, otlp, stream
from dashboard.web.guard import Guard
from dashboard.web.pages import errors, now, people, reuse, service, settings, sign_in, trends, turn, usage
from dashboard.web.pages.common import page
from dashboard.web.parts import Parts, parts_of
from dashboard.web.replies import SignInNeeded, WebError, error_reply

PUBLIC = frozenset({"/healthz", "/login", "/logout", "/static/{stamp}/{name:path}"})
"""Routes that need no credential; everything else has an `access.Access`."""


def build_app(parts: Parts) -> FastAPI:
    app = FastAPI(title="Loopline", docs_url=None, redoc_url=None, openapi_url=None, redirect_slashes=False)
    app.state.parts = parts
    # The busiest first.
    for module in (
        ingest,
        otlp,
        stream,
        now,
        turn,
        trends,
        usage,
        people,
        service,
        reuse,
        errors,
        settings,
        api,
        sign_in,
    ):
        app.router.routes.extend(module.router.routes)
    app.router.routes.extend(api.public.routes)
    app.add_exception_handler(WebError, _web_error)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(StoreError, _store_error)
    app.add_middleware(Guard, site=parts.site)
    return app


async def _web_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, WebError)
    if not _wants_page(request):
        return error_reply(error)
    if isinstance(error, SignInNeeded):
        asked = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        onward = f"?next={quote(asked, safe='/')}" if request.method == "GET" and asked != "/" else ""
        return RedirectResponse(f"/login{onward}", HTTPStatus.SEE_OTHER)
    return page(request, "message.html", status=error.status, title=error.status.phrase, message=error.message)


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    status = HTTPStatus(error.status_code)
    return await _web_error(request, WebError(status, status.name.lower(), f"{status.phrase}."))


async def _store_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, StoreError)
    message = "The store can't be read now; try again in a moment."
    unavailable = WebError(HTTPStatus.SERVICE_UNAVAILABLE, error.code, message, retry_after_s=5)
    return await _web_error(request, unavailable)


def _wants_page(request: Request) -> bool:
    """Whether a person reads the answer: a page of ours was asked for, by something that takes HTML."""
    path = request.url.path
    if path.startswith(("/api/", "/v1/")) or path in ("/metrics", "/healthz"):
        return False
    return "text/html" in request.headers.get("accept", "") and parts_of(request) is not None
