"""The terminal dashboard: `loopline tui`.

app.py         the app put together: feed, state, control sockets, screens
command.py     what the command line calls
desk.py        what the person chose, and the pages that follow; no widgets
following.py   from feed to state, a slice at a time
paint/         what the panels say, as pure functions
widgets/       lines that stay, lines that scroll, a prompt
screens/       the main screen and what is laid over it
"""
