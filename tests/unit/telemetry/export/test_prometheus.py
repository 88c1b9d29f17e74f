"""The text format of Prometheus: escaped labels, whole numbers without a point, rising buckets."""

from __future__ import annotations

from agent_core.telemetry.export.prometheus import family, head, histogram, sample


def test_a_family_has_its_head_and_a_line_a_sample() -> None:
    lines = list(family("calls_total", "counter", "Calls.", [({"model": 'a"b\\c\nd'}, 2.0), ({}, 0.5)]))
    assert lines == [
        "# HELP calls_total Calls.",
        "# TYPE calls_total counter",
        'calls_total{model="a\\"b\\\\c\\nd"} 2',
        "calls_total 0.5",
    ]
    assert list(head("x", "gauge")) == ["# TYPE x gauge"]
    assert sample("x", {}, 1 / 3) == "x 0.333333333"


def test_a_histogram_ends_with_all_its_sum_and_its_count() -> None:
    assert list(histogram("s", {"m": "a"}, [(0.5, 1), (None, 3)], 2.5, 3)) == [
        's_bucket{m="a",le="0.5"} 1',
        's_bucket{m="a",le="+Inf"} 3',
        's_sum{m="a"} 2.5',
        's_count{m="a"} 3',
    ]
