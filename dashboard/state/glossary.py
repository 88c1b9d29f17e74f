"""What each number means and how it is computed: the text behind `?`, the same in the terminal and on the web. Pure."""

from __future__ import annotations

import msgspec


class Meaning(msgspec.Struct, frozen=True):
    """`key` is the name in code, `name` the label on screen."""

    key: str
    name: str
    unit: str
    formula: str


GLOSSARY: tuple[Meaning, ...] = (
    Meaning("turn", "turn", "ms, s", "end of the turn - your message; the five stages add up to it exactly"),
    Meaning(
        "inference",
        "inference",
        "ms, s",
        "engine time if the service reports it, else first to last delta; never more than the call",
    ),
    Meaning(
        "overhead",
        "overhead",
        "ms, s",
        "call time - inference: the network, and the service's work before and after the engine",
    ),
    Meaning("tools", "tools", "ms, s", "time in which tools ran and no call did; parallel tools count once"),
    Meaning("approval", "approval", "ms, s", "time in which nothing ran and an approval waited for a person"),
    Meaning("other", "other", "ms, s", "the turn - all of the above: our own code"),
    Meaning("ttft", "ttft", "ms", "time to first token: first delta of any channel, reasoning included - request sent"),
    Meaning("visible_ttft", "visible ttft", "ms", "first delta of text or tool arguments - request sent"),
    Meaning("turn_ttft", "turn ttft", "ms", "first delta of any call - your message"),
    Meaning(
        "rate",
        "tok/s",
        "tokens/s",
        "(output tokens - 1) / (call time - ttft); over the whole call where that would mislead: hidden "
        "reasoning, or an ending under 1 s and shorter than the ttft",
    ),
    Meaning(
        "live_rate",
        "tok/s ≈",
        "tokens/s",
        "tokens of the last 5 s / time since the first delta, at most 5 s; tokens are estimated until the "
        "service counts them",
    ),
    Meaning(
        "turn_rate",
        "tok/s of a turn",
        "tokens/s",
        "output tokens of its calls / the time their own rates stand for",
    ),
    Meaning("tpot", "per token", "ms", "(call time - ttft) / (output tokens - 1)"),
    Meaning("gap", "chunk gap", "ms", "time between two deltas; p50, p95 and largest, within 5 %"),
    Meaning("in", "in", "tokens", "input tokens of the call, cached ones included"),
    Meaning(
        "cached",
        "cached",
        "tokens, %",
        "input tokens the engine did not process again; share = cached / in; – if the provider does not report it",
    ),
    Meaning("fresh", "fresh", "tokens", "in - cached - cache writes"),
    Meaning("out", "out", "tokens", "output tokens, reasoning included"),
    Meaning(
        "cost",
        "cost",
        "US dollars",
        "tokens x list price, each token once; an estimate, – without a price for the model",
    ),
    Meaning(
        "cost_today",
        "today",
        "US dollars",
        "cost of the calls that ended since midnight here; + if some have no price",
    ),
    Meaning("reused", "⟲ reused", "calls", "calls that named the previous response and sent only what was new"),
    Meaning("full", "↑ full", "calls", "calls that sent their whole input although they were not the first"),
    Meaning("up", "up", "bytes", "bytes of the request frames, repeated attempts included"),
    Meaning(
        "bytes_saved",
        "bytes not re-sent",
        "bytes, computed",
        "what each call's whole input would have weighed - what went up, warm-ups included",
    ),
    Meaning(
        "tokens_kept",
        "tokens not re-sent",
        "tokens, computed",
        "input and output tokens of the call before on the same chain, for calls that reused it",
    ),
    Meaning("age", "age", "h:min:s", "now - handshake of the connection"),
    Meaning(
        "rotates",
        "rotates in",
        "min:s",
        "55 min - age: the client renews its socket before the service's limit of 60 min",
    ),
    Meaning("handshake", "handshake", "ms", "from connecting to the accepted upgrade"),
    Meaning("goodput", "good turns", "%", "completed turns that met every target / all ended turns"),
    Meaning("percentile", "p50, p95", "as named", "percentiles of all calls of the group, within 1 %"),
)
