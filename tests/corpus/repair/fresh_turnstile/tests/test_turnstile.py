from turnstile import Turnstile, play


def test_coin_unlocks():
    assert play(["coin"]) == ["unlocked"]


def test_push_is_in_vain():
    assert play(["push", "push"]) == ["locked", "locked"]


def test_passes():
    assert play(["coin", "push", "push"]) == ["unlocked", "locked", "locked"]


def test_count():
    gate = Turnstile()
    for event in ["coin", "push", "coin", "coin", "push", "push"]:
        gate.handle(event)
    assert gate.passed == 2
