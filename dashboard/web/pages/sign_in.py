"""Signing in and out: a token, the launch secret or the one-time code goes in by POST, a cookie comes out."""

from __future__ import annotations

import re
from http import HTTPStatus

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from dashboard.hub.people.auth import SESSION_LIFE_US
from dashboard.web.access import count_failure, read_form, session_cookie
from dashboard.web.origin import origin_problem
from dashboard.web.pages.common import page
from dashboard.web.parts import Parts, parts_of
from dashboard.web.replies import WebError

_PATH = re.compile(r"/(?![/\\])[^\\\x00-\x20\x7f]{0,500}\Z", re.ASCII)

router = APIRouter()
"""Public: who signs in is nobody yet."""


@router.get("/login")
async def form(request: Request) -> Response:
    """The page of the one-time link too; the code is used when the form is sent, not when a page is looked at."""
    code = request.query_params.get("code", "")[:100]
    return page(request, "login.html", code=code, next=_next(request.query_params.get("next", "")), problem="")


@router.post("/login")
async def sign_in(request: Request) -> Response:
    parts = parts_of(request)
    _check_origin(request, parts)
    fields = await read_form(request)
    onward = _next(fields.get("next", ""))
    credential = (fields.get("code") or fields.get("token") or "").strip()
    cookie = parts.auth.sign_in(credential) if 0 < len(credential) < 200 else None
    if cookie is None:
        count_failure(request, parts)
        parts.auth.audit("?", "sign_in.refused", request.client.host if request.client is not None else "")
        problem = (
            "This link was used already; sign in with a token, or start anew."
            if fields.get("code")
            else ("This token is unknown, was revoked, or sees no pages.")
        )
        return page(request, "login.html", status=403, code="", next=onward, problem=problem)
    identity = parts.auth.by_session(cookie)
    parts.auth.audit(identity.name if identity is not None else "?", "sign_in")
    answer = RedirectResponse(onward, HTTPStatus.SEE_OTHER)
    answer.set_cookie(
        parts.site.cookie, cookie, max_age=SESSION_LIFE_US // 1_000_000, path="/", secure=parts.site.secure,
        httponly=True, samesite="lax",
    )  # fmt: skip
    return answer


@router.post("/logout")
async def sign_out(request: Request) -> Response:
    parts = parts_of(request)
    _check_origin(request, parts)
    cookie = session_cookie(request, parts)
    if cookie is not None:
        parts.auth.sign_out(cookie)
    answer = RedirectResponse("/login", HTTPStatus.SEE_OTHER)
    answer.delete_cookie(parts.site.cookie, path="/", secure=parts.site.secure, httponly=True, samesite="lax")
    return answer


def _check_origin(request: Request, parts: Parts) -> None:
    problem = origin_problem(parts.site, "POST", "sign-in", "none", request.headers)
    if problem:
        raise WebError(HTTPStatus.FORBIDDEN, "wrong_origin", problem)


def _next(path: str) -> str:
    """A path of ours to go on to; anything else is the first page."""
    return path if _PATH.match(path) and not path.startswith("/login") else "/"
