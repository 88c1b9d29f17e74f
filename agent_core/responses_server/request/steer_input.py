"""Input of `response.steer`: a text, or messages of the user with text, images and files. Nothing else.

Source: openai-python `ResponseSteerEvent`.
"""

from __future__ import annotations

from msgspec import Raw

from agent_core.errors import WireError
from agent_core.wire.items import InputFile, InputImage, InputText, Message, read_item_strict, read_parts
from agent_core.wire.requests import split_input


def read_steer_input(raw: Raw) -> list[Raw]:
    """The messages, as raw items of their own. Raises WireError with the place of what can't be taken."""
    raws = [each.copy() for each in split_input(raw)]
    if not raws:
        raise WireError("Steering needs at least one message.", param="input")
    for index, each in enumerate(raws):
        path = f"input[{index}]"
        item = read_item_strict(each, path)
        if not isinstance(item, Message) or item.role != "user":
            raise WireError("Steering takes messages of the role 'user' only.", param=path)
        if not item.content:
            raise WireError("Steering needs a message that says something.", param=f"{path}.content")
        for position, part in enumerate(read_parts(item.content) if isinstance(item.content, list) else ()):
            if not isinstance(part, InputText | InputImage | InputFile):
                message = "Steering takes text, images and files only."
                raise WireError(message, param=f"{path}.content[{position}].type")
    return raws
