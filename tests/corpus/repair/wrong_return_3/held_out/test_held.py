from trie import Trie


def test_more():
    trie = Trie()
    assert "" not in trie
    trie.insert("a")
    assert "a" in trie
    assert "" not in trie
    assert "ab" not in trie
