"""Measurements of `loopline bench`: each scenario yields figures; ratios within one run are what counts.

figures.py    a figure and its report as JSON, Markdown and SVG
suite.py      which scenarios there are, and running them
startup.py    the command line's start against a bare interpreter
emitting.py   what telemetry costs
client.py     the agent's way to the model against a minimal client and peers; client_service.py answers,
              client_drivers.py, client_peer_openai.py and client_peer_codex.py ask
rollout.py    one recorded rollout of 40 calls, five ways, at three speeds and three round trips: rollout_ways.py asks
              by lean_client.py, delay_proxy.py adds the way, rollout_shares.py says what is saved where
flatness.py   a call's cost at growing histories; ablation.py, what each mechanism of the service gives;
              flatness_calls.py asks for both
capacity.py   memory of idle connections, and small calls beside large ones; capacity_load.py asks
llama.py      a local model: a lane's next turn against a stateless call
serving.py    `loopline serve` as a process, for scenarios
scale.py      `--quick`: smaller runs of rollout and capacity, to see that they work

Clients, proxy and service are processes of their own. The delay proxy adds time and set-up only: bandwidth is not
limited and nothing is lost; slow start is a model and an upper bound, measured by itself and named where it is.
"""
