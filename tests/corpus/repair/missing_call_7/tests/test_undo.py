from undo import Editor


def test_undo():
    editor = Editor()
    editor.write("a")
    editor.write("b")
    assert editor.undo()
    assert editor.text == "a"


def test_redo():
    editor = Editor()
    editor.write("a")
    editor.undo()
    assert editor.redo()
    assert editor.text == "a"
    assert not editor.redo()


def test_writing_forgets_what_was_undone():
    editor = Editor()
    editor.write("a")
    editor.undo()
    editor.write("b")
    assert not editor.redo()
    assert editor.text == "b"


def test_nothing_to_undo():
    assert not Editor("x").undo()
