"""The dashboards: `tui` in the terminal, `web` in the browser, `hub` for a team; all fold the same telemetry.

state.py         the pure reducer both draw from; lines, findings, connections, savings, waterfall are its parts
feed.py          events of this machine's journals, live or played again
format.py        numbers with units, foreign text made harmless
"""
