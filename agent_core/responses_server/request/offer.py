"""Whether a model can do what a request asks of it. What it can't do is refused before anything is created."""

from __future__ import annotations

from agent_core.errors import WireError
from agent_core.responses_server.engine import Capabilities
from agent_core.responses_server.request.calling import Calling, for_engine
from agent_core.responses_server.request.validation import Checked


def check_model(model: str, capabilities: Capabilities, checked: Checked) -> Calling:
    """The calling rule for this model. Raises WireError for a demand that it can't meet."""
    form = (checked.settings.text_format or {}).get("type", "text")
    if form != "text" and not capabilities.json_output:
        raise WireError(f"The model '{model}' answers in plain text only.", param="text.format.type")
    asked = checked.settings.top_logprobs
    if asked is not None and not capabilities.logprobs:
        param = "top_logprobs" if asked else "include"
        raise WireError(f"The model '{model}' gives no log probabilities.", param=param)
    return for_engine(checked.calling, model, capabilities)
