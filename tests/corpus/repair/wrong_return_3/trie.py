"""A prefix tree of words."""


class Trie:
    def __init__(self):
        self.children = {}
        self.is_word = False

    def insert(self, word):
        node = self
        for letter in word:
            if letter not in node.children:
                node.children[letter] = Trie()
            node = node.children[letter]
        node.is_word = True

    def _find(self, prefix):
        node = self
        for letter in prefix:
            node = node.children.get(letter)
            if node is None:
                return None
        return node

    def __contains__(self, word):
        node = self._find(word)
        return node is not None

    def starting_with(self, prefix):
        """Words with a prefix, in alphabetical order."""
        node = self._find(prefix)
        found = []
        if node is None:
            return found
        if node.is_word:
            found.append(prefix)
        for letter in sorted(node.children):
            found.extend(self.starting_with(prefix + letter))
        return found
