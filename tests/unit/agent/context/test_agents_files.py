"""AGENTS.md from the root down to the touched folder, each told once."""

from __future__ import annotations

from pathlib import Path

from agent_core.agent.context.agents_files import AgentsFiles
from agent_core.agent.context.fragments import MAX_TOKENS, tokens_of


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def test_the_root_speaks_first_and_folders_when_they_are_touched(tmp_path: Path) -> None:
    root = tmp_path / "app"
    write(root / "AGENTS.md", "root rules")
    write(root / "src" / "AGENTS.md", "src rules")
    write(root / "src" / "deep" / "er" / "AGENTS.md", "deep rules")
    files = AgentsFiles([str(root)])
    assert files.of_roots() == ["AGENTS.md of app:\nroot rules"]
    assert files.of_roots() == []
    told = files.on_the_way_to(str(root), "src/deep/er/x.py")
    assert told == ["AGENTS.md of app/src:\nsrc rules", "AGENTS.md of app/src/deep/er:\ndeep rules"]
    assert files.on_the_way_to(str(root), "src/deep/er/x.py") == []


def test_an_untouched_folder_says_nothing(tmp_path: Path) -> None:
    root = tmp_path / "app"
    write(root / "other" / "AGENTS.md", "other rules")
    files = AgentsFiles([str(root)])
    assert files.on_the_way_to(str(root), "src/x.py") == []
    assert files.on_the_way_to(str(root), "other") == ["AGENTS.md of app/other:\nother rules"]


def test_a_link_that_leads_out_of_the_root_is_not_followed(tmp_path: Path) -> None:
    root = tmp_path / "app"
    write(tmp_path / "secret.md", "not yours")
    root.mkdir()
    (root / "AGENTS.md").symlink_to(tmp_path / "secret.md")
    assert AgentsFiles([str(root)]).of_roots() == []


def test_one_file_and_all_together_are_bounded(tmp_path: Path) -> None:
    root = tmp_path / "app"
    for n in range(12):
        write(root / f"f{n}" / "AGENTS.md", "a long rule\n" * 5_000)
    files = AgentsFiles([str(root)])
    told = [text for n in range(12) for text in files.on_the_way_to(str(root), f"f{n}/x")]
    assert len(told) == 12
    assert sum(map(tokens_of, told)) <= MAX_TOKENS["all_agents"] + 12 * 40
    assert "read it if you need it" in told[-1]


def test_what_an_earlier_process_told_is_not_told_again(tmp_path: Path) -> None:
    root = tmp_path / "app"
    write(root / "AGENTS.md", "root rules")
    write(root / "src" / "AGENTS.md", "src rules")
    earlier = AgentsFiles([str(root)])
    texts = ["System: Linux\n\n" + "\n\n".join(earlier.of_roots()), *earlier.on_the_way_to(str(root), "src/x.py")]
    later = AgentsFiles([str(root)])
    later.recall(texts)
    assert later.of_roots() == []
    assert later.on_the_way_to(str(root), "src/x.py") == []


def test_each_root_has_its_own(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write(tmp_path / name / "AGENTS.md", f"rules of {name}")
    files = AgentsFiles([str(tmp_path / "one"), str(tmp_path / "two")])
    assert files.of_roots() == ["AGENTS.md of one:\nrules of one", "AGENTS.md of two:\nrules of two"]
