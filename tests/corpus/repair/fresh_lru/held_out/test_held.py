from lru import Cache


def test_more():
    cache = Cache(3)
    for key in "abc":
        cache.put(key, key)
    cache.get("b")
    cache.get("a")
    cache.put("d", "d")
    assert list(cache.items) == ["b", "a", "d"]
