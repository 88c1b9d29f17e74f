"""Blocks to lines: nothing wider than the page, nothing a terminal obeys, nothing lost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from dashboard.agent.conversation.blocks import Note, Said, Tool, You
from dashboard.agent.conversation.cutting import cut
from dashboard.agent.conversation.page import Conversation
from dashboard.agent.paint.code import code_lines
from dashboard.agent.paint.diff import counts, paint_diff
from dashboard.agent.paint.markdown import paint_markdown
from dashboard.agent.paint.question import answers, paint_body, paint_keys
from dashboard.agent.paint.sheet import Sheet
from dashboard.agent.paint.status import Standing, paint_status
from dashboard.agent.paint.wrapping import chopped, wrap
from dashboard.widgets.spans import line_width, text_of
from tests.support.terminal.conversation_page import ANSWER, DIFF, asked, shown, story

TEXT = st.text(st.sampled_from("ab \n\t`#*-_>|[]()1.日🙂é\x1b\u202e\x07"), max_size=200)


def texts(lines: object) -> list[str]:
    return [text_of(line) for line in lines]  # type: ignore[attr-defined]


@given(TEXT, st.integers(20, 90))
def test_markdown_fits_and_holds_nothing_a_terminal_obeys(text: str, width: int) -> None:
    for line in paint_markdown(text, width):
        assert line_width(line) <= width, line
        assert "\x1b" not in text_of(line) and "\u202e" not in text_of(line) and "\n" not in text_of(line)


@given(TEXT, st.integers(20, 90))
def test_every_block_fits(text: str, width: int) -> None:
    blocks = [
        You(key="1", text=text),
        Said(key="2", text=text),
        Note(key="3", severity="info", text=text),
        Tool(key="4", name=text, arguments=text, status="error", summary=text, output=text, diff=text, duration_ms=5),
    ]
    for line in shown(blocks, width, opened=["4"]):
        assert cell_len(line) <= width, line


@given(TEXT)
def test_wrapping_loses_no_word(text: str) -> None:
    plain = "".join(char for char in text if char.isprintable() or char == "\n")
    wrapped = "".join(texts(wrap([(plain, "")], 23)))
    assert wrapped.replace(" ", "") == plain.replace(" ", "").replace("\n", "")
    assert "".join(texts(chopped([(plain.replace("\n", ""), "")], 7))).rstrip() == plain.replace("\n", "").rstrip() or (
        " " in plain
    )


def test_markdown_as_it_reads() -> None:
    lines = texts(paint_markdown(ANSWER + "\n> a quote\n\n- one\n  - two", 60))
    assert "The offset is cut before it is read:" in lines
    assert "  def parse(stamp: str) -> str:" in lines and "1. read it" in lines and "│ a quote" in lines
    assert "• one" in lines and "  ◦ two" in lines and any("─────" in line for line in lines)


def test_code_has_the_roles_of_its_words() -> None:
    (line,) = code_lines("return 'x'  # why", "python")
    assert ("return", "code.word") in line and ("# why", "code.note") in line
    assert code_lines("anything", "no such language") == [(("anything", ""),)]


def test_a_cut_leaves_the_text_as_it_is() -> None:
    pieces, rest = cut("one\n\ntwo\n\n```py\nx\n\ny\n```\n\nlast")
    assert (pieces, rest) == (["one", "two", "```py\nx\n\ny\n```"], "last")
    assert cut("- a\n\n  still a") == ([], "- a\n\n  still a")


def test_a_long_message_is_cut_until_it_is_opened() -> None:
    you = You(key="1", text="\n".join(f"line {number}" for number in range(5_000)))
    assert len(shown([you])) == 31 and shown([you])[-1].strip() == "… 4,970 more lines ▸"
    assert len(shown([you], opened=["1"])) == 5_000


def test_changed_words_stand_out() -> None:
    lines = paint_diff(DIFF, 80, 0, 12)
    assert texts(lines) == ["-    return stamp[:19]", "+    return stamp[:19] + offset"]
    assert any(role == "added.word" and "offset" in text for text, role in lines[1])
    assert counts(DIFF) == (1, 1)
    assert "… 1 more lines" in texts(paint_diff(DIFF, 80, 0, 1))[1]


@pytest.mark.parametrize("width", [60, 100])
def test_a_story(width: int) -> None:
    conversation = Conversation()
    for event in story():
        conversation.apply(event)
    conversation.refresh()
    page = "\n".join(shown(conversation.blocks, width))
    assert "› the date parser drops" in page and "✗ checks" in page and "2 failed, 31 passed" in page
    assert "compiling …" in page and "+    return stamp[:19] + offset" in page
    assert ("600 ms" in page) == (width == 100), "figures on the right go first"


def test_a_question_shows_all_of_it_spelled_out() -> None:
    approval = asked("rm -rf build\x1b[8m; echo \u202ehidden").approval
    body = "\n".join(texts(paint_body(approval, 80, 1)))
    assert "\\x1b[8m" in body and "\\u202e" in body and "asked because" in body and "1 more wait" in body
    assert [answer.key for answer in answers(approval)] == ["y", "a", "n", "e"]
    narrow = text_of(paint_keys(approval, 0, 38, unseen=0, quiet=False))
    assert narrow.endswith("e why ") and len(narrow) <= 38
    assert [answer.key for answer in answers(asked(always=False).approval)] == ["y", "n", "e"]


def test_the_status_line_gives_up_figures_first() -> None:
    standing = Standing(model="gpt-5.5", approve="ask", branch="main", context_tokens=28_800, context_size=160_000,
                        rate=812.0, ttft_ms=92.0, cache_ratio=0.94, cost_usd=0.41, reuse="reused")  # fmt: skip
    wide, narrow = text_of(paint_status(standing, 120, "/help")), text_of(paint_status(standing, 30, "/help"))
    assert (
        wide
        == "gpt-5.5 · asks · main · ctx 18 % ▂ · 812 tok/s · ttft 92 ms · cached 94 % · ⟲ reused · $0.41"
        + " " * 23
        + "/help"
    )
    assert narrow.startswith("gpt-5.5 · asks · main") and "ctx" not in narrow


def test_a_long_page_is_painted_where_it_is_looked_at() -> None:
    sheet = Sheet()
    sheet.load([Said(key=str(number), text=f"line {number}") for number in range(50_000)])
    assert sheet.height >= 100_000 - 1
    sheet.look(sheet.height - 30, 30)
    painted = sum(each is not None for each in sheet._painted)
    assert painted < 40
    assert text_of(sheet.line(sheet.height - 1)[0]) == "  line 49999"
    few = Sheet()
    few.load([Said(key=str(number), text="word " * 40) for number in range(500)])
    few.resize(40)
    while few.settle(100):
        pass
    assert few.height == sum(len(paint_markdown("word " * 40, 38)) + 1 for _ in range(500)) - 1
