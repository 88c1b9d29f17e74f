"""Every route behind its guard, on a real server: routes walked, credentials, roles, origins and hosts as data."""

from __future__ import annotations

import asyncio
import base64
import os
import re
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from fastapi.routing import APIRoute

from dashboard.hub.people.auth import ROLES, Permission
from dashboard.web.access import CSRF_HEADER, Access
from dashboard.web.app import PUBLIC, build_app
from tests.support.hub.stores import agent_scene, packed, work
from tests.support.web.running import Site, running_site


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with running_site(tmp_path) as running:
        yield running


def routes(site: Site) -> list[APIRoute]:
    found = build_app(site.parts).routes
    assert all(isinstance(route, APIRoute) for route in found), found
    return [route for route in found if isinstance(route, APIRoute)]


def guard_of(route: APIRoute) -> Access | None:
    for dependency in route.dependant.dependencies:
        if isinstance(dependency.call, Access):
            return dependency.call
    return None


def path_of(route: APIRoute) -> str:
    return re.sub(r"\{[^}]+\}", "x", route.path)


async def test_every_route_is_guarded_or_public_on_purpose(site: Site) -> None:
    found = routes(site)
    assert {route.path for route in found if guard_of(route) is None} == PUBLIC
    assert len(found) > 25
    fixed = {"/", "/turns/{turn:path}", "/trends", "/reuse", "/errors", "/settings", "/api/stream", "/api/settings"}
    assert fixed | {"/api/ingest", "/metrics", "/healthz"} <= {route.path for route in found}


async def test_nobody_gets_past_any_guarded_route(site: Site) -> None:
    async with site.client() as client:
        for route in routes(site):
            if guard_of(route) is None:
                continue
            for method in route.methods or ():
                for headers in ({}, {"authorization": "Bearer wrong"}, {"authorization": "Basic eDp5"}):
                    answer = await client.request(method, path_of(route), headers=headers)
                    assert answer.status_code in (401, 403, 429), (method, route.path, headers)
                    assert "set-cookie" not in answer.headers
                site.parts.failures.clear()


async def test_each_role_may_do_what_it_may_and_no_more(site: Site) -> None:
    for role, permissions in ROLES.items():
        token = site.token(f"is-{role}", role, "blue")
        async with site.client(token) as client:
            for route in routes(site):
                guard = guard_of(route)
                if guard is None or guard.permission in permissions:
                    continue
                for method in route.methods or ():
                    answer = await client.request(method, path_of(route))
                    assert answer.status_code == 403, (role, method, route.path)
                    assert "wrong_role" in answer.text or "role" in answer.text


async def test_unknown_paths_and_methods_are_no_way_in(site: Site) -> None:
    async with site.client() as client:
        for path in (
            "/nothing",
            "/api/nothing",
            "/docs",
            "/openapi.json",
            "/redoc",
            "/static/../app.py",
        ):
            assert (await client.get(path)).status_code == 404, path
        assert (await client.delete("/")).status_code == 405
        assert (
            await client.request("OPTIONS", "/api/now", headers={"origin": "https://evil.example"})
        ).status_code == 405


CREDENTIALS = ("none", "cookie", "bearer")
ORIGINS = {
    "no": None,
    "same": "{url}",
    "foreign": "https://evil.example",
    "null": "null",
    "another port": "http://127.0.0.1:1",
    "suffix trick": "{url}.evil.example",
}
WAYS: dict[str, tuple[str, str]] = {
    "page": ("GET", "/"),
    "data": ("GET", "/api/now"),
    "stream": ("GET", "/api/stream"),
    "change": ("PUT", "/api/settings"),
    "ingest": ("POST", "/api/ingest"),
}


def expected(way: str, credential: str, origin: str) -> set[int]:
    """Statuses that are right."""
    if way == "ingest":
        if origin != "no" or credential == "cookie":
            return {403}
        return {401} if credential == "none" else {200}
    if credential == "bearer":
        return {200}
    if origin not in ("no", "same"):
        return {403}
    if credential == "none":
        return {401}
    if origin == "no":
        return {"page": {200}, "data": {403}, "stream": {403}, "change": {403}}[way]
    return {200}


async def test_the_matrix_of_origins_and_credentials(site: Site) -> None:
    cookie, csrf = await site.signed_in()
    scene = agent_scene()
    work(scene)
    ways = [(way, credential, name) for way in WAYS for credential in CREDENTIALS for name in ORIGINS]
    async with site.client() as client:
        for way, credential, name in ways:
            (method, path), origin = WAYS[way], ORIGINS[name]
            headers = {} if origin is None else {"origin": origin.format(url=site.url)}
            if way == "change":
                headers |= {"content-type": "application/json", CSRF_HEADER: csrf}
            if credential == "bearer":
                headers["authorization"] = f"Bearer {site.secret}"
            if credential == "cookie":
                headers |= cookie
            if way == "ingest":
                headers["content-encoding"] = "gzip"
            body = packed(scene.events) if way == "ingest" else b"{}" if way == "change" else None
            async with (
                site.client() as client,
                client.stream(method, path, headers=headers, content=body) as answer,
            ):
                assert answer.status_code in expected(way, credential, name), (way, credential, name)
                assert "access-control-allow-origin" not in answer.headers
            site.parts.failures.clear()


async def test_a_stream_of_our_page_is_accepted_without_an_origin(site: Site) -> None:
    cookie, _ = await site.signed_in()
    headers = {"sec-fetch-site": "same-origin", "sec-fetch-mode": "cors", **cookie}
    async with site.client(**headers) as client, client.stream("GET", "/api/stream") as answer:
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith("text/event-stream")
    foreign = {**headers, "sec-fetch-site": "cross-site"}
    async with site.client(**foreign) as client:
        assert (await client.get("/api/stream")).status_code == 403


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "127.0.0.1:1", "", "localhost.evil.example:{port}"])
async def test_a_foreign_host_is_refused_everywhere(site: Site, host: str) -> None:
    port = site.url.rpartition(":")[2]
    headers = {"host": host.format(port=port), "authorization": f"Bearer {site.secret}"}
    async with site.client() as client:
        for path in ("/", "/healthz", "/login", "/api/now", "/api/stream", "/metrics", "/api/ingest", "/nothing"):
            answer = await client.get(path, headers=headers)
            assert answer.status_code == 403, path
            assert "public-url" in answer.text


async def raw(site: Site, text: str) -> bytes:
    port = int(site.url.rpartition(":")[2])
    async with asyncio.timeout(10):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(text.replace("\n", "\r\n").encode())
        await writer.drain()
        answer = await reader.read(4096)
        writer.close()
        return answer


async def test_a_path_that_looks_like_a_host_is_a_path(site: Site) -> None:
    port = site.url.rpartition(":")[2]
    answer = await raw(site, f"GET //evil.example/ HTTP/1.1\nHost: 127.0.0.1:{port}\nAccept: text/html\n\n")
    assert answer.split(b" ")[1] == b"404"
    assert b"\r\nlocation:" not in answer.lower()


async def test_a_host_twice_or_missing_is_refused(site: Site) -> None:
    port = site.url.rpartition(":")[2]
    twice = await raw(site, f"GET / HTTP/1.1\nHost: 127.0.0.1:{port}\nHost: evil.example\n\n")
    missing = await raw(site, "GET / HTTP/1.1\nConnection: close\n\n")
    for answer in (twice, missing):
        assert answer.split(b" ")[1] in (b"400", b"403")


@pytest.mark.parametrize("origin", ["{url}", "https://evil.example"])
async def test_there_is_no_web_socket(site: Site, origin: str) -> None:
    port = site.url.rpartition(":")[2]
    key = base64.b64encode(os.urandom(16)).decode()
    for path in ("/", "/api/stream", "/api/events", "/ws"):
        answer = await raw(
            site,
            f"GET {path} HTTP/1.1\nHost: 127.0.0.1:{port}\nUpgrade: websocket\nConnection: Upgrade\n"
            f"Sec-WebSocket-Key: {key}\nSec-WebSocket-Version: 13\nOrigin: {origin.format(url=site.url)}\n\n",
        )
        assert not answer.startswith(b"HTTP/1.1 101"), path
        assert answer.split(b" ")[1] in (b"401", b"403", b"404")


async def test_a_change_by_cookie_needs_the_pages_proof_and_json(site: Site) -> None:
    cookie, csrf = await site.signed_in()
    other = site.parts.auth.csrf("another session")
    json_type = "application/json"
    async with site.client(origin=site.url, **cookie) as client:
        for headers, status in (
            ({"content-type": json_type}, 403),
            ({"content-type": json_type, CSRF_HEADER: other}, 403),
            ({"content-type": json_type, CSRF_HEADER: ""}, 403),
            ({"content-type": "text/plain", CSRF_HEADER: csrf}, 415),
            ({"content-type": json_type, CSRF_HEADER: csrf}, 200),
        ):
            answer = await client.put("/api/settings", headers=headers, content=b'{"raw_days": 9}')
            assert answer.status_code == status, headers
        form = await client.post("/settings", data={"raw_days": "8"})
        assert form.status_code == 403
        form = await client.post("/settings", data={"raw_days": "8", "csrf": csrf})
        assert form.status_code == 303
    assert site.hub.settings.raw_days == 8


async def test_answers_carry_the_headers_that_keep_pages_apart(site: Site) -> None:
    async with site.client(site.secret) as client:
        for path in ("/", "/api/now", "/login", "/healthz", "/nothing", "/metrics"):
            headers = (await client.get(path)).headers
            policy = headers["content-security-policy"]
            assert "default-src 'none'" in policy
            assert "frame-ancestors 'none'" in policy
            assert "unsafe" not in policy
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["cross-origin-opener-policy"] == "same-origin"
            assert headers["cross-origin-resource-policy"] == "same-origin"
            assert headers["cache-control"] == "no-store"
            assert "server" not in headers
        asset = await client.get(site.parts.assets.url("js/app.js"))
        assert "immutable" in asset.headers["cache-control"]


async def test_the_cookie_is_the_browsers_alone(site: Site) -> None:
    async with site.client() as client:
        answer = await client.post("/login", data={"token": site.secret})
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie
    assert "Path=/" in cookie
    assert site.url.rpartition(":")[2] in cookie.partition("=")[0]
    assert site.secret not in cookie


async def test_behind_tls_the_cookie_is_secure_and_bound_to_the_host(tmp_path: Path) -> None:
    async with running_site(tmp_path, public_url="https://hub.example") as site:
        assert "hub.example" in site.parts.site.hosts
        local = next(origin for origin in site.parts.site.origins if "127.0.0.1" in origin)
        async with httpx.AsyncClient(base_url=local, trust_env=False) as client:
            answer = await client.post(
                "/login", data={"token": site.secret}, headers={"host": "hub.example", "origin": "https://hub.example"}
            )
            assert answer.status_code == 303
            cookie = answer.headers["set-cookie"]
            assert cookie.startswith("__Host-loopline=")
            assert "Secure" in cookie
            assert "Domain" not in cookie
            assert "strict-transport-security" in answer.headers
            refused = await client.post(
                "/login", data={"token": site.secret}, headers={"host": "hub.example", "origin": "http://hub.example"}
            )
            assert refused.status_code == 403


async def test_wrong_tokens_are_slowed_down_and_right_ones_are_not(site: Site) -> None:
    async with site.client("llh_wrong") as client:
        answers = await asyncio.gather(*(client.get("/api/me") for _ in range(150)))
    statuses = Counter(answer.status_code for answer in answers)
    assert set(statuses) == {401, 429}
    assert statuses[401] >= 50
    async with site.client(site.secret) as client:
        assert (await client.get("/api/me")).status_code == 200


async def test_secrets_and_queries_stay_out_of_the_log(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG", logger="loopline.web")
    code = site.running.launch.code
    async with site.client() as client:
        await client.get(f"/login?code={code}")
        await client.post("/login", data={"code": code})
        await client.get("/api/me", headers={"authorization": f"Bearer {site.secret}"})
        await client.get("/turns/%0d%0aInjected-Line%1b[31m")
    lines = [record.getMessage() for record in caplog.records if record.name == "loopline.web"]
    assert len(lines) == 4
    assert code not in caplog.text
    assert site.secret not in caplog.text
    assert all("\n" not in line and "\x1b" not in line and "\r" not in line for line in lines)


async def test_the_permission_of_each_route_is_the_one_meant(site: Site) -> None:
    meant = {
        ("GET", "/"): Permission.READ,
        ("GET", "/api/stream"): Permission.READ,
        ("GET", "/api/events"): Permission.READ,
        ("GET", "/api/export"): Permission.EXPORT,
        ("POST", "/api/ingest"): Permission.INGEST,
        ("GET", "/metrics"): Permission.METRICS,
        ("PUT", "/api/settings"): Permission.SETTINGS,
        ("POST", "/settings"): Permission.SETTINGS,
        ("POST", "/settings/tokens"): Permission.PEOPLE,
        ("POST", "/settings/tokens/revoke"): Permission.PEOPLE,
    }
    found = {}
    for route in routes(site):
        guard = guard_of(route)
        for method in route.methods or ():
            if guard is not None:
                found[(method, route.path)] = guard.permission
    assert {key: found.get(key) for key in meant} == meant
    changing = {key for key in found if key[0] not in ("GET", "HEAD")}
    assert all(found[key] is not Permission.READ for key in changing)
