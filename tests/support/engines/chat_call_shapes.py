"""The tool calls of Chat Completions servers, as public reports have them: one row a shape, with its source."""

from __future__ import annotations

from tests.support.engines.chat_shape import ASSUMED, DONE, OTHER, READ, Shape, asks, fn, part

ONE = [("read", READ)]
TWO = [("read", READ), ("read", OTHER)]

CALL_SHAPES: dict[str, Shape] = {
    "a whole call in one chunk": Shape(
        "ollama/ollama#15457",
        [asks(index=0, id="c", function=fn("read", READ)), part("tool_calls"), DONE],
        calls=ONE,
    ),
    "id and name in the first chunk only": Shape(
        ASSUMED,
        [
            asks(index=0, id="c", function=fn("read", "")),
            asks(index=0, function=fn(None, READ)),
            part("tool_calls"),
            DONE,
        ],
        calls=ONE,
    ),
    "no index": Shape(
        "ollama/ollama#7881, chenyme/grok2api#239",
        [asks(id="c", function=fn("read", READ)), part("tool_calls"), DONE],
        calls=ONE,
    ),
    "no index, arguments in pieces": Shape(
        "openai/openai-python#3246",
        [
            asks(id="c", function=fn("read", "")),
            asks(function=fn(None, READ[:5])),
            asks(function=fn(None, READ[5:])),
            DONE,
        ],
        calls=ONE,
    ),
    "two calls without index": Shape(
        "SamSaffron/term-llm#314",
        [
            part(tool_calls=[{"id": "c", "function": fn("read", READ)}, {"id": "d", "function": fn("read", OTHER)}]),
            DONE,
        ],
        calls=TWO,
    ),
    "all calls with index 0": Shape(
        "ollama/ollama#15457, BerriAI/litellm#33678",
        [
            asks(index=0, id="c", function=fn("read", READ)),
            asks(index=0, id="d", function=fn("read", OTHER)),
            DONE,
        ],
        calls=TWO,
    ),
    "all calls with index 0, in pieces": Shape(
        "vercel/ai#14277",
        [
            asks(index=0, id="c", function=fn("read", READ[:4])),
            asks(index=0, function=fn(None, READ[4:])),
            asks(index=0, id="d", function=fn("read", OTHER[:4])),
            asks(index=0, function=fn(None, OTHER[4:])),
            DONE,
        ],
        calls=TWO,
    ),
    "one id for two calls": Shape(
        "HKUDS/nanobot#3943, can1357/oh-my-pi#2055",
        [
            asks(index=0, id="c", function=fn("read", READ)),
            asks(index=1, id="c", function=fn("read", OTHER)),
            DONE,
        ],
        calls=TWO,
    ),
    "two objects under one index": Shape(
        "open-webui/open-webui#22235",
        [asks(index=0, id="c", function=fn("read", READ)), asks(index=0, function=fn(None, OTHER)), DONE],
        calls=TWO,
    ),
    "no id": Shape(
        "QwenLM/qwen-code#5107", [asks(index=0, function=fn("read", READ)), part("tool_calls"), DONE], calls=ONE
    ),
    "an empty id": Shape("QwenLM/qwen-code#5107", [asks(index=0, id="", function=fn("read", READ)), DONE], calls=ONE),
    "a new id in each chunk": Shape(
        "maximhq/bifrost#1829",
        [
            asks(index=0, id="c1", function=fn("read", READ[:4])),
            asks(index=0, id="c2", function=fn(None, READ[4:])),
            DONE,
        ],
        calls=ONE,
    ),
    "id a number": Shape(ASSUMED, [asks(index=0, id=7, function=fn("read", READ)), DONE], calls=ONE),
    "the name in every chunk": Shape(
        "NousResearch/hermes-agent#12230",
        [
            asks(index=0, id="c", function=fn("read", READ[:4])),
            asks(index=0, id="c", function=fn("read", READ[4:])),
            DONE,
        ],
        calls=ONE,
    ),
    "the name in every chunk, a new id too": Shape(
        "NousResearch/hermes-agent#3468",
        [
            asks(index=0, id="c", function=fn("read", READ[:4])),
            asks(index=0, id="d", function=fn("read", READ[4:])),
            DONE,
        ],
        calls=ONE,
    ),
    "the name in pieces": Shape(
        "continuedev/continue#5849",
        [
            asks(index=0, id="c", function=fn("re")),
            asks(index=0, function=fn("ad")),
            asks(index=0, function=fn(None, READ)),
            DONE,
        ],
        calls=ONE,
    ),
    "a name put together twice": Shape(
        "open-webui/open-webui#22177", [asks(index=0, id="c", function=fn("readread", READ)), DONE], calls=ONE
    ),
    "the name behind the arguments": Shape(
        "vercel/ai#15879",
        [asks(index=0, id="c", function=fn(None, READ)), asks(index=0, function=fn("read")), DONE],
        calls=ONE,
    ),
    "the whole call twice": Shape(
        "brainlid/langchain#174, charmbracelet/crush#3107",
        [
            asks(index=0, id="c", function=fn("read", READ)),
            asks(index=0, id="c", function=fn("read", READ)),
            DONE,
        ],
        calls=ONE,
    ),
    "arguments an object": Shape(
        "ggml-org/llama.cpp#20198", [asks(index=0, id="c", function=fn("read", {"path": "a.py"})), DONE], calls=ONE
    ),
    "arguments encoded twice": Shape(
        ASSUMED, [asks(index=0, id="c", function=fn("read", '"{\\"path\\":\\"a.py\\"}"')), DONE], calls=ONE
    ),
    "arguments under parameters": Shape(
        ASSUMED, [asks(index=0, id="c", function={"name": "read", "parameters": {"path": "a.py"}}), DONE], calls=ONE
    ),
    "function a name": Shape(ASSUMED, [asks(index=0, id="c", function="read", arguments=READ), DONE], calls=ONE),
    "calls as a table by index": Shape(
        ASSUMED, [part(tool_calls={"0": {"id": "c", "function": fn("read", READ)}}), DONE], calls=ONE
    ),
    "index as text, then a number": Shape(
        ASSUMED,
        [
            asks(index="0", id="c", function=fn("read", READ[:4])),
            asks(index=0, function=fn(None, READ[4:])),
            DONE,
        ],
        calls=ONE,
    ),
    "arguments an empty string": Shape(
        ASSUMED, [asks(index=0, id="c", function=fn("read", "")), part("tool_calls"), DONE], calls=[("read", "{}")]
    ),
    "arguments null": Shape(
        ASSUMED,
        [asks(index=0, id="c", function={"name": "read", "arguments": None}), DONE],
        calls=[("read", "{}")],
    ),
    "an empty object before the arguments": Shape(
        ASSUMED,
        [asks(index=0, id="c", function=fn("read", "{}")), asks(index=0, function=fn(None, READ)), DONE],
        calls=ONE,
    ),
    "finish_reason stop behind calls": Shape(
        "vllm-project/vllm#9209", [asks(index=0, id="c", function=fn("read", READ)), part("stop"), DONE], calls=ONE
    ),
    "the last arguments beside the finish reason": Shape(
        "MiaAI-Lab/GLM-5.3-Flash-EXL3-2x-DGX-Sparks#177",
        [
            asks(index=0, id="c", function=fn("read", READ[:4])),
            asks("stop", index=0, function=fn(None, READ[4:])),
            DONE,
        ],
        calls=ONE,
    ),
    "finish_reason empty amid arguments": Shape(
        "adolfousier/opencrabs#1499",
        [
            asks("", index=0, id="c", function=fn("read", READ[:4])),
            asks("", index=0, function=fn(None, READ[4:])),
            part("tool_calls"),
            DONE,
        ],
        calls=ONE,
    ),
    "finish_reason tool_calls behind each call": Shape(
        "BerriAI/litellm#27139",
        [
            asks("tool_calls", index=0, id="c", function=fn("read", READ)),
            asks("tool_calls", index=1, id="d", function=fn("read", OTHER)),
            DONE,
        ],
        calls=TWO,
    ),
    "calls in a message": Shape(
        "Blaizzy/mlx-vlm#990",
        [
            {
                "choices": [
                    {
                        "index": 0,
                        "message": {"tool_calls": [{"id": "c", "function": fn("read", READ)}]},
                        "finish_reason": "stop",
                    }
                ]
            },
            DONE,
        ],
        calls=ONE,
    ),
    "function_call of the older API": Shape(
        "sashabaranov/go-openai#558",
        [part(function_call=fn("read", READ[:4])), part(function_call=fn(None, READ[4:])), part("function_call"), DONE],
        calls=ONE,
    ),
    "text behind calls": Shape(
        "BerriAI/litellm#27139",
        [asks(index=0, id="c", function=fn("read", READ)), part(content="Hello"), part("stop"), DONE],
        "Hello",
        calls=ONE,
    ),
    "tool_calls null beside text": Shape(
        "sgl-project/sglang#3912", [part(content="Hello", tool_calls=None), part("stop"), DONE], "Hello"
    ),
    "tool_calls empty beside text": Shape(
        "AstrBotDevs/AstrBot#6692", [part(content="Hello", tool_calls=[]), part("stop"), DONE], "Hello"
    ),
    "arguments that are no JSON": Shape(
        "open-webui/open-webui#29654",
        [asks(index=0, id="c", function=fn("read", "path=a")), part("tool_calls"), DONE],
        calls=[("read", "path=a")],
    ),
    "arguments that are no object": Shape(
        "open-webui/open-webui#29654",
        [asks(index=0, id="c", function=fn("read", "[1]")), part("tool_calls"), DONE],
        calls=[("read", "[1]")],
    ),
    "a tool that there is not": Shape(
        "NousResearch/hermes-agent#3468",
        [asks(index=0, id="c", function=fn("terminal", READ)), part("tool_calls"), DONE],
        calls=[("terminal", READ)],
    ),
}
