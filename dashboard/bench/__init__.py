"""What the dashboards bear, for `loopline bench` and the tests.

crowd.py            many agents that push to a hub, many browsers that look
hub.py              the scenario `hub`: such a crowd against `loopline web` in a process of its own
terminal_load.py    the terminal dashboard under thousands of events a second
journal_writer.py   the process that writes those
terminal.py         the scenario `terminal`
conversation_terminal.py  `loopline` on a pseudo terminal, with keys
interactive.py      the scenario `interactive`: CPU until its prompt, from a key to the screen, CPU of streams
"""
