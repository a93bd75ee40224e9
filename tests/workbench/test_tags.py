"""The tags that may still come, and what ends the open one."""

from __future__ import annotations

from typing import Any

import pytest

from tests.workbench.test_provenance import INFO, TAG, TOOLS, at
from workbench.explorer.dashboard import Dashboard
from workbench.panels.triggers import TriggersPanel
from workbench.provenance import reader_of, tags
from workbench.provenance.tags import all_tags
from workbench.screen.gallery import GALLERY
from workbench.session import Session


@pytest.mark.parametrize(
    ("text", "ahead", "ends"),
    [
        ("", [("<f=a>", "<f=a>"), ("<f=b>", "<f=b>")], []),
        ("hi <", [("<f=a>", "f=a>"), ("<f=b>", "f=b>")], []),
        ("hi <f=", [("<f=a>", "a>"), ("<f=b>", "b>")], []),
        ("hi <f=b", [("<f=b>", ">")], []),
        ('hi <f=a>{"city": "Lu', [], [("<f=a>", ("</f>",), 0)]),
        ("hi <f=b>12", [], [("<f=b>", ("</f>", "<!>"), 0)]),
        ("hi <f=b>12</", [], [("<f=b>", ("</f>", "<!>"), 2)]),
        ("hi <f=b>12</f>", [("<f=a>", "<f=a>"), ("<f=b>", "<f=b>")], []),
    ],
)
def test_tags_ahead_and_their_ends(
    text: str, ahead: list[tuple[str, str]], ends: list[tuple[str, tuple[str, ...], int]]
) -> None:
    session = at(TAG, text)
    found = tags(session.inspect)
    assert [(one.name, one.rest) for one in found.ahead] == ahead
    assert [(one.name, one.ends, one.read) for one in found.ends] == ends
    for one in found.ahead:
        assert session.inspect.matcher.fork().accept_string(one.rest)
        assert one.begin.encode().endswith(one.rest.encode())
    for open_tag in found.ends:
        assert open_tag.pointer.startswith("#/format/tags/")


def test_tools_by_their_names() -> None:
    found = tags(at(TOOLS, '<tool_call>\n{"name": "get_').inspect)
    assert [one.name for one in found.ahead] == ["get_weather", "get_time"]
    found = tags(at(TOOLS, '<tool_call>\n{"name": "get_t').inspect)
    assert [(one.name, one.pointer) for one in found.ahead] == [("get_time", "#/1")]
    inside = tags(at(TOOLS, '<tool_call>\n{"name": "get_time", "arguments": {').inspect)
    assert [one.name for one in inside.ends] == ["get_time"]
    assert not inside.ahead
    assert "get_time ends with }" in str(inside)
    assert not tags(at('root ::= "a"', "").inspect).ahead


def test_all_tags_of_a_source_with_their_ends() -> None:
    found = all_tags(reader_of(at(TAG, "").inspect))
    assert [(one.name, one.begin, one.ends) for one in found] == [
        ("<f=a>", "<f=a>", ("</f>",)),
        ("<f=b>", "<f=b>", ("</f>", "<!>")),
    ]
    assert [one.name for one in all_tags(reader_of(at(TOOLS, "").inspect))] == ["get_weather", "get_time"]
    assert all_tags(reader_of(at('root ::= "a"', "").inspect)) == ()


def test_tags_that_begin_in_several_ways_are_one() -> None:
    entry = next(entry for entry in GALLERY if entry.name == "harmony")
    found = all_tags(reader_of(Session(entry.source, INFO).inspect))
    names = [one.name for one in found]
    assert len(names) == len(set(names))
    assert "get_weather" in names


def test_the_panel_names_them() -> None:
    desk = Dashboard(Session(TAG, INFO), [TriggersPanel])
    try:
        desk.show("triggers")
        view: Any = desk.views["triggers"]
        desk.session.seek("hi <f=")
        desk.refresh()
        assert [one["name"] for one in view.tags["ahead"]] == ["<f=a>", "<f=b>"]
        assert view.about["sentence"] == "a tag begins: <f=a> or <f=b>, 3 bytes of it read"
        assert "may still come: &lt;f=a&gt; (missing a&gt;)" in view.static_html()
        desk.session.seek("hi <f=b>1")
        desk.refresh()
        assert view.tags["ends"][0]["ends"] == ["</f>", "<!>"]
        assert view.about["sentence"].startswith("inside")
        assert desk.troubles == {}
    finally:
        desk.close()
