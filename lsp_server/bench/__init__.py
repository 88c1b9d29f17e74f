"""Measurements of the language server for `loopline bench`, and for tests.

server.py    the server on standard input and output with a watch on its event loop; a process of its own
driver.py    starts it, speaks to it and reads the watch
lsp.py       the figures
"""
