"""Cost: each token once, unknown is unknown."""

from __future__ import annotations

from datetime import date

import pytest

from agent_core.errors import ConfigError
from agent_core.telemetry.rollup.prices import LIST_PRICES, NANO, Price, PriceTable

TABLE = PriceTable(
    "2026-01-02",
    {"m": Price(2.0, 8.0, 0.5, 2.5), "plain": Price(2.0, 8.0), "long": Price(1.0, 4.0, 0.1, None, 1000, 2.0, 6.0, 0.2)},
)


def cost(model: str, given: int | None, cached: int | None, written: int | None, output: int | None) -> float | None:
    nano = TABLE.cost_nano(
        model, input_tokens=given, cached_tokens=cached, cache_write_tokens=written, output_tokens=output
    )
    return None if nano is None else nano / NANO


def test_each_token_is_charged_in_one_bucket() -> None:
    assert cost("m", 1_000_000, 600_000, 100_000, 10_000) == pytest.approx(0.3 * 2 + 0.6 * 0.5 + 0.1 * 2.5 + 0.01 * 8)


def test_without_a_cache_rate_cached_tokens_cost_what_input_costs() -> None:
    assert cost("plain", 1_000_000, 400_000, 100_000, 0) == pytest.approx(2.0)


def test_unreported_cached_tokens_are_charged_as_input() -> None:
    assert cost("m", 1_000_000, None, None, 0) == pytest.approx(2.0)


def test_a_long_input_is_charged_at_the_long_rates_as_a_whole() -> None:
    assert cost("long", 1000, 500, None, 10) == pytest.approx((500 * 1.0 + 500 * 0.1 + 10 * 4) / 1e6)
    assert cost("long", 1001, 500, None, 10) == pytest.approx((501 * 2.0 + 500 * 0.2 + 10 * 6) / 1e6)


@pytest.mark.parametrize(
    "args", [("nobody", 1, 1, 0, 1), ("m", None, 1, 0, 1), ("m", 1, 1, 0, None), ("m", 5, 9, 0, 1)]
)
def test_unknown_model_missing_or_suspect_counts_have_no_cost(
    args: tuple[str, int | None, int | None, int | None, int | None],
) -> None:
    assert cost(*args) is None


def test_a_dated_snapshot_costs_what_its_model_costs_and_nothing_else_is_guessed() -> None:
    assert LIST_PRICES.price("gpt-5-2025-08-07") == LIST_PRICES.price("gpt-5")
    assert not LIST_PRICES.knows("gpt-5-turbo-ultra")
    assert not LIST_PRICES.knows("my-gpt-5")


def test_local_engines_cost_nothing() -> None:
    assert (
        LIST_PRICES.cost_nano("repair", input_tokens=9, cached_tokens=0, cache_write_tokens=None, output_tokens=9) == 0
    )


def test_the_table_tells_its_date() -> None:
    assert date.fromisoformat(LIST_PRICES.date)


def test_own_prices_lie_over_the_list() -> None:
    table = TABLE.with_prices("2026-02-03", {"mine": {"input": 1, "output": 2}, "m": {"input": 0.5, "output": 1}}, "f")
    assert table.date == "2026-02-03"
    assert table.price("mine") == Price(1, 2)
    assert table.price("m") == Price(0.5, 1)
    assert table.price("plain") == TABLE.price("plain")


@pytest.mark.parametrize("entry", [{"input": "a lot", "output": 1}, {"input": 1}, {"input": 1, "output": 1, "x": 2}, 7])
def test_a_wrong_price_names_file_and_model(entry: object) -> None:
    with pytest.raises(ConfigError) as caught:
        TABLE.with_prices("2026-02-03", {"mine": entry}, "prices.toml")
    assert "prices.toml" in caught.value.message
    assert caught.value.key == "prices.mine"
