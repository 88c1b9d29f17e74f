from turnstile import play


def test_more():
    assert play(["coin", "coin", "push", "coin", "push"]) == ["unlocked", "unlocked", "locked", "unlocked", "locked"]
