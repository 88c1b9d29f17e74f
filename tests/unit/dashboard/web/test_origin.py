"""Where a request may come from: the whole matrix as data, without a socket."""

from __future__ import annotations

import pytest

from agent_core.errors import ConfigError
from dashboard.web.origin import Credential, Kind, host_problem, is_loopback, origin_problem, site_of

LOCAL = site_of("127.0.0.1", 4646, None)
PUBLIC = site_of("0.0.0.0", 8080, "https://hub.example.org")

ORIGINS: dict[str, tuple[str | None, bool]] = {
    "none": (None, False),
    "same": ("http://127.0.0.1:4646", True),
    "same by name": ("http://localhost:4646", True),
    "foreign": ("https://evil.example", False),
    "null": ("null", False),
    "another port": ("http://127.0.0.1:9999", False),
    "no port": ("http://127.0.0.1", False),
    "another scheme": ("https://127.0.0.1:4646", False),
    "suffix trick": ("http://127.0.0.1:4646.evil.example", False),
    "prefix trick": ("http://evil-127.0.0.1:4646", False),
    "user trick": ("http://127.0.0.1:4646@evil.example", False),
    "upper case": ("HTTP://127.0.0.1:4646", False),
    "empty": ("", False),
}


@pytest.mark.parametrize("name", ORIGINS)
@pytest.mark.parametrize("kind", ["page", "api", "form"])
@pytest.mark.parametrize("method", ["GET", "PUT", "POST"])
def test_a_cookie_needs_our_origin(name: str, kind: Kind, method: str) -> None:
    origin, ours = ORIGINS[name]
    headers = {} if origin is None else {"origin": origin}
    allowed = not origin_problem(LOCAL, method, kind, "cookie", headers)
    if origin is None:
        assert allowed is (method == "GET" and kind != "api")
    else:
        assert allowed is ours


@pytest.mark.parametrize("name", ORIGINS)
@pytest.mark.parametrize("method", ["GET", "PUT", "POST"])
def test_a_bearer_needs_none(name: str, method: str) -> None:
    origin, _ = ORIGINS[name]
    headers = {"sec-fetch-site": "cross-site"} if origin is None else {"origin": origin}
    assert not origin_problem(LOCAL, method, "api", "bearer", headers)


@pytest.mark.parametrize("name", ORIGINS)
@pytest.mark.parametrize("credential", ["cookie", "bearer", "none"])
def test_ingest_takes_no_origin_and_no_cookie(name: str, credential: Credential) -> None:
    origin, _ = ORIGINS[name]
    headers = {} if origin is None else {"origin": origin}
    assert bool(origin_problem(LOCAL, "POST", "ingest", credential, headers)) is (origin is not None)
    assert origin_problem(LOCAL, "POST", "ingest", credential, {**headers, "cookie": "a=b"})


FETCHES: list[tuple[str, str, str, Kind, str, str | None, bool]] = [
    ("a stream of our page", "same-origin", "cors", "api", "GET", None, True),
    ("an address typed in", "none", "navigate", "page", "GET", None, True),
    ("data typed in", "none", "navigate", "api", "GET", None, True),
    ("a link on another site", "cross-site", "navigate", "page", "GET", None, True),
    ("an image on another site", "cross-site", "no-cors", "page", "GET", None, False),
    ("data fetched by another site", "cross-site", "cors", "api", "GET", None, False),
    ("data navigated to by another site", "cross-site", "navigate", "api", "GET", None, False),
    ("a sibling of ours", "same-site", "cors", "api", "GET", None, False),
    ("a form of another site", "cross-site", "navigate", "form", "POST", "https://evil.example", False),
    ("a form of another site without origin", "cross-site", "navigate", "form", "POST", None, False),
    ("a form of ours", "same-origin", "navigate", "form", "POST", "http://127.0.0.1:4646", True),
    ("a change that hides its origin", "same-origin", "cors", "api", "PUT", None, False),
    ("contradictory headers", "cross-site", "cors", "api", "PUT", "http://127.0.0.1:4646", False),
]


@pytest.mark.parametrize("case", FETCHES, ids=[case[0] for case in FETCHES])
def test_what_browsers_say_of_a_fetch_counts(case: tuple[str, str, str, Kind, str, str | None, bool]) -> None:
    _, site, mode, kind, method, origin, allowed = case
    headers = {"sec-fetch-site": site, "sec-fetch-mode": mode, **({"origin": origin} if origin is not None else {})}
    assert (not origin_problem(LOCAL, method, kind, "cookie", headers)) is allowed


@pytest.mark.parametrize(
    ("referer", "allowed"),
    [
        ("http://127.0.0.1:4646/trends?x=1", True),
        ("http://127.0.0.1:46460/", False),
        ("http://evil.example/http://127.0.0.1:4646/", False),
        ("", False),
        ("http://[", False),
    ],
)
def test_without_both_the_referer_decides(referer: str, allowed: bool) -> None:
    assert (not origin_problem(LOCAL, "GET", "api", "cookie", {"referer": referer})) is allowed


def test_signing_in_works_for_scripts_and_not_for_other_sites() -> None:
    assert not origin_problem(LOCAL, "POST", "sign-in", "none", {})
    assert not origin_problem(LOCAL, "POST", "sign-in", "none", {"origin": LOCAL.url})
    assert origin_problem(LOCAL, "POST", "sign-in", "none", {"origin": "https://evil.example"})
    assert origin_problem(LOCAL, "POST", "sign-in", "none", {"origin": "null"})
    assert origin_problem(LOCAL, "POST", "sign-in", "none", {"sec-fetch-site": "cross-site"})


HOSTS: dict[str, tuple[str | None, bool]] = {
    "own": ("127.0.0.1:4646", True),
    "by name": ("localhost:4646", True),
    "by name, upper case": ("LOCALHOST:4646", True),
    "ipv6": ("[::1]:4646", True),
    "missing": (None, False),
    "empty": ("", False),
    "another port": ("127.0.0.1:80", False),
    "no port": ("127.0.0.1", False),
    "rebinding": ("evil.example:4646", False),
    "suffix trick": ("127.0.0.1:4646.evil.example", False),
    "ipv6 without brackets": ("::1:4646", False),
    "another loopback": ("127.0.0.2:4646", False),
    "wildcard": ("0.0.0.0:4646", False),
    "two": ("127.0.0.1:4646,evil.example", False),
}


@pytest.mark.parametrize("name", HOSTS)
def test_hosts(name: str) -> None:
    host, served = HOSTS[name]
    assert (not host_problem(LOCAL, host)) is served


def test_a_public_url_is_served_as_such_and_nothing_else_is() -> None:
    assert PUBLIC.url == "https://hub.example.org"
    assert PUBLIC.secure
    assert PUBLIC.cookie == "__Host-loopline"
    assert not PUBLIC.loopback
    assert not host_problem(PUBLIC, "hub.example.org")
    assert not host_problem(PUBLIC, "hub.example.org:443")
    assert not host_problem(PUBLIC, "127.0.0.1:8080")
    assert host_problem(PUBLIC, "hub.example.org:8080")
    assert host_problem(PUBLIC, "sub.hub.example.org")
    cookie = ("PUT", "api", "cookie")
    assert not origin_problem(PUBLIC, *cookie, {"origin": "https://hub.example.org"})  # type: ignore[arg-type]
    assert origin_problem(PUBLIC, *cookie, {"origin": "http://hub.example.org"})  # type: ignore[arg-type]


def test_two_local_dashboards_do_not_share_a_cookie() -> None:
    assert site_of("127.0.0.1", 1, None).cookie != site_of("127.0.0.1", 2, None).cookie
    assert not LOCAL.secure


@pytest.mark.parametrize(
    "url",
    ["hub", "ftp://hub", "https://", "https://hub/path", "https://hub?x", "https://me@hub", "https://hub:x", "//hub"],
)
def test_a_public_url_is_scheme_host_and_port(url: str) -> None:
    with pytest.raises(ConfigError):
        site_of("127.0.0.1", 1, url)


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        ("127.0.0.1", True), ("localhost", True), ("::1", True), ("127.8.8.8", True), ("0.0.0.0", False), ("", False),
        ("::", False), ("192.168.0.4", False), ("localhost.evil.example", False), ("hub.example", False),
    ],
)  # fmt: skip
def test_what_is_loopback(host: str, loopback: bool) -> None:
    assert is_loopback(host) is loopback
