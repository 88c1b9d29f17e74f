"""What Chat Completions servers send, as public reports have it: one row a shape, with its source."""

from __future__ import annotations

from tests.support.engines.chat_call_shapes import CALL_SHAPES
from tests.support.engines.chat_shape import ASSUMED, DONE, HEL, LO, STOP, USAGE, Shape, counted, part, said, sse

TEXT_SHAPES: dict[str, Shape] = {
    "role in every chunk": Shape(
        "ollama/ollama#4357", [part(role="assistant", content=t) for t in ("Hel", "lo")] + [part("stop"), DONE], "Hello"
    ),
    "finish_reason empty on every chunk": Shape(
        "ollama/ollama#4357, sgl-project/sglang#3912", [part("", content="Hel"), part("", content="lo"), DONE], "Hello"
    ),
    "finish_reason stop on every chunk": Shape(
        "open-webui/open-webui#23929", [part("stop", content="Hel"), part("stop", content="lo"), DONE], "Hello"
    ),
    "the last text beside the finish reason": Shape(
        "vllm-project/vllm#36944", [part(content="Hel"), part("stop", content="lo"), DONE], "Hello"
    ),
    "no finish reason, a last usage": Shape(
        "earendil-works/pi#7441", [part(content="Hello"), {"choices": [], "usage": USAGE}], "Hello", counts=(9, None, 2)
    ),
    "two finish reasons": Shape(
        "RayBytes/ChatMock#114", [part(content="Hello"), part("tool_calls"), part("stop"), DONE], "Hello"
    ),
    "content as a list of parts": Shape(
        "BerriAI/litellm#16272", [part(content=[{"type": "text", "text": "Hello"}]), part("stop"), DONE], "Hello"
    ),
    "thinking as a part of the content": Shape(
        "BerriAI/litellm#16272",
        [part(content=[{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]), *said()],
        "Hello",
        "hm",
    ),
    "content null beside a role": Shape(
        "vllm-project/vllm#36944", [part(role="assistant", content=None), *said()], "Hello"
    ),
    "delta null": Shape("microsoft/autogen#6465", [{"choices": [{"index": 0, "delta": None}]}, *said()], "Hello"),
    "choices empty at the start": Shape(
        "AbanteAI/archive-old-cli-mentat#429", [{"choices": [], "prompt_filter_results": []}, *said()], "Hello"
    ),
    "choices null": Shape("diegosouzapw/OmniRoute#8210", [{"choices": None}, *said()], "Hello"),
    "a second choice": Shape(
        ASSUMED,
        [part(content="Hello"), {"choices": [{"index": 1, "delta": {"content": "Other"}}]}, part("stop"), DONE],
        "Hello",
    ),
    "the only choice has index 1": Shape(
        ASSUMED,
        [{"choices": [{"index": 1, "delta": {"content": "Hello"}, "finish_reason": "stop"}]}, DONE],
        "Hello",
    ),
    "message instead of delta": Shape(
        "Blaizzy/mlx-vlm#990",
        [{"choices": [{"index": 0, "message": {"content": "Hello"}, "finish_reason": "stop"}]}, DONE],
        "Hello",
    ),
    "the whole message again at the end": Shape(
        "Blaizzy/mlx-vlm#990",
        [
            part(content="Hello"),
            {"choices": [{"index": 0, "message": {"content": "Hello"}, "finish_reason": "stop"}]},
            DONE,
        ],
        "Hello",
    ),
    "text of the older API": Shape(
        ASSUMED, [{"choices": [{"index": 0, "text": "Hello", "finish_reason": "stop"}]}, DONE], "Hello"
    ),
    "delta a text": Shape(ASSUMED, [{"choices": [{"index": 0, "delta": "Hello"}]}, part("stop"), DONE], "Hello"),
    "a choice a text": Shape(ASSUMED, [{"choices": ["Hello"]}, part("stop"), DONE], "Hello"),
    "index as text, then a number": Shape(
        ASSUMED,
        [{"choices": [{"index": "0", "delta": {"content": "Hel"}}]}, part(content="lo"), part("stop"), DONE],
        "Hello",
    ),
    "content with parts within": Shape(
        ASSUMED, [part(content={"parts": [{"text": "Hello"}]}), part("stop"), DONE], "Hello"
    ),
    "a message without an error behind the end": Shape(
        ASSUMED, [part(content="Hello"), part("stop"), {"message": "done"}, DONE], "Hello"
    ),
    "Ollama's own API": Shape(
        ASSUMED,
        [
            {"message": {"role": "assistant", "content": "Hello"}, "done": False},
            {"message": {"content": ""}, "done": True, "prompt_eval_count": 9, "eval_count": 2},
        ],
        "Hello",
        counts=(9, None, 2),
    ),
    "a refusal": Shape(ASSUMED, [part(refusal="No."), part("stop"), DONE], "No."),
    "logprobs and unknown fields": Shape(
        "sgl-project/sglang#3912",
        [
            {
                "choices": [
                    {"index": 0, "delta": {"content": "Hello", "x": 1}, "logprobs": {"content": []}, "matched_stop": 2}
                ]
            },
            part("stop"),
            DONE,
        ],
        "Hello",
    ),
    "finish_reason length": Shape(
        "vllm-project/vllm#36944", [part(content="Hello"), part("length"), DONE], "Hello", reason="max_output_tokens"
    ),
    "finish_reason in capitals": Shape(
        "BerriAI/litellm#27139", [part(content="Hello"), part("MAX_TOKENS"), DONE], "Hello", reason="max_output_tokens"
    ),
    "finish_reason function_call": Shape(ASSUMED, [part(content="Hello"), part("function_call"), DONE], "Hello"),
}

REASONING_SHAPES: dict[str, Shape] = {
    "reasoning_content": Shape("earendil-works/pi#3636", [part(reasoning_content="hm"), *said()], "Hello", "hm"),
    "reasoning": Shape(ASSUMED, [part(reasoning="hm"), *said()], "Hello", "hm"),
    "both at once": Shape(ASSUMED, [part(reasoning="hm", reasoning_content="hm"), *said()], "Hello", "hm"),
    "reasoning_details": Shape(
        ASSUMED,
        [part(reasoning_details=[{"type": "reasoning.text", "text": "hm"}]), *said()],
        "Hello",
        "hm",
    ),
    "details beside reasoning": Shape(
        ASSUMED,
        [part(reasoning="hm", reasoning_details=[{"type": "reasoning.text", "text": "hm"}]), *said()],
        "Hello",
        "hm",
    ),
    "thinking": Shape(ASSUMED, [part(thinking="hm"), *said()], "Hello", "hm"),
    "empty reasoning beside text": Shape(
        "farion1231/cc-switch#5093", [part("", reasoning_content="", content="Hello"), DONE], "Hello"
    ),
    "think tags": Shape(
        "QwenLM/qwen-code#6033", [part(content="<think>\nhm</think>\n\nHello"), part("stop"), DONE], "Hello", "hm"
    ),
    "think tags in pieces": Shape(
        "LibreChat-AI/agents#40",
        [
            *(part(content=t) for t in ("<", "thin", "king", ">", "h", "m", "</thi", "nking", ">", "Hel", "lo")),
            part("stop"),
            DONE,
        ],
        "Hello",
        "hm",
    ),
    "a tag amid the text is text": Shape(
        "QwenLM/qwen-code#8818", [part(content="Use <think> here"), part("stop"), DONE], "Use <think> here"
    ),
    "an answer that begins like a tag": Shape(
        "LibreChat-AI/agents#40", [part(content="<th"), part(content="ead>"), part("stop"), DONE], "<thead>"
    ),
}

USAGE_SHAPES: dict[str, Shape] = {
    "in a chunk of its own": Shape("janhq/cortex.llamacpp#265", counted(USAGE), "Hello", counts=(9, None, 2)),
    "in each chunk, growing": Shape(
        "janhq/cortex.llamacpp#265",
        [
            part(content="Hello") | {"usage": {"prompt_tokens": 9, "completion_tokens": 1}},
            part("stop") | {"usage": USAGE},
            DONE,
        ],
        "Hello",
        counts=(9, None, 2),
    ),
    "null": Shape("sgl-project/sglang#3912", [part(content="Hello") | {"usage": None}, part("stop"), DONE], "Hello"),
    "as floats": Shape(
        ASSUMED, counted({"prompt_tokens": 9.0, "completion_tokens": 2.0}), "Hello", counts=(9, None, 2)
    ),
    "as text": Shape(ASSUMED, counted({"prompt_tokens": "9", "completion_tokens": "2"}), "Hello", counts=(9, None, 2)),
    "not a number": Shape(
        ASSUMED, counted({"prompt_tokens": "many", "completion_tokens": -1}), "Hello", counts=(None, None, None)
    ),
    "cached in the details": Shape(
        ASSUMED, counted(USAGE | {"prompt_tokens_details": {"cached_tokens": 4}}), "Hello", counts=(9, 4, 2)
    ),
    "details null": Shape(ASSUMED, counted(USAGE | {"prompt_tokens_details": None}), "Hello", counts=(9, None, 2)),
    "cached as DeepSeek has it": Shape(
        ASSUMED, counted(USAGE | {"prompt_cache_hit_tokens": 4}), "Hello", counts=(9, 4, 2)
    ),
    "cached as Anthropic has it": Shape(
        ASSUMED, counted(USAGE | {"cache_read_input_tokens": 4}), "Hello", counts=(9, 4, 2)
    ),
    "cached beside the counts": Shape(ASSUMED, counted(USAGE | {"cached_tokens": 4}), "Hello", counts=(9, 4, 2)),
    "cached in llama.cpp's timings": Shape(ASSUMED, counted(USAGE, timings={"cache_n": 4}), "Hello", counts=(9, 4, 2)),
    "inside the choice": Shape(
        ASSUMED,
        [
            part(content="Hello"),
            {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop", "usage": USAGE}]},
            DONE,
        ],
        "Hello",
        counts=(9, None, 2),
    ),
    "by the names of the newer API": Shape(
        ASSUMED, counted({"input_tokens": 9, "output_tokens": 2}), "Hello", counts=(9, None, 2)
    ),
}

STREAM_SHAPES: dict[str, Shape] = {
    "comments": Shape(
        "kubernetes-sigs/inference-perf#781",
        [],
        "Hello",
        raw=sse(": PROCESSING\n\n", f"data: {HEL}\n\n: x\n\ndata: {LO}\n\n", f"data: {STOP}\n\ndata: [DONE]\n\n"),
    ),
    "data: without a blank": Shape(
        "lidge-jun/opencodex#1170", [], "Hello", raw=sse(f"data:{HEL}\n\ndata:{LO}\n\ndata:{STOP}\n\ndata:[DONE]\n\n")
    ),
    "CR LF": Shape(
        "miruamel/xuan#194",
        [],
        "Hello",
        raw=sse(f"data: {HEL}\r\n\r\ndata: {LO}\r\n\r\ndata: {STOP}\r\n\r\ndata: [DONE]\r\n\r\n"),
    ),
    "no blank line behind the last": Shape(
        "binaricat/Netcatty#3027", [], "Hello", raw=sse(f"data: {HEL}\n\ndata: {LO}\n\ndata: {STOP}\n")
    ),
    "one line break between messages": Shape(
        ASSUMED, [], "Hello", raw=sse(f"data: {HEL}\ndata: {LO}\ndata: {STOP}\n\ndata: [DONE]\n\n")
    ),
    "JSON over several data lines": Shape(
        "kubernetes-sigs/inference-perf#781",
        [],
        "Hello",
        raw=sse(
            'data: {"choices":[{"index":0,\ndata: "delta":{"content":"Hello"}}]}\n\n',
            f"data: {STOP}\n\ndata: [DONE]\n\n",
        ),
    ),
    "[DONE] with blanks": Shape(
        "kubernetes-sigs/inference-perf#781", [], "Hello", raw=sse(f"data: {HEL}\n\ndata: {LO}\n\ndata:  [DONE] \n\n")
    ),
    "pings in the data": Shape(
        "lidge-jun/opencodex#1188",
        [],
        "Hello",
        raw=sse(f"data: ping\n\ndata: {HEL}\n\ndata: \n\ndata: {LO}\n\ndata: [DONE]\n\n"),
    ),
    "named events and ids": Shape(
        "SamSaffron/term-llm#487",
        [],
        "Hello",
        raw=sse(f"id: 1\nevent: message\nretry: 5\ndata: {HEL}\n\nid: 2\ndata: {LO}\n\ndata: {STOP}\n\n"),
    ),
    "a byte order mark": Shape(
        ASSUMED, [], "Hello", raw=b"\xef\xbb\xbf" + sse(f"data: {HEL}\n\ndata: {LO}\n\ndata: [DONE]\n\n")
    ),
    "half a character in each of two deltas": Shape(
        "elizaOS/eliza#30904",
        [],
        "\U0001f600",
        raw=sse(
            'data: {"choices":[{"index":0,"delta":{"content":"\\ud83d"}}]}\n\n',
            'data: {"choices":[{"index":0,"delta":{"content":"\\ude00"}}]}\n\n',
            f"data: {STOP}\n\ndata: [DONE]\n\n",
        ),
    ),
    "half a character for good": Shape(
        "dust-tt/dust#27569",
        [],
        "a\ufffdb\ufffd",
        raw=sse(
            'data: {"choices":[{"index":0,"delta":{"content":"a\\ud83d"}}]}\n\n',
            'data: {"choices":[{"index":0,"delta":{"content":"b\\ud83d"}}]}\n\n',
            f"data: {STOP}\n\ndata: [DONE]\n\n",
        ),
    ),
    "bytes that are no UTF-8": Shape(
        "dust-tt/dust#27569",
        [],
        "caf\ufffd",
        raw=b'data: {"choices":[{"index":0,"delta":{"content":"caf\xe9"}}]}\n\ndata: [DONE]\n\n',
    ),
    "control characters in the JSON": Shape(
        ASSUMED, [], "a\tb", raw=b'data: {"choices":[{"index":0,"delta":{"content":"a\tb"}}]}\n\ndata: [DONE]\n\n'
    ),
}

SHAPES = {
    f"{kind}: {name}": shape
    for kind, rows in (
        ("text", TEXT_SHAPES),
        ("reasoning", REASONING_SHAPES),
        ("call", CALL_SHAPES),
        ("usage", USAGE_SHAPES),
        ("stream", STREAM_SHAPES),
    )
    for name, shape in rows.items()
}
