"""What of the project is read, and what a look at it says: files, failing tests' own paths, a missing package."""

from __future__ import annotations

import re
from collections.abc import Generator, Sequence

from agent_core.repair.actions import Action, FileText, Hits, Observation, PlanStep, ReadFile, Search
from agent_core.repair.failures import Failure, is_test_path
from agent_core.repair.project import Project

MAX_READS = 4
"""Files read side by side in one step."""
MAX_LINES = 8000
"""Longer files are not read to their end, and so not edited."""


class Reader:
    """Owns what is known of the project: its listing and the texts read so far."""

    def __init__(self) -> None:
        self.project = Project()
        self.listed: tuple[str, ...] = ()

    def read(
        self, paths: Sequence[str], say: str, *beside: Action
    ) -> Generator[PlanStep, tuple[Observation, ...], tuple[Observation, ...]]:
        """Reads whole files one after the other, in pieces where the tool gives no more at once: what is read first is
        seen first. What came of the actions `beside`, which run in the first step."""
        left = [ReadFile(path) for path in dict.fromkeys(paths) if path not in self.project.texts]
        came: tuple[Observation, ...] = ()
        while left or beside:
            now, left = left[:1], left[1:]
            observed = yield PlanStep(say, (*now, *beside))
            came, observed = (observed[len(now) :], observed[: len(now)]) if beside else (came, observed)
            say, beside = "I read on.", ()
            following = [(item.path, self.project.add(item)) for item in observed if isinstance(item, FileText)]
            rest = [ReadFile(path, line) for path, line in following if line is not None and line < MAX_LINES]
            left = [*rest, *left]
        return came

    def named_files(self, failures: Sequence[Failure]) -> list[str]:
        tests = dict.fromkeys(failure.file for failure in failures if failure.file)
        own = dict.fromkeys(
            path for failure in failures for path, _, _ in reversed(failure.frames) if not is_test_path(path)
        )
        return [*list(tests)[:2], *list(own)[:2]]

    def usages(self, names: Sequence[str]) -> Generator[PlanStep, tuple[Observation, ...], Hits]:
        if not names:
            return Hits(())
        pattern = rf"\b({'|'.join(map(re.escape, names))})\b"
        (observed,) = yield PlanStep(
            f"I look where {', '.join(f'`{name}`' for name in names)} are defined and used.", (Search(pattern),)
        )
        return observed if isinstance(observed, Hits) else Hits(())

    def own_paths(self, failures: Sequence[Failure]) -> tuple[Failure, ...]:
        """Frames outside of the project are left out; absolute paths become relative to it."""
        known = {path for path in self.listed if path.endswith(".py")}

        def own(path: str) -> str | None:
            if not path.startswith("/"):
                return path if not path.startswith("<") else None
            parts = path.split("/")
            return next((tail for at in range(1, len(parts)) if (tail := "/".join(parts[at:])) in known), None)

        return tuple(
            Failure(
                item.test,
                item.error,
                item.message,
                tuple((place, line, name) for path, line, name in item.frames if (place := own(path))),
            )
            for item in failures
        )

    def missing_package(self, failures: Sequence[Failure]) -> str | None:
        """The package that all failures miss, if it is none of the project's own."""
        found = [re.search(r"No module named '(\w+)", failure.message) for failure in failures]
        names = {match[1] for match in found if match}
        own = {part.removesuffix(".py") for path in self.listed for part in path.rstrip("/").split("/")}
        return names.pop() if len(names) == 1 and all(found) and not names & own else None

    def imports(self, failures: Sequence[Failure]) -> list[str]:
        """Files of the project that the failing tests' files import, by what the listing shows."""
        found: dict[str, None] = {}
        for failure in failures:
            source = self.project.source(failure.file or "")
            text = source.text if source else ""
            for module in re.findall(r"^\s*(?:from|import)\s+([\w.]+)", text, re.MULTILINE):
                tail = module.replace(".", "/")
                for path in self.listed:
                    if path.removesuffix(".py").removeprefix("src/") in (tail, f"{tail}/__init__") and not is_test_path(
                        path
                    ):
                        found[path] = None
        return list(found)
