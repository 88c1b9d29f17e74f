"""What the dashboards bear, for `loopline bench` and the tests.

crowd.py            many agents that push to a hub, many browsers that look
hub.py              the scenario `hub`: such a crowd against `loopline web` in a process of its own
terminal_load.py    the terminal dashboard under thousands of events a second
journal_writer.py   the process that writes those
terminal.py         the scenario `terminal`
"""
