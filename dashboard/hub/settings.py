"""The hub's settings: retention, targets, prices, markers. Kept in the store, changed by admins. Pure."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec

from agent_core.errors import ConfigError
from agent_core.telemetry.rollup.figures import Targets
from agent_core.telemetry.rollup.prices import LIST_PRICES, PriceTable

MAX_MARKERS = 50
MAX_PRICES = 200


class Marker(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An instant at which something changed, e.g. `switched to WebSocket`; trends compare before and after."""

    at: str
    """RFC 3339 with a zone."""
    label: str

    @property
    def at_s(self) -> float:
        return datetime.fromisoformat(self.at).timestamp()


class TargetSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What counts as good, in ms; absent: no target."""

    ttft_ms: float | None = None
    tpot_ms: float | None = None
    overhead_ms: float | None = None
    turn_ms: float | None = None


class HubSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    raw_days: int = 30
    """Days that single events, turns and troubles are kept."""
    rollup_days: int = 400
    """Days that roll-ups are kept."""
    targets: TargetSettings = TargetSettings()
    prices: dict[str, dict[str, float]] = {}
    """Own prices over the list: model -> {input, output, cached, cache_write} in dollars per million tokens."""
    markers: tuple[Marker, ...] = ()

    def price_table(self) -> PriceTable:
        if not self.prices:
            return LIST_PRICES
        return LIST_PRICES.with_prices(LIST_PRICES.date, self.prices, "settings")

    def folding_targets(self) -> Targets:
        return Targets(**msgspec.structs.asdict(self.targets))


def read_settings(data: bytes | None) -> HubSettings:
    """Settings as kept; defaults where there are none or they are of a newer version."""
    if data is None:
        return HubSettings()
    try:
        return checked(msgspec.json.decode(data, type=HubSettings))
    except (msgspec.DecodeError, ConfigError):
        return HubSettings()


def changed(now: HubSettings, change: dict[str, Any]) -> HubSettings:
    """`now` with some fields replaced. Raises `ConfigError` that names the field."""
    fields = {**msgspec.to_builtins(now), **change}
    try:
        settings = msgspec.convert(fields, HubSettings)
    except msgspec.ValidationError as error:
        raise ConfigError("settings", "", "the documented fields and types", got=str(error)) from None
    return checked(settings)


def checked(settings: HubSettings) -> HubSettings:
    """The settings, if they make sense. Raises `ConfigError`."""
    if not 1 <= settings.raw_days <= 3650:
        raise ConfigError("settings", "raw_days", "1 to 3650 days", got=str(settings.raw_days))
    if not settings.raw_days <= settings.rollup_days <= 3650:
        raise ConfigError("settings", "rollup_days", "raw_days to 3650 days", got=str(settings.rollup_days))
    for name, value in msgspec.structs.asdict(settings.targets).items():
        if value is not None and not 0 < value < 1e9:
            raise ConfigError("settings", f"targets.{name}", "a positive number of ms", got=str(value))
    if len(settings.prices) > MAX_PRICES or any(not 0 < len(model) <= 80 for model in settings.prices):
        raise ConfigError("settings", "prices", f"at most {MAX_PRICES} models with names of 1 to 80 characters")
    for model, price in settings.prices.items():
        if any(not 0 <= rate < 1e6 for rate in price.values()):
            raise ConfigError("settings", f"prices.{model}", "dollars per million tokens, 0 or more")
    if len(settings.markers) > MAX_MARKERS:
        raise ConfigError("settings", "markers", f"at most {MAX_MARKERS}")
    for marker in settings.markers:
        _check_marker(marker)
    settings.price_table()
    return settings


def _check_marker(marker: Marker) -> None:
    try:
        at = datetime.fromisoformat(marker.at)
    except ValueError:
        at = datetime.min
    if at.tzinfo is None or not 2020 <= at.astimezone(UTC).year < 2100:
        raise ConfigError("settings", "markers", "an RFC 3339 time with a zone in `at`", got=marker.at[:40])
    if not 0 < len(marker.label) <= 120:
        raise ConfigError("settings", "markers", "a label of 1 to 120 characters")
