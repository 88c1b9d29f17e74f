"""Who somebody is and what they may do: named tokens, the launch secret, browser sessions, roles and teams.

A token is shown once and kept as its SHA-256. Every request is checked against the store anew, so that a revoked token
or an ended session stops at once; open streams are checked again by `Auth.still`. Knows no HTTP.
"""

from __future__ import annotations

import hmac
import re
import secrets
from enum import Enum
from hashlib import sha256

import msgspec

from agent_core.clock import Clock
from agent_core.errors import AuthError, UsageError
from dashboard.hub.store.port import People
from dashboard.hub.store.records import AuditRecord, SessionRecord, TokenRecord

ALL_TEAMS = "*"
"""The team of who sees every team's rows."""
LOCAL_TEAM = "local"
"""The team of this machine's own journals, and of what is pushed with a launch's ingest token."""
SESSION_IDLE_US = 12 * 3_600_000_000
SESSION_LIFE_US = 7 * 86_400_000_000
_TOUCH_US = 60_000_000
_NAME = re.compile(r"[A-Za-z0-9_.@-]{1,64}\Z")


SERVICE = "service"
"""The role of a Responses service that a team shares."""


class Permission(Enum):
    READ = "read"
    EXPORT = "export"
    INGEST = "ingest"
    METRICS = "metrics"
    SETTINGS = "settings"
    """Retention, prices, targets."""
    PEOPLE = "people"
    """Tokens and the audit log."""


ROLES: dict[str, frozenset[Permission]] = {
    "viewer": frozenset({Permission.READ, Permission.EXPORT}),
    "operator": frozenset({Permission.READ, Permission.EXPORT, Permission.INGEST, Permission.METRICS}),
    "admin": frozenset(Permission),
    "agent": frozenset({Permission.INGEST}),
    SERVICE: frozenset({Permission.INGEST}),
    "metrics": frozenset({Permission.METRICS}),
}
"""`agent`, `service` and `metrics` are for machines: they push or scrape and see no page. What a `service` tells of
calls (`service.call`) is believed of everybody's in its team; what others tell, of their own."""


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """Who asks. `name` is a token's name, or `launch` for who holds the launch secret."""

    name: str
    role: str
    team: str
    digest: str
    """Of the credential, to check it again later."""
    session: bool = False
    """It came as a cookie, which browsers send by themselves."""

    @property
    def sees(self) -> str | None:
        """The team whose rows may be shown; None: all."""
        return None if self.team == ALL_TEAMS else self.team

    def may(self, permission: Permission) -> bool:
        return permission in ROLES.get(self.role, frozenset())


class Launch(msgspec.Struct, frozen=True):
    """The secrets of one run of the process: 256 random bits each."""

    secret: str
    ingest_token: str
    code: str
    """Of the one-time link."""


def new_launch() -> Launch:
    return Launch(secrets.token_urlsafe(32), f"llh_{secrets.token_urlsafe(32)}", secrets.token_urlsafe(32))


class Auth:
    """Checks credentials. Blocking but quick; safe from several threads."""

    def __init__(self, people: People, clock: Clock, launch: Launch) -> None:
        self._people, self._clock = people, clock
        self._secret, self._ingest = _digest(launch.secret), _digest(launch.ingest_token)
        self._code: str | None = _digest(launch.code)

    def by_bearer(self, token: str) -> Identity | None:
        return self._by_digest(_digest(token))

    def by_session(self, cookie: str) -> Identity | None:
        """Of a session cookie; the session counts as used."""
        return self._session(_digest(cookie))

    def still(self, identity: Identity) -> bool:
        """Whether the credential of an earlier request would be accepted now, with the same role and team."""
        now = self._session(identity.digest) if identity.session else self._by_digest(identity.digest)
        return now == identity

    def sign_in(self, credential: str) -> str | None:
        """A new session's cookie for a token, the launch secret or the one-time code (which is used up); None if it is
        none of them, or one that sees no pages."""
        digest = _digest(credential)
        if self._code is not None and hmac.compare_digest(digest, self._code):
            self._code = None
            return self._new_session(None)
        identity = self._by_digest(digest)
        if identity is None or not identity.may(Permission.READ):
            return None
        return self._new_session(None if digest == self._secret else identity.name)

    def sign_out(self, cookie: str) -> None:
        self._people.end_session(_digest(cookie))

    def csrf(self, cookie: str) -> str:
        """What a page of this session sends with each change; useless without the cookie."""
        return hmac.new(cookie.encode(), b"loopline csrf", "sha256").hexdigest()

    def audit(self, actor: str, action: str, detail: str = "") -> None:
        record = AuditRecord(at_us=self._now_us(), actor=actor, action=action, detail=detail[:400])
        self._people.audit(record)

    def _by_digest(self, digest: str) -> Identity | None:
        if hmac.compare_digest(digest, self._secret):
            return Identity(name="launch", role="admin", team=ALL_TEAMS, digest=digest)
        if hmac.compare_digest(digest, self._ingest):
            return Identity(name="launch", role="agent", team=LOCAL_TEAM, digest=digest)
        token = self._people.token_by_digest(digest)
        if token is None:
            return None
        return Identity(name=token.name, role=token.role, team=token.team, digest=digest)

    def _session(self, digest: str) -> Identity | None:
        found = self._people.session(digest)
        if found is None:
            return None
        session, token = found
        now_us = self._now_us()
        if now_us - session.used_us > SESSION_IDLE_US or now_us - session.created_us > SESSION_LIFE_US:
            self._people.end_session(digest)
            return None
        if now_us - session.used_us > _TOUCH_US:
            self._people.touch_session(digest, now_us)
        if session.token is None:
            return Identity(name="launch", role="admin", team=ALL_TEAMS, digest=digest, session=True)
        if token is None or token.revoked_us is not None:
            return None
        return Identity(name=token.name, role=token.role, team=token.team, digest=digest, session=True)

    def _new_session(self, token: str | None) -> str:
        now_us = self._now_us()
        self._people.end_old_sessions(now_us - SESSION_IDLE_US, now_us - SESSION_LIFE_US)
        cookie = secrets.token_urlsafe(32)
        self._people.put_session(SessionRecord(digest=_digest(cookie), token=token, created_us=now_us, used_us=now_us))
        return cookie

    def _now_us(self) -> int:
        return self._clock.wall_ns() // 1000


def add_token(people: People, clock: Clock, name: str, role: str, team: str) -> str:
    """Make a named token and give it, the only time it can be read. Raises `UsageError` for what can't be."""
    if not _NAME.match(name):
        raise UsageError(f"token name {name!r}: 1 to 64 letters, digits and _ . @ - only")
    if role not in ROLES:
        raise UsageError(f"--role {role!r}: expected one of {', '.join(ROLES)}")
    if team != ALL_TEAMS and not _NAME.match(team):
        raise UsageError(f"--team {team!r}: 1 to 64 letters, digits and _ . @ - only, or * for all teams")
    token = f"llh_{secrets.token_urlsafe(32)}"
    record = TokenRecord(name=name, role=role, team=team, digest=_digest(token), created_us=clock.wall_ns() // 1000)
    if name == "launch" or not people.add_token(record):
        raise UsageError(f"there is a token {name!r} already", hint=f"loopline web token revoke {name}")
    people.audit(AuditRecord(at_us=record.created_us, actor="cli", action="token.add", detail=f"{name} {role} {team}"))
    return token


def services_of(people: People) -> frozenset[str]:
    """The names of all service tokens, revoked ones included: what they told before still counts."""
    return frozenset(token.name for token in people.tokens() if token.role == SERVICE)


def revoke_token(people: People, clock: Clock, name: str, *, actor: str = "cli") -> None:
    """Raises `AuthError` (`no_such_token`) if there is nothing to revoke."""
    at_us = clock.wall_ns() // 1000
    if not people.revoke_token(name, at_us):
        raise AuthError(f"there is no token {name!r}", code="no_such_token", hint="loopline web token list")
    people.audit(AuditRecord(at_us=at_us, actor=actor, action="token.revoke", detail=name))


def _digest(credential: str) -> str:
    return sha256(credential.encode("utf-8", "surrogatepass")).hexdigest()
