"""The manifest and the tests agree: each rule has a test, each test of the service names a rule that there is."""

from __future__ import annotations

from tests.interaction.requirements.manifest import AREAS, RULES, marked_tests, named_by


def test_ids_are_unique_and_rules_are_whole() -> None:
    assert len(RULES) == sum(len(area.RULES) for area in AREAS)
    for rule in RULES.values():
        assert rule.source
        assert rule.text.endswith(".")


def test_each_rule_has_a_test() -> None:
    assert set(RULES) - set(named_by()) == set()


def test_each_test_names_its_rule_and_no_other() -> None:
    assert [test.id for test in marked_tests() if not test.rules] == []
    assert {rule: [test.id for test in found] for rule, found in named_by().items() if rule not in RULES} == {}
