"""The conversation on a screen, key by key, told by hand."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual import events

from agent_core.config.settings import Notify
from agent_core.turns.events import ApprovalEnded, QuestionAsked, QuestionEnded, TurnEvent
from tests.support.system.waiting import eventually
from tests.support.terminal.conversation_page import ANSWER, OF, PageApp, asked, began, deltas, story
from tests.support.terminal.pictures import screen_text

SIZE = (100, 30)


def text(app: PageApp) -> str:
    return "\n".join(screen_text(app))


async def test_what_is_written_is_sent_with_enter_and_queued_with_alt_enter(tmp_path: Path) -> None:
    app = PageApp(tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press(*"hello", "ctrl+j", *"world", "enter", *"later", "alt+enter")
        assert app.said == [("hello\nworld", "hello\nworld", False), ("later", "later", True)]
        await pilot.press("up")
        assert app.conversation.composer.text == "later"
        await pilot.press("up", "down", "down")
        assert app.conversation.composer.text == ""


async def test_a_paste_of_5000_lines_is_one_chip(tmp_path: Path) -> None:
    app, pasted = PageApp(tmp_path), "\n".join(f"line {number} 日本🙂" for number in range(5_000))
    async with app.run_test(size=SIZE) as pilot:
        app.conversation.composer.post_message(events.Paste(pasted + "\x1b[31m"))
        await pilot.pause()
        assert app.conversation.composer.text == "[paste 1: 5,000 lines]"
        await pilot.press("enter")
        assert app.said == [(pasted, "[paste 1: 5,000 lines]", False)]


async def test_lines_of_a_paste_end_as_terminals_send_them(tmp_path: Path) -> None:
    app = PageApp(tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        app.conversation.composer.post_message(events.Paste("one\rtwo\r\nthree"))
        await pilot.pause()
        assert app.conversation.composer.text == "one\ntwo\nthree"
        await pilot.press("ctrl+underscore")
        assert app.conversation.composer.text == ""


async def test_it_grows_at_its_end_only(tmp_path: Path) -> None:
    app = PageApp(tmp_path)
    async with app.run_test(size=(100, 60)) as pilot:
        app.tell(began())
        seen: list[str] = []
        for delta in deltas(ANSWER, 11):
            app.tell(delta)
            await pilot.pause()
            rows = [row for row in screen_text(app)[:40] if row.strip()]
            stays = max(0, len(seen) - 8)  # a table's columns widen while it is the last block
            assert rows[:stays] == seen[:stays]
            seen = rows
        assert "return stamp[:19]  # no offset" in text(app)


async def test_a_question_takes_keys_that_come_after_it_and_no_others(tmp_path: Path) -> None:
    app = PageApp(tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        app.tell(began())
        await pilot.press("y", "e", "s", " ")
        app.tell(asked("make all"))
        await pilot.press("y")
        assert app.answered == [] and app.conversation.composer.text == "yes y"
        await pilot.press("ctrl+c")
        await eventually(lambda: app.conversation.question.has_focus)
        assert "asked because `git stash` changes the repository" in text(app)
        assert "make all" in text(app).split("wants to run")[1], "the command itself, where it is asked"
        await pilot.press("y")
        await pilot.pause()
        assert app.answered == [("appr_1", "allow", "")]


async def test_a_denial_with_its_reason(tmp_path: Path) -> None:
    app = PageApp(tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        app.tell(began(), asked())
        await eventually(lambda: app.conversation.question.has_focus)
        await pilot.press("e", *"use tmp", "enter")
        await pilot.pause()
        assert app.answered == [("appr_1", "deny", "use tmp")] and app.said == []
        app.tell(ApprovalEnded(approval_id="appr_1", decision="deny", by="tui", **OF))
        await pilot.pause()
        assert app.conversation.composer.has_focus and "denied" in text(app)


async def test_the_model_asks_in_words(tmp_path: Path) -> None:
    app, replied = PageApp(tmp_path), list[tuple[str, str]]()
    app.talk.reply = lambda key, text: replied.append((key, text))  # type: ignore[method-assign,assignment]
    question = QuestionAsked(question_id="q1", question="Which zone?", options=("UTC", "local"), **OF)
    async with app.run_test(size=SIZE) as pilot:
        app.tell(began(), question)
        await eventually(lambda: app.conversation._inquired_s < float("inf"))
        await pilot.pause()
        assert "Which zone?" in text(app) and "2 local" in text(app) and "a number, or your own words" in text(app)
        await pilot.press("2", "enter")
        assert replied == [("q1", "local")] and app.said == []
        app.tell(QuestionEnded(question_id="q1", answer="local", by="tui", **OF))
        await pilot.press(*"go on", "enter")
        assert app.said == [("go on", "go on", False)]


@pytest.mark.parametrize(("how", "told"), [("auto", ["bell", "word"]), ("bell", ["bell"]), ("off", [])])
async def test_a_question_rings_as_the_settings_say(tmp_path: Path, how: Notify, told: list[str]) -> None:
    app, heard = PageApp(tmp_path), list[str]()
    app.notify_by = how
    app.bell = lambda: heard.append("bell")  # type: ignore[method-assign]
    app.notify_desktop = lambda text: heard.append("word")  # type: ignore[method-assign]
    async with app.run_test(size=SIZE) as pilot:
        app.post_message(events.AppBlur())
        await pilot.pause()
        app.tell(began(), asked())
        await eventually(lambda: app.conversation.question.has_focus)
        assert heard == told


async def test_what_does_not_fit_is_allowed_only_once_it_was_in_sight(tmp_path: Path) -> None:
    app = PageApp(tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        app.tell(began(), asked("\n".join(f"echo {number}" for number in range(60)) + "\nrm -rf /"))
        await eventually(lambda: app.conversation.question.has_focus)
        await pilot.press("y")
        assert app.answered == [] and "more lines" in text(app)
        await pilot.press("end")
        assert "rm -rf /" in text(app)
        await pilot.press("enter")
        await pilot.pause()
        assert app.answered == [("appr_1", "allow", "")]


async def test_enter_takes_the_marked_answer(tmp_path: Path) -> None:
    app = PageApp(tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        app.tell(began(), asked())
        await eventually(lambda: app.conversation.question.has_focus)
        await pilot.press("right", "right", "enter")
        await pilot.pause()
        assert app.answered == [("appr_1", "deny", "")]


async def test_tool_calls_open(tmp_path: Path) -> None:
    app = PageApp(tmp_path)
    async with app.run_test(size=(100, 50)) as pilot:
        app.tell(*story()[:-1])
        assert "test_zone: expected" not in text(app)
        await pilot.press("ctrl+up", "ctrl+up", "ctrl+up", "ctrl+o")
        assert "test_zone: expected +05:30" in text(app)
        await pilot.press("ctrl+o", "escape")
        assert "test_zone: expected" not in text(app)


async def test_commands_are_offered_and_done(tmp_path: Path) -> None:
    app = PageApp(tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press(*"/the")
        await pilot.pause()
        assert "/theme [NAME]" in text(app)
        await pilot.press("tab", *"light", "enter")
        assert app.theme == "loopline-light"
        await pilot.press(*"/nonsense", "enter")
        app.conversation.draw()
        await pilot.pause()
        assert "there is no command /nonsense" in text(app) and app.said == []


async def test_ctrl_c_clears_and_twice_quits(tmp_path: Path) -> None:
    app = PageApp(tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press(*"text", "ctrl+c")
        assert app.conversation.composer.text == "" and not app._leaving
        await pilot.press("ctrl+c", "ctrl+c")
        assert app._leaving


async def test_escape_twice_writes_the_last_message_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dashboard.agent.screen.TWICE_S", 60.0)
    app = PageApp(tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press(*"first", "enter", *"last", "enter", "escape")
        assert app.conversation.composer.text == ""
        await pilot.press("escape")
        assert app.conversation.composer.text == "last" and [text for text, *_ in app.said] == ["first", "last"]
        await pilot.press("escape", "escape")
        assert app.conversation.composer.text == "last", "what is written stays"


async def test_the_end_stays_in_sight_unless_the_person_looks_elsewhere(tmp_path: Path) -> None:
    app = PageApp(tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        events_: list[TurnEvent] = [began(), *deltas("\n\n".join(f"paragraph {number}" for number in range(100)), 40)]
        app.tell(*events_)
        await pilot.pause()
        assert "paragraph 99" in text(app)
        await pilot.press("pageup", "pageup")
        app.tell(*deltas("\n\nmore"))
        await pilot.pause()
        assert "more" not in text(app)
        await pilot.press("ctrl+end")
        await pilot.pause()
        assert "more" in text(app)
        await pilot.resize_terminal(60, 20)
        await pilot.pause()
        assert "more" in text(app)
