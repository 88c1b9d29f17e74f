"""Edits never lose a character that somebody else wrote, whatever the encoding, the line ends and the moment."""

from __future__ import annotations

import asyncio
import codecs
import json
import random
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from agent_core.errors import ToolError
from agent_core.tools.port import ToolContext
from agent_core.tools.workspace.text import View, decode
from tests.support.tools.buffers import Buffers
from tests.support.tools.toolbox import Bench

CONTEXT = ToolContext(tool_call="call_1")

CHARACTERS = st.one_of(
    st.sampled_from("ab \t\f\v\x85\u2028\u2029éß漢🦊\ufeff0"),
    st.characters(codec="utf-8", exclude_characters="\x00\r\n"),
)
NEWLINES = st.sampled_from(["\n", "\r\n", "\r"])
PIECES = st.text(CHARACTERS, max_size=6)


@st.composite
def texts(draw: st.DrawFn) -> str:
    """Lines with one style of line ends, or several."""
    lines = draw(st.lists(PIECES, min_size=1, max_size=8))
    styles = draw(st.lists(NEWLINES, min_size=1, max_size=3))
    ends = [draw(st.sampled_from(styles)) for _ in lines]
    joined = "".join(line + end for line, end in zip(lines, ends, strict=True))
    return joined if draw(st.booleans()) else joined.rstrip("\r\n")


ENCODERS: dict[str, Callable[[str], bytes]] = {
    "utf-8": lambda text: text.encode(),
    "utf-8-sig": lambda text: codecs.BOM_UTF8 + text.encode(),
    "utf-16-le": lambda text: codecs.BOM_UTF16_LE + text.encode("utf-16-le"),
    "utf-16-be": lambda text: codecs.BOM_UTF16_BE + text.encode("utf-16-be"),
    "utf-32-le": lambda text: codecs.BOM_UTF32_LE + text.encode("utf-32-le"),
    "utf-32-be": lambda text: codecs.BOM_UTF32_BE + text.encode("utf-32-be"),
    "ascii": lambda text: text.encode("ascii", "ignore"),
    "latin-1": lambda text: text.encode("latin-1", "ignore"),
    "broken utf-8": lambda text: "ü".encode() + text.encode() + b"\xff\xc3",
}


@st.composite
def contents(draw: st.DrawFn) -> bytes:
    return ENCODERS[draw(st.sampled_from(sorted(ENCODERS)))](draw(texts()))


@st.composite
def cases(draw: st.DrawFn) -> tuple[bytes, bytes | None, float, float, str]:
    """A file, what the user makes of it between read and write (None: nothing), a place in it, and the new text."""
    before = draw(contents())
    user = draw(st.none() | contents())
    place, size = draw(st.floats(0, 1)), draw(st.floats(0, 1))
    return before, user, place, size, draw(texts())


@settings(max_examples=150, deadline=None)
@given(cases())
def test_no_character_of_the_user_is_lost(case: tuple[bytes, bytes | None, float, float, str]) -> None:
    before, user, place, size, new = case
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder))
        bench.write("f", before)
        asyncio.run(one_edit(bench, user, place, size, new))


async def one_edit(bench: Bench, user: bytes | None, place: float, size: float, new: str) -> None:
    before = bench.bytes("f")
    decoded = decode(before)
    if decoded is None:
        return
    view = View(decoded[0])
    start = int(place * len(view.flat))
    old = view.flat[start : start + 1 + int(size * 12)]
    if not old or any("\ud800" <= character <= "\udfff" for character in old + new):
        return
    await bench.run("read", path="f")
    if user is not None:
        bench.write("f", user)
    result = await bench.run("edit", path="f", old=old, new=new)
    after = bench.bytes("f")
    if user is not None and user != before:
        assert result.status == "error", result.output
        assert after == user
        return
    if result.status == "error":
        assert after == before, result.output
        return
    assert view.flat.count(old) == 1
    flat_new = View(new).flat
    end = start + len(old)
    encoding = decoded[1]
    assert after.startswith(encoding.bom)
    now = after[len(encoding.bom) :].decode(encoding.codec, encoding.errors)
    assert View(now).flat == view.flat[:start] + flat_new + view.flat[end:]
    head = encoding.encode(view.raw[: view.raw_offset(start)])
    tail = view.raw[view.raw_offset(end) :].encode(encoding.codec, encoding.errors)
    assert after.startswith(head)
    assert after.endswith(tail)


@settings(max_examples=60, deadline=None)
@given(contents(), contents(), st.text(max_size=5))
def test_a_write_between_read_and_write_wins(before: bytes, user: bytes, addition: str) -> None:
    async def race(bench: Bench) -> None:
        try:
            file = await bench.workspace.read("f")
        except ToolError:
            return
        bench.write("f", user)
        try:
            await bench.workspace.write(file, file.content + addition)
        except ToolError as error:
            assert error.code in ("changed", "not_encodable")
            assert bench.bytes("f") == user
        else:
            assert user == before

    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder))
        bench.write("f", before)
        asyncio.run(race(bench))


def test_an_editor_that_saves_all_the_time_loses_nothing(tmp_path: Path) -> None:
    """An editor with a buffer of its own saves a line more, as fast as it can, while the agent edits line 1."""
    bench = Bench(tmp_path)
    file = bench.write("f", "count 0\n")
    stop = threading.Event()
    lost: list[str] = []
    saves = 0

    def editor() -> None:
        nonlocal saves
        buffer = ""
        pause = random.Random(7)
        while not stop.is_set() and saves < 3000:
            if not holds(file, buffer) and (stop.wait(0.01) or not holds(file, buffer)):
                lost.append(buffer)
                return
            buffer += f"user {saves}\n"
            swap = tmp_path / "f.swp"
            swap.write_text("count 0\n" + buffer)
            swap.replace(file)
            saves += 1
            if pause.random() < 0.5:
                stop.wait(pause.random() / 500)

    async def agent() -> int:
        done = 0
        for number in range(400):
            head = file.read_text().split("\n", 1)[0]
            result = await bench.run("edit", path="f", old=f"{head}\n", new=f"count {number + 1}\n")
            done += result.status == "ok"
            await asyncio.sleep(0)
        return done

    thread = threading.Thread(target=editor)
    thread.start()
    try:
        done = asyncio.run(agent())
    finally:
        stop.set()
        thread.join(20)
    assert lost == []
    assert (done > 0, saves > 0) == (True, True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["f"]


def holds(file: Path, buffer: str) -> bool:
    return file.read_text().endswith(buffer)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.floats(0, 1), texts()), min_size=1, max_size=4), contents())
def test_any_sequence_of_edits_can_be_taken_back_to_the_byte(steps: list[tuple[float, str]], before: bytes) -> None:
    """The way a search over edits works: try, undo, try the next."""

    async def sequence(bench: Bench) -> None:
        for place, new in steps:
            bytes_before = bench.bytes("f")
            decoded = decode(bytes_before)
            if decoded is None or "\r" in decoded[0]:
                return
            flat = decoded[0]
            line = flat.split("\n")[int(place * flat.count("\n"))]
            result = await bench.run("edit", path="f", old=line, new=new)
            if result.status == "ok" and View(new).flat and View(new).flat in View(decode_or_fail(bench)).flat:
                back = await bench.run("edit", path="f", old=new, new=line)
                if back.status == "ok":
                    assert bench.bytes("f") == bytes_before

    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder))
        bench.write("f", before)
        asyncio.run(sequence(bench))


def decode_or_fail(bench: Bench) -> str:
    decoded = decode(bench.bytes("f"))
    assert decoded is not None
    return decoded[0]


MARKS = [chr(0xE000 + number) for number in range(64)]
"""Private characters: the user types each at most once, and no text of the agent holds one."""


class User:
    """Types marks into a file or an open buffer, at any place, in whatever encoding it has."""

    def __init__(self, bench: Bench, encoding: str, newline: str, buffers: Buffers | None) -> None:
        self._bench, self._encode, self._newline, self._buffers = bench, ENCODERS[encoding], newline, buffers
        self.typed: list[str] = []

    @property
    def text(self) -> str:
        if self._buffers is not None:
            document = self._buffers.get(str(self._bench.root / "f"))
            assert document is not None
            return document.content
        decoded = decode(self._bench.bytes("f"))
        assert decoded is not None
        return decoded[0]

    def start(self, lines: list[str]) -> None:
        self._put("".join(line + self._newline for line in lines), first=True)

    def type(self, place: float) -> None:
        text, mark = self.text, MARKS[len(self.typed)]
        at = int(place * len(text))
        if text[at - 1 : at] == "\r" and text[at : at + 1] == "\n":
            at += 1
        self.typed.append(mark)
        self._put(text[:at] + mark + text[at:])

    def _put(self, text: str, *, first: bool = False) -> None:
        if self._buffers is None:
            self._bench.write("f", self._encode(text))
        elif first:
            self._bench.write("f", text)
            self._buffers.open(self._bench.root / "f", text)
        else:
            self._buffers.type(self._bench.root / "f", text)


LINES = st.lists(st.text(st.sampled_from("abc ä漢🦊\u2028\f"), min_size=1, max_size=5), min_size=2, max_size=7)
MOVES = st.lists(
    st.tuples(st.sampled_from(["type", "read", "edit", "patch", "create"]), st.floats(0, 1), LINES),
    min_size=3,
    max_size=14,
)


@settings(max_examples=120, deadline=None)
@given(
    st.sampled_from(sorted(set(ENCODERS) - {"latin-1", "ascii", "broken utf-8"})),
    NEWLINES, LINES, MOVES, st.booleans(),
)  # fmt: skip
def test_what_a_user_types_into_a_session_stays_and_lines_end_as_they_did(
    encoding: str, newline: str, lines: list[str], moves: list[tuple[str, float, list[str]]], buffered: bool
) -> None:
    """The user and the agent take turns at one file, on disk or in the editor's buffer, with edits and patches."""

    async def session(bench: Bench, buffers: Buffers | None) -> None:
        user = User(bench, encoding, newline, buffers)
        user.start(lines)
        before = bench.bytes("f")[:4]
        for move, place, new in moves:
            if move == "type":
                user.type(place)
                continue
            if move == "read":
                await bench.run("read", path="f")
                continue
            await agent(bench, move, user.text, place, new)
            text = user.text
            assert [mark for mark in user.typed if text.count(mark) != 1] == [], (move, text)
            rest = text.replace(newline, "")
            assert "\n" not in rest and "\r" not in rest, "one style of line ends"
        if buffers is None:
            bom = next((mark for mark in BOMS if before.startswith(mark)), b"")
            assert bench.bytes("f").startswith(bom)

    with tempfile.TemporaryDirectory() as folder:
        buffers = Buffers() if buffered else None
        asyncio.run(session(Bench(Path(folder), documents=buffers), buffers))


BOMS = (codecs.BOM_UTF8, codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


async def agent(bench: Bench, move: str, text: str, place: float, new: list[str]) -> None:
    """One edit or patch of a line, made from the text as it is or was; lines with marks of the user it leaves alone."""
    flat = View(text).flat.split("\n")
    free = [line for line in flat if line and not any("\ue000" <= character <= "\ue03f" for character in line)]
    if not free:
        return
    old = free[int(place * (len(free) - 1))]
    if move == "edit":
        await bench.run("edit", path="f", old=old, new="\n".join(new))
    elif move == "create":
        await bench.run("edit", path="f", old="", new="\n".join(new))
    else:
        added = "\n".join(f"+{line}" for line in new)
        await bench.run("patch", patch=f"*** Begin Patch\n*** Update File: f\n@@\n-{old}\n{added}\n*** End Patch")


@settings(max_examples=60, deadline=None)
@given(
    st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(), st.lists), st.text(max_size=20)
)
def test_no_arguments_bring_the_toolbox_down(value: object, garbage: str) -> None:
    async def run(bench: Bench) -> None:
        for name in ("list", "read", "search", "edit", "patch", "plan", "diagnostics", garbage):
            for arguments in (
                garbage,
                json.dumps(value),
                json.dumps({"path": value, "pattern": value, "steps": value}),
            ):
                result = await bench.box.run(name, arguments, CONTEXT)
                result.output.encode()

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(run(Bench(Path(folder))))
