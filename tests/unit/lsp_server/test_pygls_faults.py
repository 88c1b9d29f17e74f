"""Every fault of pygls that is mended in `lsp_server`, twice: plain pygls still has it, and we do not.

Where a `plain` test fails after an update of pygls, the fault is gone there, and what is named beside it in
`protocol_fixes.py` can be taken out. Of pygls#502 (sending from threads over TCP fails on Windows) only our side has a
test: we send on the loop.
"""

from __future__ import annotations

import asyncio
import json
import logging
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types as lsp
from pygls.feature_manager import is_thread_function
from pygls.workspace import TextDocument

from lsp_server.documents.documents import Change, Document, Position
from lsp_server.transport.framing import FrameReader
from tests.support.lsp.inside import Json, inside, let_run, plain
from tests.support.system.waiting import eventually

EXECUTE = "workspace/executeCommand"


# 1: a cancelled command goes on running


async def test_plain_1_a_cancelled_command_runs_to_its_end() -> None:
    async with plain() as pygls:
        ran = _slow_command(pygls.server.command)
        await pygls.initialize()
        pygls.tell({"jsonrpc": "2.0", "id": 1, "method": EXECUTE, "params": {"command": "slow"}})
        await eventually(lambda: ran)
        pygls.tell({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": 1}})
        await eventually(lambda: [m for m in pygls.sent if m.get("id") == 1])
        await let_run()
        assert ran == ["begun"]
        await eventually(lambda: "ended" in ran)


async def test_ours_1_a_cancelled_command_is_cancelled(tmp_path: Path) -> None:
    async with inside(tmp_path) as ours:
        ran = _slow_command(ours.server.command)
        await ours.initialize()
        ours.tell({"jsonrpc": "2.0", "id": 1, "method": EXECUTE, "params": {"command": "slow"}})
        await eventually(lambda: ran)
        ours.notify("$/cancelRequest", {"id": 1})
        assert (await ours.answer(1))["error"]["code"] == -32800
        await eventually(lambda: "cancelled" in ran)


def _slow_command(command: Callable[[str], Callable[[Any], Any]]) -> list[str]:
    ran: list[str] = []

    async def slow(*args: Any) -> None:
        ran.append("begun")
        try:
            await asyncio.sleep(0.2)
            ran.append("ended")
        except asyncio.CancelledError:
            ran.append("cancelled")
            raise

    command("slow")(slow)
    return ran


# 2: shutdown fails while something runs


async def test_plain_2_shutdown_fails_while_a_command_runs() -> None:
    async with plain() as pygls:
        ran = _slow_command(pygls.server.command)
        await pygls.initialize()
        pygls.tell({"jsonrpc": "2.0", "id": 1, "method": EXECUTE, "params": {"command": "slow"}})
        await eventually(lambda: ran)
        assert (await pygls.ask("shutdown", None, 2))["error"]["code"] == -32603


async def test_ours_2_shutdown_succeeds_while_a_command_runs(tmp_path: Path) -> None:
    async with inside(tmp_path) as ours:
        ran = _slow_command(ours.server.command)
        await ours.initialize()
        ours.tell({"jsonrpc": "2.0", "id": 1, "method": EXECUTE, "params": {"command": "slow"}})
        await eventually(lambda: ran)
        assert (await ours.ask("shutdown", None, 2))["result"] is None
        assert (await ours.answer(1))["error"]["code"] == -32800


# 3 and 16: threads that wait hold the reader, and what is synchronous can't be cancelled

_STARVED = """
import sys, json
from pygls.lsp.server import LanguageServer
server = LanguageServer("x", "1", max_workers=1)

@server.feature("hold")
@server.thread()
def hold(params):
    return server.protocol.send_request("never/answered", None).result()

server.start_io()
"""


def test_plain_3_a_thread_that_waits_for_the_client_starves_the_reader() -> None:
    requests = [
        {"id": 0, "method": "initialize", "params": {"processId": None, "rootUri": None, "capabilities": {}}},
        {"id": 1, "method": "hold", "params": None},
        {"id": 2, "method": "no/such", "params": None},
    ]
    process = subprocess.Popen([sys.executable, "-c", _STARVED], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None and process.stdout is not None
    try:
        for request in requests[:2]:
            _write(process.stdin, request)
        while b"never/answered" not in _frame(process.stdout):
            pass
        _write(process.stdin, requests[2])
        time.sleep(0.5)
    finally:
        process.kill()
        rest = process.stdout.read()
        process.stdin.close()
        process.stdout.close()
        process.wait()
    assert b'"id": 2' not in rest


def _write(stream: Any, message: Json) -> None:
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    stream.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
    stream.flush()


def _frame(stream: Any) -> bytes:
    length = 0
    while (line := stream.readline()) != b"\r\n":
        if line.startswith(b"Content-Length"):
            length = int(line.split()[1])
    return bytes(stream.read(length))


async def test_ours_3_16_every_handler_is_a_coroutine_and_none_a_thread(tmp_path: Path) -> None:
    async with inside(tmp_path) as ours:
        manager = ours.server.protocol.fm
        handlers = {**manager.features, **manager.commands}
        assert len(handlers) > 20
        assert not [name for name, handler in handlers.items() if not asyncio.iscoroutinefunction(handler)]
        assert not [name for name, handler in handlers.items() if is_thread_function(handler)]  # type: ignore[no-untyped-call]


# 4: params that do not fit are never answered


@pytest.mark.parametrize("method", ["textDocument/hover", "initialize"])
async def test_plain_4_params_that_do_not_fit_are_not_answered(method: str) -> None:
    async with plain() as pygls:
        if method != "initialize":
            await pygls.initialize()
        pygls.tell({"jsonrpc": "2.0", "id": 1, "method": method, "params": {"capabilities": 5}})
        await let_run()
        assert not [message for message in pygls.sent if message.get("id") == 1]


@pytest.mark.parametrize("method", ["textDocument/hover", "initialize"])
async def test_ours_4_params_that_do_not_fit_are_refused(tmp_path: Path, method: str) -> None:
    async with inside(tmp_path) as ours:
        if method != "initialize":
            await ours.initialize()
        assert (await ours.ask(method, {"capabilities": 5}))["error"]["code"] == -32602


# 5: a nested object with a `jsonrpc` key is taken for a message


async def _heard(register: Callable[[str], Callable[[Any], Any]]) -> list[Any]:
    heard: list[Any] = []

    async def echo(*args: Any) -> None:
        heard.extend(args)

    register("echo")(echo)
    return heard


INNER = {"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": {"a": 1}}


async def test_plain_5_a_nested_frame_becomes_a_message() -> None:
    async with plain() as pygls:
        heard = await _heard(pygls.server.command)
        await pygls.initialize()
        pygls.tell({"jsonrpc": "2.0", "id": 1, "method": EXECUTE, "params": {"command": "echo", "arguments": [INNER]}})
        await let_run()
        assert not isinstance(heard[0] if heard else None, dict)


async def test_ours_5_a_nested_frame_stays_data(tmp_path: Path) -> None:
    async with inside(tmp_path) as ours:
        heard = await _heard(ours.server.command)
        await ours.initialize()
        await ours.ask(EXECUTE, {"command": "echo", "arguments": [INNER]})
        assert list(heard[0].arguments) == [INNER]


# 6: form feeds and U+2028 count as line ends

ODD = "a\x0cb\u2028c\x1cd\x85e\nsecond\n"


def test_plain_6_odd_separators_end_lines() -> None:
    document = TextDocument("file:///a", ODD)
    document.apply_change(_insert(1))
    assert document.source != ODD.replace("second", "!second")


def test_ours_6_odd_separators_are_characters() -> None:
    document = Document("file:///a", "t", 1, ODD, "utf-16")
    document.apply([Change("!", Position(1, 0), Position(1, 0))], 2)
    assert document.text == ODD.replace("second", "!second")


def _insert(line: int) -> lsp.TextDocumentContentChangePartial:
    at = lsp.Position(line, 0)
    return lsp.TextDocumentContentChangePartial(range=lsp.Range(at, at), text="!")


# 7: writing blocks the event loop


class _Blocking:
    def write(self, data: bytes) -> None:
        time.sleep(0.1)

    def close(self) -> None:
        return None


async def test_plain_7_a_slow_reader_blocks_the_loop() -> None:
    async with plain() as pygls:
        pygls.server.protocol.set_writer(_Blocking())
        before_s = time.monotonic()
        pygls.server.protocol.notify("x", {})
        assert time.monotonic() - before_s >= 0.1


async def test_ours_7_sending_only_queues(tmp_path: Path) -> None:
    async with inside(tmp_path) as ours:
        await ours.initialize()
        before_s = time.monotonic()
        for _ in range(1_000):
            ours.server.protocol.notify("x", {"a": 1})  # nobody takes anything out
        assert time.monotonic() - before_s < 20


# 8 and 9: late answers raise, and every unanswered request leaks


async def test_plain_8_a_late_answer_raises_in_the_read_loop(caplog: pytest.LogCaptureFixture) -> None:
    async with plain() as pygls:
        await pygls.initialize()
        waiting = asyncio.ensure_future(pygls.server.protocol.send_request_async("x/y", None, msg_id="7"))
        await let_run()
        waiting.cancel()
        await let_run()
        pygls.tell({"jsonrpc": "2.0", "id": "7", "result": None})
        await let_run()
        assert any("Unable to handle message" in record.message for record in caplog.records)


async def test_plain_9_result_types_of_unanswered_requests_are_kept() -> None:
    async with plain() as pygls:
        await pygls.initialize()
        waiting = asyncio.ensure_future(pygls.server.protocol.send_request_async("window/showDocument", None))
        await let_run()
        waiting.cancel()
        await let_run()
        assert len(pygls.server.protocol._result_types) == 1


async def test_ours_8_9_a_late_answer_harms_nobody_and_nothing_is_kept(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with inside(tmp_path) as ours:
        await ours.initialize()
        protocol = ours.server.protocol
        waiting = asyncio.ensure_future(
            protocol.ask("window/showDocument", lsp.ShowDocumentParams("file:///a"), timeout_s=None)
        )
        asked = await eventually(lambda: next((m for m in ours.sent if m.get("method") == "window/showDocument"), None))
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        withdrawn = [m["params"]["id"] for m in ours.sent if m.get("method") == "$/cancelRequest"]
        assert withdrawn == [asked["id"]]
        ours.tell({"jsonrpc": "2.0", "id": asked["id"], "result": {"success": True}})
        await let_run()
        assert protocol._asked == {} and protocol._request_futures == {} and protocol._result_types == {}
        assert caplog.records == []


async def test_ours_9_handled_notifications_leave_nothing(tmp_path: Path) -> None:
    async with inside(tmp_path) as ours:
        await ours.initialize()
        for number in range(50):
            ours.notify("workspace/didChangeWatchedFiles", {"changes": []})
            ours.notify("textDocument/didSave", {"textDocument": {"uri": f"file:///{number}"}})
        await let_run()
        assert ours.server.protocol._request_futures == {}


# 10: progress tokens are never given back


async def test_plain_10_a_token_is_kept_for_ever() -> None:
    async with plain() as pygls:
        await pygls.initialize()
        progress = pygls.server.work_done_progress
        progress.begin("t", lsp.WorkDoneProgressBegin(title="x"))
        progress.end("t", lsp.WorkDoneProgressEnd())
        assert "t" in progress.tokens


async def test_ours_10_tokens_are_forgotten_with_their_turn(tmp_path: Path) -> None:
    folder = tmp_path / "w"
    folder.mkdir()
    async with inside(tmp_path) as ours:
        await ours.initialize(root=folder, initializationOptions={"baseUrl": "http://127.0.0.1:9/v1", "model": "m"})
        arguments = {"command": "loopline.turn.start", "arguments": [{"task": "x"}], "workDoneToken": "t"}
        turn = (await ours.ask(EXECUTE, arguments))["result"]["turnId"]
        assert ours.server.editor.turn_of_token == {"t": turn}
        cancel = {"command": "loopline.turn.cancel", "arguments": [{"turnId": turn}]}
        await ours.ask(EXECUTE, cancel, "cancel")
        await eventually(lambda: not ours.server.editor.turn_of_token)
        kinds = [m["params"]["value"]["kind"] for m in ours.sent if m.get("method") == "$/progress"]
        assert kinds == ["begin", "end"]


# 11: `exit` without `shutdown` is code 0


def test_plain_11_exit_is_always_code_0() -> None:
    script = 'from pygls.lsp.server import LanguageServer\nLanguageServer("x", "1").start_io()'
    process = subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None and process.stdout is not None
    _write(process.stdin, {"method": "exit"})
    assert process.wait(10) == 0
    process.stdin.close()
    process.stdout.close()


async def test_ours_11_exit_without_shutdown_is_code_1(tmp_path: Path) -> None:
    async with inside(tmp_path) as ours:
        await ours.initialize()
        ours.notify("exit", None)
        assert await ours.server.editor.exited == 1


# 12: headers in another case are never read


async def test_plain_12_a_lower_case_header_is_not_read() -> None:
    async with plain() as pygls:
        message = {"jsonrpc": "2.0", "id": 1, "method": "no/such", "params": None}
        pygls.tell(message, header=b"content-length")
        await let_run()
        assert pygls.sent == []


def test_ours_12_headers_are_read_in_any_case() -> None:
    assert FrameReader().feed(b"content-LENGTH:2\r\nX-Other: 1\r\n\r\n{}") == [b"{}"]


# 13: a file that is not open is read as UTF-8 only, its line ends changed


def test_plain_13_a_latin1_file_is_an_error_and_line_ends_are_lost(tmp_path: Path) -> None:
    latin, dos = tmp_path / "latin", tmp_path / "dos"
    latin.write_bytes(b"caf\xe9")
    dos.write_bytes(b"a\r\nb")
    with pytest.raises(UnicodeDecodeError):
        _ = TextDocument(latin.as_uri()).source
    assert TextDocument(dos.as_uri()).source == "a\nb"


async def test_ours_13_files_that_are_not_open_are_no_documents(tmp_path: Path) -> None:
    """They are read by the tools, byte for byte (`tests/interaction/lsp/test_edits.py`)."""
    (tmp_path / "latin").write_bytes(b"caf\xe9")
    async with inside(tmp_path) as ours:
        await ours.initialize(root=tmp_path)
        assert ours.server.editor.documents.get((tmp_path / "latin").as_uri()) is None
        assert ours.server.editor.buffers.get(str(tmp_path / "latin")) is None


# 14: one character in a large document costs as much as the document


def test_14_one_character_in_five_megabytes() -> None:
    text = "x = 'a line of a large file, fifty characters'\n" * 110_000
    plain_document = TextDocument("file:///a", text)
    document = Document("file:///a", "t", 1, text, "utf-16")
    place = Position(55_000, 0)
    plain_ms = _median_ms(lambda: plain_document.apply_change(_insert(55_000)), 3)
    our_ms = _median_ms(lambda: document.apply([Change("!", place, place)], 2), 9)
    assert our_ms < plain_ms / 5, f"ours {our_ms:.2f} ms, pygls {plain_ms:.2f} ms"
    assert document.text.count("!") == 9


def _median_ms(work: Callable[[], Any], times: int) -> float:
    taken = []
    for _ in range(times):
        before_s = time.thread_time()
        work()
        taken.append((time.thread_time() - before_s) * 1000)
    return statistics.median(taken)


# 15: bodies are logged


async def test_plain_15_bodies_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    async with plain() as pygls:
        await pygls.initialize()
        pygls.server.protocol.notify("x", {"key": "sk-secret"})
        assert "sk-secret" in caplog.text


async def test_ours_15_no_body_is_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "lsp_server")
    async with inside(tmp_path) as ours:
        await ours.initialize()
        ours.server.protocol.notify("x", {"key": "sk-secret"})
        await ours.ask("loopline/auth.set", {"provider": "openai", "key": "sk-secret"}, 1)
        await ours.ask("loopline/auth.set", {"provider": 5, "key": "sk-secret"}, 2)
        await ours.ask("textDocument/hover", {"sk-secret": 5}, 3)
        ours.tell(b'{"sk-secret')
        ours.notify("textDocument/didOpen", {"textDocument": "sk-secret"})
        await let_run()
        assert "sk-secret" not in "".join(r.getMessage() for r in caplog.records if r.name.startswith("lsp_server"))


# 17: sending from threads (fails over TCP on Windows)


async def test_ours_17_everything_is_sent_on_the_loops_thread(tmp_path: Path) -> None:
    """Also what waits for a thread: keys, lists of sessions, transcripts, the model's list."""
    threads: set[int] = set()
    async with inside(tmp_path) as ours:
        put = ours.server.protocol.outbox.put

        def noted(message: bytes, *, droppable: bool = False) -> bool:
            threads.add(threading.get_ident())
            return put(message, droppable=droppable)

        ours.server.protocol.outbox.put = noted  # type: ignore[method-assign]
        await ours.initialize(root=tmp_path)
        ours.notify("initialized", {})
        await ours.ask("loopline/auth.set", {"provider": "openai", "key": "sk-secret"}, 1)
        await ours.ask("loopline/auth.status", {}, 2)
        await ours.ask(EXECUTE, {"command": "loopline.session.list", "arguments": [{}]}, 3)
        await ours.ask("loopline/transcript", {"sessionId": "sess_none"}, 4)
        await let_run()
    assert threads == {threading.get_ident()}
