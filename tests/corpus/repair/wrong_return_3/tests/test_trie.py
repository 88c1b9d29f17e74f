from trie import Trie


def make(*words):
    trie = Trie()
    for word in words:
        trie.insert(word)
    return trie


def test_contains():
    trie = make("car", "cart")
    assert "car" in trie
    assert "dog" not in trie


def test_prefix_is_no_word():
    assert "ca" not in make("car")


def test_starting_with():
    assert make("car", "cart", "dog").starting_with("ca") == ["car", "cart"]
    assert make("car").starting_with("x") == []
