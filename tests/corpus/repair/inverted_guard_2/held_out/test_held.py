from cache import LruCache


def test_overwrite():
    cache = LruCache(2)
    cache.put("a", 1)
    cache.put("b", 2)
    cache.put("a", 3)
    cache.put("c", 4)
    assert cache.keys() == ["a", "c"]
    assert cache.get("a") == 3
    assert cache.get("b", "gone") == "gone"
    assert len(cache) == 2
