from lru import Cache


def test_get():
    cache = Cache(2)
    cache.put("a", 1)
    assert cache.get("a") == 1
    assert cache.get("b") is None


def test_oldest_goes():
    cache = Cache(2)
    for number, key in enumerate("abc"):
        cache.put(key, number)
    assert cache.get("a") is None
    assert cache.get("c") == 2


def test_used_stays():
    cache = Cache(2)
    cache.put("a", 1)
    cache.put("b", 2)
    cache.get("a")
    cache.put("c", 3)
    assert cache.get("a") == 1
    assert cache.get("b") is None
