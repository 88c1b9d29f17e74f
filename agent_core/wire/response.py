"""The response object of lifecycle events, of HTTP answers and of the store.

The 31 keys that the Open Responses specification requires are always written, null where there is nothing to say. What
the service only echoes (tools, text, reasoning, …) and the output items stay undecoded.
"""

from __future__ import annotations

from msgspec import UNSET, Raw, Struct, UnsetType, field

from agent_core.wire.base import Wire, empty_list, zero


class CacheWriteDetails(Wire, kw_only=True):
    ttl_30m_tokens: int
    ttl_12h_tokens: int


class InputTokensDetails(Wire, kw_only=True):
    """Subsets of `input_tokens`. `cached_tokens` is always written: Codex fails without it."""

    cached_tokens: int = field(default_factory=zero)
    cache_write_tokens: int = field(default_factory=zero)
    cache_write_tokens_details: CacheWriteDetails | None = None


class OutputTokensDetails(Wire, kw_only=True):
    """`reasoning_tokens` is a subset of `output_tokens` and always written: Codex fails without it."""

    reasoning_tokens: int = field(default_factory=zero)


class Usage(Wire, kw_only=True):
    """Tokens of one response. Details are None, and `total_tokens` 0, where the peer did not state them."""

    input_tokens: int
    input_tokens_details: InputTokensDetails | None = None
    output_tokens: int
    output_tokens_details: OutputTokensDetails | None = None
    total_tokens: int = field(default_factory=zero)


class IncompleteDetails(Wire, kw_only=True):
    """`reason`: max_output_tokens, content_filter, max_messages or steered."""

    reason: str | None = None


class ResponseError(Wire, kw_only=True):
    """Why a response failed. `code` and `message` are "" when the peer gave none."""

    code: str = field(default_factory=str)
    message: str = field(default_factory=str)
    type: str | None = None
    param: str | None = None
    headers: dict[str, str] | None = None
    """`retry-after` and the like, as in an `error` frame: an addition of ours, left out where there is nothing."""
    misalignment: Raw | UnsetType = UNSET


class Response(Struct, kw_only=True):
    """One response. Times are Unix seconds. Unknown keys are dropped; `output` keeps every item as it came."""

    id: str = ""
    object: str = "response"
    created_at: int | float = 0
    completed_at: int | float | None = None
    status: str | None = None
    """completed, failed, in_progress, cancelled, queued or incomplete; None when the peer gave none."""
    incomplete_details: IncompleteDetails | None = None
    model: str = ""
    previous_response_id: str | None = None
    instructions: Raw = Raw(b"null")
    output: list[Raw] = field(default_factory=empty_list)
    error: ResponseError | None = None
    tools: Raw = Raw(b"[]")
    tool_choice: Raw = Raw(b'"auto"')
    truncation: str | None = "disabled"
    parallel_tool_calls: bool | None = True
    text: Raw = Raw(b'{"format":{"type":"text"}}')
    top_p: float | None = 1.0
    presence_penalty: float | None = 0.0
    frequency_penalty: float | None = 0.0
    top_logprobs: int | None = 0
    temperature: float | None = 1.0
    reasoning: Raw = Raw(b"null")
    usage: Usage | None = None
    max_output_tokens: int | None = None
    max_tool_calls: int | None = None
    store: bool | None = True
    background: bool | None = False
    service_tier: str | None = "default"
    metadata: Raw = Raw(b"{}")
    safety_identifier: str | None = None
    prompt_cache_key: str | None = None

    access_programs: Raw | UnsetType = UNSET
    conversation: Raw | UnsetType = UNSET
    end_turn: bool | None | UnsetType = UNSET
    """Read by Codex in `response.completed`: whether the model means to go on. Absent in the vendor's type."""
    image: Raw | UnsetType = UNSET
    input_transformations: Raw | UnsetType = UNSET
    moderation: Raw | UnsetType = UNSET
    prompt: Raw | UnsetType = UNSET
    prompt_cache_diagnostics: Raw | UnsetType = UNSET
    prompt_cache_options: Raw | UnsetType = UNSET
    prompt_cache_retention: str | None | UnsetType = UNSET
    tool_usage: Raw | UnsetType = UNSET
    user: str | None | UnsetType = UNSET
