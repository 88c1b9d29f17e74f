from undo import Editor


def test_long_history():
    editor = Editor()
    for letter in "abcd":
        editor.write(letter)
    for _ in range(3):
        editor.undo()
    editor.write("x")
    assert editor.text == "ax"
    assert not editor.redo()
    editor.undo()
    assert editor.text == "a"
    assert editor.redo()
    assert editor.text == "ax"
