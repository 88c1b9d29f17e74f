"""Settings that change while a session lives: applied, or named and left aside. On real files."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from agent_core.config.load import Loaded, load, settings_files
from agent_core.config.settings import Settings
from agent_core.hosting import reload as reloading
from agent_core.hosting.reload import FileWatch, KeptRules, Reloader
from agent_core.hosting.session import HostOptions, host_session
from agent_core.turns.events import Notice, TurnEvent
from tests.support.system.cli import environment


class Told:
    """A front end that keeps notices and lets a test wait for one."""

    def __init__(self) -> None:
        self.texts: list[tuple[str, str]] = []
        self._more = asyncio.Event()

    def __call__(self, update: TurnEvent) -> None:
        if isinstance(update, Notice):
            self.texts.append((update.severity, update.text))
            self._more.set()

    async def until(self, fits: Callable[[str], bool]) -> str:
        async with asyncio.timeout(20):
            while True:
                for _, text in self.texts:
                    if fits(text):
                        return text
                self._more.clear()
                await self._more.wait()


def user_file(env: dict[str, str]) -> Path:
    path = Path(env["XDG_CONFIG_HOME"]) / "loopline" / "config.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


async def test_a_session_takes_over_what_changed_and_keeps_the_last_good_settings(tmp_path: Path) -> None:
    env = environment(tmp_path / "home")
    project = tmp_path / "project"
    project.mkdir()
    told = Told()
    options = HostOptions(roots=(project,), client="test", flags={"model": "scripted"}, env=env)
    async with host_session(options, observer=told) as hosted:
        decide = hosted.session._parts.terms
        assert decide.policy.decide("command", "shell", "ls").outcome == "ask"
        user_file(env).write_text('approve = "auto"\ntransport = "http"\n[limits]\ncalls = 7\n')
        text = await told.until(lambda text: text.startswith("settings changed"))
        assert "approve is 'auto'" in text and "limits.calls is 7" in text
        assert "transport is 'http' from the next session on" in text
        assert decide.policy.decide("command", "shell", "ls").outcome == "allow"
        assert decide.limits.calls == 7

        user_file(env).write_text('approve = "sometimes"\n')
        text = await told.until(lambda text: "stay in force" in text)
        assert "approve" in text and str(user_file(env)) in text
        assert decide.policy.decide("command", "shell", "ls").outcome == "allow"

        (project / ".loopline").mkdir()
        user_file(env).write_text('approve = "auto"\n')
        (project / ".loopline" / "config.toml").write_text('approve = "never"\ndeny = ["rm *"]\n')
        await told.until(lambda text: "approve is 'never'" in text)
        assert decide.policy.decide("command", "shell", "ls").outcome == "deny"
    assert [severity for severity, text in told.texts if "stay in force" in text] == ["error"]


async def test_rules_of_a_workspace_only_get_tighter_while_a_session_lives(tmp_path: Path) -> None:
    """The agent could have changed them."""
    env = environment(tmp_path / "home")
    rules = tmp_path / "project" / ".loopline" / "config.toml"
    rules.parent.mkdir(parents=True)
    rules.write_text('approve = "never"\ndeny = ["rm *"]\n')
    told = Told()
    options = HostOptions(roots=(tmp_path / "project",), client="test", flags={"model": "scripted"}, env=env)
    async with host_session(options, observer=told) as hosted:
        policy = hosted.session._parts.terms
        for text in ('deny = ["ls *"]\n', ""):
            told.texts.clear()
            rules.write_text(text)
            await told.until(lambda text: "hold to the end of this session" in text)
            assert policy.policy.decide("command", "shell", "rm x").rule == "deny rule 'rm *'"
            assert policy.policy.decide("command", "shell", "make").rule == "approve=never"
        assert policy.policy.decide("command", "shell", "ls x").rule == "deny rule 'ls *'", "tighter counts at once"
    async with host_session(options, observer=told) as hosted:
        assert hosted.session._parts.terms.policy.decide("command", "shell", "rm x").outcome == "ask"


def loaded(tmp_path: Path, rules: str, **flags: object) -> Loaded:
    file = tmp_path / "project" / ".loopline" / "config.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(rules)
    return load(workspace=tmp_path / "project", env={"XDG_CONFIG_HOME": str(tmp_path)}, flags=flags)


def test_rules_hold_also_where_a_flag_says_something_of_the_same_setting(tmp_path: Path) -> None:
    flags = {"deny": ("git push*",), "approve": "never"}
    before = loaded(tmp_path, 'deny = ["rm *"]\napprove = "never"\n', **flags)
    after = reloading.held(before, loaded(tmp_path, "", **{**flags, "approve": "auto"}))
    assert set(after.settings.deny) == {"rm *", "git push*"} and after.settings.approve == "never"
    again = reloading.held(after, loaded(tmp_path, "", **flags))
    assert set(again.settings.deny) == {"rm *", "git push*"}, "to the end of the session"
    loose = loaded(tmp_path, 'approve = "never"\n', approve="auto")
    assert reloading.held(loose, loaded(tmp_path, "", approve="auto")).settings.approve == "auto"


async def test_a_model_that_is_named_while_the_session_lives_counts_from_the_next_turn(tmp_path: Path) -> None:
    env = environment(tmp_path / "home")
    project = tmp_path / "project"
    project.mkdir()
    user_file(env).write_text('model = "scripted"\n')
    told = Told()
    async with host_session(HostOptions(roots=(project,), client="test", env=env), observer=told) as hosted:
        assert (await hosted.session.run_turn("hello")).status == "completed"
        user_file(env).write_text('model = "scripted:slow"\n')
        await told.until(lambda text: "model is 'scripted:slow'" in text)
        assert hosted.session.model == "scripted:slow"


@pytest.mark.parametrize("first", ["the folder", "the folder above it"])
async def test_files_that_do_not_exist_yet_are_seen_when_they_come(tmp_path: Path, first: str) -> None:
    folder = tmp_path / "a" / "b"
    (folder if first == "the folder" else folder.parent).mkdir(parents=True)
    seen = asyncio.Event()
    watch = FileWatch([folder / "config.toml"], seen.set)
    watch.start()
    try:
        async with asyncio.timeout(30):
            while not seen.is_set():
                folder.mkdir(exist_ok=True)
                (folder / "config.toml").write_text("x = 1\n")
                await asyncio.wait([asyncio.ensure_future(seen.wait())], timeout=0.5)
    finally:
        await watch.join()


async def test_other_files_beside_it_change_nothing(tmp_path: Path) -> None:
    changes: list[int] = []
    seen = asyncio.Event()

    def changed() -> None:
        changes.append(1)
        seen.set()

    watch = FileWatch([tmp_path / "config.toml"], changed)
    watch.start()
    try:
        async with asyncio.timeout(30):
            (tmp_path / "other.toml").write_text("x")
            while not seen.is_set():
                (tmp_path / "config.toml").write_text("x = 1\n")
                await asyncio.wait([asyncio.ensure_future(seen.wait())], timeout=0.5)
        assert len(changes) == 1
    finally:
        await watch.join()


async def test_a_watch_ends_soon_and_does_without_a_watching_system(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(folder: Path) -> Path:
        raise OSError(28, "no more watches")

    monkeypatch.setattr(reloading, "_existing", refuse)
    watch = FileWatch([tmp_path / "config.toml"], lambda: None)
    watch.start()
    async with asyncio.timeout(10):
        await watch.join()
    await FileWatch([tmp_path / "x"], lambda: None).join()


def reloader(answers: list[Loaded | Exception]) -> tuple[Reloader, list[Settings], list[str]]:
    applied: list[Settings] = []
    lines: list[str] = []

    def load_next() -> Loaded:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    start = Loaded(settings=Settings(), origins={})
    return Reloader(KeptRules(start), load_next, applied.append, lambda text, wrong: lines.append(text)), applied, lines


def test_the_same_settings_say_nothing_and_a_complaint_is_made_once(tmp_path: Path) -> None:
    file = tmp_path / "loopline" / "config.toml"
    file.parent.mkdir()
    file.write_text("nonsense = 1\n")
    with pytest.raises(Exception) as caught:
        load(env={"XDG_CONFIG_HOME": str(tmp_path)})
    wrong = caught.value
    assert isinstance(wrong, Exception)
    same = Loaded(settings=Settings(), origins={})
    other = Loaded(settings=Settings(max_calls=3, python="python3.12"), origins={})
    subject, applied, lines = reloader([same, wrong, wrong, other, wrong])
    for _ in range(5):
        subject.reload()
    assert applied == [other.settings]
    assert [line.split("; ")[-1].split(": ")[0] for line in lines] == [
        "the settings from before stay in force",
        "settings changed",
        "the settings from before stay in force",
    ]
    assert "python is 'python3.12' from the next session on" in lines[1]


def test_the_files_that_are_watched_are_those_that_are_read(tmp_path: Path) -> None:
    env = {"XDG_CONFIG_HOME": str(tmp_path / "config")}
    for number, file in enumerate(settings_files(env, tmp_path / "ws")):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f'project = "label {number}"\n')
    loaded = load(workspace=tmp_path / "ws", env=env)
    assert loaded.settings.project == "label 2"
    assert loaded.origins["project"].where == str(settings_files(env, tmp_path / "ws")[2])
