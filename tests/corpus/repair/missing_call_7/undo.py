"""Undo and redo of text changes."""


class Editor:
    def __init__(self, text=""):
        self.text = text
        self._undo = []
        self._redo = []

    def write(self, more):
        self._undo.append(self.text)
        self.text += more

    def undo(self):
        """Whether there was something to undo."""
        if not self._undo:
            return False
        self._redo.append(self.text)
        self.text = self._undo.pop()
        return True

    def redo(self):
        if not self._redo:
            return False
        self._undo.append(self.text)
        self.text = self._redo.pop()
        return True
