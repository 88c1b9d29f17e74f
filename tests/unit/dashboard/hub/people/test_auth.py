"""Tokens, sessions, roles and teams on a real store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from agent_core.errors import AuthError, UsageError
from dashboard.hub.people import auth
from dashboard.hub.people.auth import Auth, Permission, add_token, new_launch, revoke_token
from dashboard.hub.store.sqlite_people import MAX_AUDIT, SqlitePeople
from tests.support.telemetry.scene import HandClock

HOUR_MS = 3_600_000


@pytest.fixture
def people(tmp_path: Path) -> Iterator[SqlitePeople]:
    opened = SqlitePeople(tmp_path)
    yield opened
    opened.close()


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


LAUNCH = new_launch()


@pytest.fixture
def who(people: SqlitePeople, clock: HandClock) -> Auth:
    return Auth(people, clock, LAUNCH)


def test_a_token_is_known_by_its_digest_only(people: SqlitePeople, clock: HandClock, who: Auth, tmp_path: Path) -> None:
    token = add_token(people, clock, "ci", "operator", "blue")
    identity = who.by_bearer(token)
    assert identity is not None
    assert (identity.name, identity.role, identity.team, identity.sees) == ("ci", "operator", "blue", "blue")
    people.close()
    for path in tmp_path.iterdir():
        assert token.encode() not in path.read_bytes()


@pytest.mark.parametrize("wrong", ["", "x", "llh_", "llh_" + "A" * 43])
def test_an_unknown_token_is_nobody(who: Auth, wrong: str) -> None:
    assert who.by_bearer(wrong) is None
    assert who.by_session(wrong) is None
    assert who.sign_in(wrong) is None


def test_a_revoked_token_and_its_sessions_stop_at_once(people: SqlitePeople, clock: HandClock, who: Auth) -> None:
    token = add_token(people, clock, "ann", "viewer", "blue")
    cookie = who.sign_in(token)
    assert cookie is not None
    bearer, session = who.by_bearer(token), who.by_session(cookie)
    assert bearer is not None
    assert session is not None
    assert who.still(bearer)
    assert who.still(session)
    before = people.version()
    revoke_token(people, clock, "ann")
    assert people.version() != before
    assert not who.still(bearer)
    assert not who.still(session)
    assert who.by_bearer(token) is None
    assert who.by_session(cookie) is None
    again = add_token(people, clock, "ann", "admin", "red")
    assert who.by_session(cookie) is None
    assert who.by_bearer(again) is not None
    assert not who.still(bearer)


def test_a_change_by_another_process_is_noticed(
    people: SqlitePeople, clock: HandClock, who: Auth, tmp_path: Path
) -> None:
    token = add_token(people, clock, "ann", "viewer", "blue")
    identity, before = who.by_bearer(token), people.version()
    other = SqlitePeople(tmp_path)
    revoke_token(other, clock, "ann")
    other.close()
    assert people.version() != before
    assert identity is not None
    assert not who.still(identity)


def test_the_launch_secret_is_an_admin_of_all_teams_and_the_ingest_token_only_pushes(who: Auth) -> None:
    admin, agent = who.by_bearer(LAUNCH.secret), who.by_bearer(LAUNCH.ingest_token)
    assert admin is not None
    assert agent is not None
    assert admin.sees is None
    assert all(admin.may(permission) for permission in Permission)
    assert [permission for permission in Permission if agent.may(permission)] == [Permission.INGEST]
    assert who.by_bearer(LAUNCH.code) is None


def test_the_one_time_code_works_once(who: Auth) -> None:
    assert who.sign_in(LAUNCH.code) is not None
    assert who.sign_in(LAUNCH.code) is None
    assert who.sign_in(LAUNCH.secret) is not None
    assert who.sign_in(LAUNCH.secret) is not None


def test_machines_get_no_session(people: SqlitePeople, clock: HandClock, who: Auth) -> None:
    for role in ("agent", "metrics"):
        assert who.sign_in(add_token(people, clock, role, role, "blue")) is None
    assert who.sign_in(LAUNCH.ingest_token) is None


@pytest.mark.parametrize(
    ("steps_h", "alive"),
    [([11, 11, 11], True), ([13], False), ([11] * 16, False)],
    ids=["used", "idle for 12 h", "7 days in all"],
)
def test_sessions_end(who: Auth, clock: HandClock, steps_h: list[int], alive: bool) -> None:
    cookie = who.sign_in(LAUNCH.secret)
    assert cookie is not None
    for hours in steps_h:
        clock.wait(hours * HOUR_MS)
        found = who.by_session(cookie)
    assert (found is not None) is alive


def test_signing_out_ends_the_session(who: Auth) -> None:
    cookie = who.sign_in(LAUNCH.secret)
    assert cookie is not None
    who.sign_out(cookie)
    assert who.by_session(cookie) is None


def test_the_proof_against_forged_requests_belongs_to_one_session(who: Auth) -> None:
    first, second = who.sign_in(LAUNCH.secret), who.sign_in(LAUNCH.secret)
    assert first is not None
    assert second is not None
    assert who.csrf(first) == who.csrf(first) != who.csrf(second)
    assert first not in who.csrf(first)


@pytest.mark.parametrize(
    ("name", "role", "team"),
    [
        ("", "viewer", "t"),
        ("a b", "viewer", "t"),
        ("ann", "root", "t"),
        ("ann", "viewer", ""),
        ("launch", "viewer", "t"),
    ],
)
def test_what_can_be_no_token(people: SqlitePeople, clock: HandClock, name: str, role: str, team: str) -> None:
    with pytest.raises(UsageError):
        add_token(people, clock, name, role, team)


def test_names_are_unique_until_revoked(people: SqlitePeople, clock: HandClock) -> None:
    add_token(people, clock, "ann", "viewer", auth.ALL_TEAMS)
    with pytest.raises(UsageError):
        add_token(people, clock, "ann", "viewer", "blue")
    revoke_token(people, clock, "ann")
    with pytest.raises(AuthError):
        revoke_token(people, clock, "ann")
    add_token(people, clock, "ann", "viewer", "blue")
    assert [(token.name, token.revoked_us) for token in people.tokens()] == [("ann", None)]


def test_the_audit_log_tells_who_did_what_and_stays_bounded(people: SqlitePeople, clock: HandClock, who: Auth) -> None:
    token = add_token(people, clock, "ann", "viewer", "blue")
    revoke_token(people, clock, "ann", actor="boss")
    told = people.audited(10)
    assert [(record.actor, record.action) for record in told] == [("boss", "token.revoke"), ("cli", "token.add")]
    assert token not in repr(told)
    for number in range(20):
        who.audit("x", "y", f"{number}" * 500)
    assert len(people.audited(MAX_AUDIT)) == 22
    assert len(people.audited(1)[0].detail) <= 400
