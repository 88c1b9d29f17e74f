from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from msgspec import UNSET, Raw, Struct

from agent_core.errors import WireError
from agent_core.wire.codec import MAX_DEPTH, encode, inner_path, plain, present, read, require_sound, to_raw
from agent_core.wire.generated.types import FormatJsonSchema, TextOptions
from agent_core.wire.unknown import UnknownEvent, UnknownItem, UnknownPart


class _Inner(Struct):
    text: str
    extra: dict[str, int] = {}


class _Outer(Struct, tag_field="type", tag="outer"):
    content: list[_Inner]
    any_of: _Inner | str | None = None


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ('{"content":[{"text":1}]}', "input[2].content[0].text"),
        ('{"content":[{"text":"a"},{}]}', "input[2].content[1].text"),
        ('{"content":[null]}', "input[2].content[0]"),
        ("{}", "input[2].content"),
        ('{"content":[],"any_of":3}', "input[2].any_of"),
        ('{"type":"inner","content":[]}', "input[2].type"),
        ('{"type":4,"content":[]}', "input[2].type"),
        ('{"content":[{"text":"a","extra":{"a b":"x"}}]}', "input[2].content[0].extra"),
        ("[]", "input[2]"),
        ("tru", "input[2]"),
        ("", "input[2]"),
        ('{"content":[{"text":"\\ud800"}]}', "input[2]"),
    ],
)
def test_a_misfit_names_its_place(body: str, param: str) -> None:
    with pytest.raises(WireError) as caught:
        read(body, _Outer, "input[2]")
    assert caught.value.param == param
    assert caught.value.code == "invalid_request"
    assert param in caught.value.message


def test_without_a_path_the_place_starts_at_the_field_and_broken_json_has_its_own_code() -> None:
    with pytest.raises(WireError) as caught:
        read('{"content":[{"text":1}]}', _Outer)
    assert (caught.value.code, caught.value.param) == ("invalid_request", "content[0].text")
    with pytest.raises(WireError) as caught:
        read('{"content":', _Outer)
    assert (caught.value.code, caught.value.param) == ("invalid_json", None)
    with pytest.raises(WireError) as caught:
        read("[1]", _Outer)
    assert (caught.value.code, caught.value.param) == ("invalid_request", None)


@pytest.mark.parametrize(
    ("value", "kind", "path"),
    [
        (b'{"a":{"b":[0,"x"]}}', dict[str, dict[str, list[int]]], ""),
        (b'[{"text":"a"},{"text":2}]', list[_Inner], "[1].text"),
        (b'{"format":{"type":"json_schema","name":"n","schema":[]}}', TextOptions, ".format.schema"),
        (b'{"format":{"type":"json_schema","name":"n"}}', TextOptions, ".format.schema"),
        (b'{"format":{"type":"yaml"}}', TextOptions, ".format.type"),
        (b'{"name":"n","schema":{}}', FormatJsonSchema, None),
        (b'{"1":1,"x":1}', dict[int, int], ""),
        (b"3", str, ""),
    ],
)
def test_the_path_is_taken_from_what_msgspec_says(value: bytes, kind: Any, path: str | None) -> None:
    """Fails if an msgspec release words its errors in another way; `inner_path` is the one place to mend then."""
    if path is None:
        msgspec.json.decode(value, type=kind)
        return
    with pytest.raises(msgspec.ValidationError) as caught:
        msgspec.json.decode(value, type=kind)
    assert inner_path(str(caught.value)) == path


def test_the_path_of_a_text_that_holds_backticks_is_still_found() -> None:
    with pytest.raises(msgspec.ValidationError) as caught:
        msgspec.json.decode(b'{"type":"x` - at `$.y`","content":[]}', type=_Outer)
    assert inner_path(str(caught.value)) == ".type"


@pytest.mark.parametrize(
    "body",
    [
        b'{"a":"\xff"}',
        b'{"a":"\\ud800"}',
        b'{"a":NaN}',
        b'{"a":' + b"9" * 5000 + b"}",
        b'{"a":' + b"9" * 30 + b"}",
        b'{"a":-' + b"9" * 20 + b"}",
        b'{"a":1e999}',
        b"[" * 100_000,
        b"[" * 10_000 + b"]" * 10_000,
        b"[" * (MAX_DEPTH + 1) + b"]" * (MAX_DEPTH + 1),
        b'{"a":' * (MAX_DEPTH + 1) + b"0" + b"}" * (MAX_DEPTH + 1),
    ],
    ids=lambda body: str(body[:16]),
)
def test_unsound_values_are_refused(body: bytes) -> None:
    with pytest.raises(WireError) as caught:
        require_sound(body, "tools[0]")
    assert caught.value.param == "tools[0]"


@pytest.mark.parametrize(
    "body",
    [
        b'{"a":18446744073709551615,"b":-9223372036854775808}',
        b"[" * MAX_DEPTH + b"]" * MAX_DEPTH,
        b'"' + b"[{" * 500 + b'"',
        b'["' + b'","'.join([b"1234567890123456789012345"] * 300) + b'"]',
        json.dumps([{"x": [i]} for i in range(500)]).encode(),
    ],
    ids=lambda body: str(body[:16]),
)
def test_sound_values_pass(body: bytes) -> None:
    require_sound(body, "x")
    assert plain(body) == json.loads(body)


def test_unknown_objects_are_written_as_they_came() -> None:
    raw = Raw(b'{"type":"new", "x":[1, 2]}')
    assert encode(UnknownItem("new", raw)) == bytes(raw)
    assert encode([UnknownEvent("new", raw), UnknownPart("new", raw)]) == b"[%b,%b]" % (bytes(raw), bytes(raw))
    with pytest.raises(NotImplementedError):
        encode(object())


def test_unknown_objects_compare_by_kind_and_content() -> None:
    one, two = UnknownItem("a", Raw(b"{}")), UnknownItem("a", Raw(b"{}"))
    assert one == two
    assert hash(one) == hash(two)
    assert one != UnknownItem("b", Raw(b"{}"))
    assert one != UnknownItem("a", Raw(b"[]"))
    assert one != UnknownPart("a", Raw(b"{}"))
    assert "secret" not in repr(UnknownItem("a", Raw(b'{"secret":1}')))


def test_present_tells_absent_and_null_from_a_value() -> None:
    assert not present(UNSET)
    assert not present(None)
    assert not present(Raw(b"null"))
    assert present(Raw(b"[]"))
    assert bytes(to_raw({"a": None})) == b'{"a":null}'
