"""Settings: retention, targets, prices, markers; people's tokens; and how the hub itself is doing."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

import msgspec
from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from agent_core.errors import AuthError, ConfigError, UsageError
from dashboard.hub.people.auth import ALL_TEAMS, ROLES, Identity, Permission, add_token, revoke_token
from dashboard.hub.settings import HubSettings, TargetSettings, changed
from dashboard.hub.store.port import StoreError
from dashboard.hub.store.records import TokenRecord
from dashboard.state import format as fmt
from dashboard.web.access import PeopleForm, ReadApi, ReadPage, SettingsApi, SettingsForm, read_body, read_form
from dashboard.web.health import health_of
from dashboard.web.pages.common import page
from dashboard.web.parts import Parts, parts_of
from dashboard.web.replies import WebError, json_reply

MAX_BODY = 256 << 10
SHOWN_AUDIT = 50
_NUMBERS = ("raw_days", "rollup_days")

router = APIRouter()


@router.get("/settings")
async def settings_page(request: Request, identity: ReadPage) -> Response:
    return await _page(request, identity)


@router.get("/api/settings")
async def settings_as_data(request: Request, identity: ReadApi) -> Response:
    return json_reply(parts_of(request).hub.settings)


@router.put("/api/settings")
async def change_settings(request: Request, identity: SettingsApi) -> Response:
    """Replace the fields in the JSON body; the others stay. Answers with all of them."""
    parts = parts_of(request)
    _require_hub_admin(identity)
    try:
        change = msgspec.json.decode(await read_body(request, MAX_BODY), type=dict[str, Any])
        settings = changed(parts.hub.settings, change)
    except msgspec.DecodeError:
        raise WebError(HTTPStatus.BAD_REQUEST, "invalid_json", "The body must be a JSON object.") from None
    except ConfigError as error:
        raise WebError(HTTPStatus.UNPROCESSABLE_ENTITY, "invalid_settings", error.message) from None
    _keep(parts, identity, settings)
    return json_reply(settings)


@router.post("/settings")
async def change_settings_by_form(request: Request, identity: SettingsForm) -> Response:
    parts = parts_of(request)
    _require_hub_admin(identity)
    fields = await read_form(request)
    try:
        settings = changed(parts.hub.settings, _change_of(fields))
    except (ConfigError, ValueError) as error:
        message = error.message if isinstance(error, ConfigError) else "Days, targets and prices must be numbers."
        return await _page(request, identity, problem=message, status=422)
    _keep(parts, identity, settings)
    return RedirectResponse("/settings", HTTPStatus.SEE_OTHER)


@router.post("/settings/tokens")
async def new_token(request: Request, identity: PeopleForm) -> Response:
    """Make a token and show it, this once. An admin of a team makes tokens of that team only."""
    parts = parts_of(request)
    fields = await read_form(request)
    team = fields.get("team", "").strip() or identity.team
    if identity.sees is not None and team != identity.team:
        raise WebError(HTTPStatus.FORBIDDEN, "other_team", "You may make tokens of your own team only.")
    try:
        token = add_token(parts.people, parts.hub.clock, fields.get("name", "").strip(), fields.get("role", ""), team)
    except UsageError as error:
        return await _page(request, identity, problem=error.message, status=422)
    parts.auth.audit(identity.name, "token.add", f"{fields.get('name', '')} {team}")
    return await _page(request, identity, token=token)


@router.post("/settings/tokens/revoke")
async def end_token(request: Request, identity: PeopleForm) -> Response:
    parts = parts_of(request)
    name = (await read_form(request)).get("name", "")
    mine = {token.name for token in _tokens(parts, identity)}
    try:
        if name not in mine:
            raise AuthError("there is no such token of your team", code="no_such_token")
        revoke_token(parts.people, parts.hub.clock, name, actor=identity.name)
    except AuthError as error:
        return await _page(request, identity, problem=error.message, status=404)
    return RedirectResponse("/settings", HTTPStatus.SEE_OTHER)


async def _page(
    request: Request, identity: Identity, *, problem: str = "", token: str = "", status: int = 200
) -> Response:
    parts = parts_of(request)
    people = identity.may(Permission.PEOPLE)
    prices = "\n".join(
        f"{model}: {', '.join(f'{name} {rate:g}' for name, rate in price.items())}"
        for model, price in parts.hub.settings.prices.items()
    )
    return page(
        request, "settings.html", identity, status=status, problem=problem, token=token, settings=parts.hub.settings,
        targets=msgspec.structs.asdict(parts.hub.settings.targets), prices=prices,
        list_prices=parts.hub.settings.price_table().date, may_change=_is_hub_admin(identity),
        people=people, tokens=_tokens(parts, identity) if people else [], roles=tuple(ROLES),
        all_teams=identity.team == ALL_TEAMS, health=await health_of(parts),
        audit=parts.people.audited(SHOWN_AUDIT) if people and identity.sees is None else [],
        markers="\n".join(f"{marker.at} {marker.label}" for marker in parts.hub.settings.markers), fmt=fmt,
    )  # fmt: skip


def _tokens(parts: Parts, identity: Identity) -> list[TokenRecord]:
    """Tokens that somebody may see: those of their own team; all for who sees all teams."""
    return [token for token in parts.people.tokens() if identity.sees in (None, token.team)]


def _is_hub_admin(identity: Identity) -> bool:
    return identity.may(Permission.SETTINGS) and identity.sees is None


def _require_hub_admin(identity: Identity) -> None:
    """Retention, targets, prices and markers are the hub's, so they are for who sees all teams. Raises `WebError`."""
    if not _is_hub_admin(identity):
        message = "These settings are of all teams; an admin of the whole hub may change them (a token of team *)."
        raise WebError(HTTPStatus.FORBIDDEN, "hub_admin_only", message)


def _keep(parts: Parts, identity: Identity, settings: HubSettings) -> None:
    try:
        parts.people.put_value("settings", msgspec.json.encode(settings))
    except StoreError as error:
        message = "The settings could not be written; try again later."
        raise WebError(HTTPStatus.SERVICE_UNAVAILABLE, error.code, message, retry_after_s=5) from error
    parts.hub.apply_settings(settings)
    parts.auth.audit(identity.name, "settings.change")


def _change_of(fields: dict[str, str]) -> dict[str, Any]:
    """A sent form as fields of the settings. Raises ValueError for a number that is none."""
    change: dict[str, Any] = {name: int(fields[name]) for name in _NUMBERS if fields.get(name)}
    if "targets" in fields:
        names = TargetSettings.__struct_fields__
        change["targets"] = {name: float(text) for name in names if (text := fields.get(name, "").strip())}
    if "prices" in fields:
        change["prices"] = dict(_price(line) for line in fields["prices"].splitlines() if line.strip())
    if "markers" in fields:
        lines = [line.strip().partition(" ") for line in fields["markers"].splitlines() if line.strip()]
        change["markers"] = [{"at": at, "label": label.strip()} for at, _, label in lines]
    return change


def _price(line: str) -> tuple[str, dict[str, float]]:
    """`model: input 1.25, output 10`."""
    model, _, rates = line.rpartition(":")
    pairs = [rate.split() for rate in rates.split(",") if rate.strip()]
    if not model.strip() or any(len(pair) != 2 for pair in pairs):
        raise ValueError(line)
    return model.strip(), {name: float(rate) for name, rate in pairs}
