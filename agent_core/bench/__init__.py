"""Measurements of `loopline bench`: each scenario yields figures; ratios within one run are what counts.

figures.py    a figure and its report as JSON, Markdown and SVG
suite.py      which scenarios there are, and running them
startup.py    the command line's start against a bare interpreter
emitting.py   what telemetry costs
client.py     the agent's way to the model against a minimal client; client_service.py answers, client_drivers.py and
              client_peer_openai.py ask
"""
