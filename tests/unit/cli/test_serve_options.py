"""The one table of `serve`'s options: what is made from it fits, and help loads little."""

from __future__ import annotations

import dataclasses
import subprocess
import sys

import msgspec
import pytest

from agent_core.config.serve import OPTIONS, SERVED
from agent_core.config.settings import Settings
from agent_core.responses_server.settings import ServeSettings

LOADED = """
import sys
sys.argv[1:] = {arguments!r}
from agent_core.cli import main
try:
    main()
except SystemExit as end:
    assert not end.code
print(*sorted({{"msgspec", "httpx", "starlette", "websockets", "asyncio"}} & set(sys.modules)), file=sys.stderr)
"""


@pytest.mark.parametrize("arguments", [["--help"], ["serve", "--help"], ["run", "--help"]])
def test_help_loads_no_msgspec(arguments: list[str]) -> None:
    code = LOADED.format(arguments=arguments)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and "Usage" in done.stdout, done.stderr
    assert "msgspec" not in done.stderr.split()


def test_each_row_names_a_field_of_the_settings_it_is_for_once() -> None:
    of_the_service = {field.name: field for field in msgspec.structs.fields(ServeSettings)}
    direct = [option for option in OPTIONS if option.setting is not None]
    assert len({option.setting for option in direct}) == len(direct)
    for option in direct:
        assert option.setting is not None
        assert option.default == of_the_service[option.setting].default, option.flag
    of_files = {field.name for field in dataclasses.fields(Settings)}
    assert {option.field for option in SERVED} == {name for name in of_files if name.startswith("serve_")}
    assert all(option.doc and option.expected and option.default is None for option in SERVED)


@pytest.mark.parametrize("option", [option for option in SERVED if "whole" in option.expected], ids=lambda o: o.flag)
def test_what_a_file_holds_is_parsed_by_the_row(option: object) -> None:
    parse = next(each.parse for each in SERVED if each is option)
    assert parse(3) == parse("3") == 3
    for wrong in (-1, 1.5, True, "x"):
        with pytest.raises(ValueError):
            parse(wrong)
