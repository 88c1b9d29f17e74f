"""A conversation in, the next words and tool calls out.

The plan is a generator. It is replayed against the outputs that the conversation holds, so any server can go on with
any conversation; the live generator is kept in the lane's memory only to save that work.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from agent_core.repair import report
from agent_core.repair.actions import EditFile, Observation, PlanStep
from agent_core.repair.limits import SearchLimits
from agent_core.repair.plan import plan
from agent_core.repair.search import Steps
from agent_core.repair.tools_adapter import OfferedTool, ToolCall, Toolset, find_tools
from agent_core.repair.transcript import DoneCall, Turn, read_turn

_MEMORY = "repair"


class Asked(Protocol):
    """What is read of a request: the conversation, the client's tools, and the lane's memory (a cache of what the
    conversation says).
    """

    @property
    def items(self) -> Sequence[Any]: ...
    @property
    def tools(self) -> Sequence[OfferedTool]: ...
    @property
    def tool_choice(self) -> Any: ...
    @property
    def parallel_tool_calls(self) -> bool: ...
    @property
    def memory(self) -> dict[str, Any]: ...


@dataclass
class Playback:
    """A plan that has been brought up to date with `seen`, the calls it has had answers for."""

    key: tuple[object, ...]
    seen: tuple[DoneCall, ...]
    steps: Steps
    step: PlanStep | None
    answers: list[Observation]
    """Of the present step's actions, those that are there already."""

    def forward(self, calls: tuple[DoneCall, ...], tools: Toolset) -> bool:
        """Takes in further calls; False where they are not those that the plan asked for."""
        for call in calls:
            if self.step is None or len(self.answers) >= len(self.step.actions):
                return False
            action = self.step.actions[len(self.answers)]
            wanted = tools.call(action)
            if call.output is None or not call.fits(wanted.name, wanted.arguments):
                return False
            self.answers.append(tools.observe(action, call.output))
            self.seen = (*self.seen, call)
            if len(self.answers) == len(self.step.actions):
                self._advance()
        return True

    def _advance(self) -> None:
        answers, self.answers = tuple(self.answers), []
        try:
            self.step = self.steps.send(answers)
        except StopIteration:
            self.step = None


@dataclass(frozen=True, slots=True)
class Reply:
    text: str
    calls: tuple[ToolCall, ...]


def next_reply(request: Asked, limits: SearchLimits) -> Reply:
    """What to say and call next. Pure but for the cache in `request.memory`."""
    if request.tool_choice == "none":
        return Reply(report.NO_TOOLS, ())
    turn = read_turn(request.items)
    tools = find_tools(request.tools)
    cached = request.memory.pop(_MEMORY, None)
    playback = _cached(cached, turn, tools) or _replayed(turn, tools, limits)
    request.memory[_MEMORY] = playback
    step = playback.step
    if step is None:
        return Reply("I am done with this; say what to do next.", ())
    left = step.actions[len(playback.answers) :]
    said = step.say if not playback.answers else ""
    calls = tuple(tools.call(action) for action in (left if request.parallel_tool_calls else left[:1]))
    return Reply(said, calls)


def _key(turn: Turn, tools: Toolset) -> tuple[object, ...]:
    return (
        turn.task,
        turn.introduced,
        turn.interrupted,
        tuple(sorted((role, tool.name) for role, tool in tools.by_role.items())),
    )


def _cached(cached: Any, turn: Turn, tools: Toolset) -> Playback | None:
    """The live plan, if the conversation goes on where it stands."""
    if not isinstance(cached, Playback) or cached.key != _key(turn, tools):
        return None
    if turn.calls[: len(cached.seen)] != cached.seen:
        return None
    return cached if cached.forward(turn.calls[len(cached.seen) :], tools) else None


def _replayed(turn: Turn, tools: Toolset, limits: SearchLimits) -> Playback:
    """A plan replayed from the start. Calls that it would not have made are passed over, with all before them."""
    for start in range(len(turn.calls) + 1):
        interrupted = (*turn.interrupted, *turn.calls[:start])
        left = _edits(interrupted, tools)
        steps = plan(turn.task, tools, introduce=not turn.introduced, leftovers=left, limits=limits)
        playback = Playback(_key(turn, tools), turn.calls[:start], steps, next(steps), [])
        if playback.forward(turn.calls[start:], tools):
            return playback
    raise AssertionError("a plan without answers fits every conversation")


def _edits(calls: tuple[DoneCall, ...], tools: Toolset) -> tuple[EditFile, ...]:
    """Edits that these calls may have left in place: those made, less those taken back."""
    placed: list[EditFile] = []
    for call in calls:
        edit = tools.edit_of(call.name, call.arguments)
        if edit is None:
            continue
        if placed and placed[-1] == EditFile(edit.path, edit.new, edit.old):
            placed.pop()
        else:
            placed.append(edit)
    return tuple(placed)
