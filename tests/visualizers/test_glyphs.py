"""Bytes as readable text: nothing gets lost, nothing escapes into HTML or DOT."""

from __future__ import annotations

import re
import subprocess
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from visualizers.glyphs import (
    byte_class,
    character_class,
    clip,
    columns,
    dot_quote,
    glyph,
    html_escape,
    parse,
    split_dot,
    split_rules,
)

anything = st.binary(max_size=40) | st.text(max_size=20).map(lambda text: text.encode(errors="surrogatepass"))
hostile = st.text(max_size=30) | st.text("<>&\"'\\\n{}|[]N;:%`$#", max_size=12)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"plain", "plain"),
        (b" the", "␣the"),
        (b"a\nb", "a⟨0x0A⟩b"),
        ("é漢".encode(), "é漢"),
        ("漢".encode()[:2], "⟨0xE6⟩⟨0xBC⟩"),
        (b"\xffok", "⟨0xFF⟩ok"),
        ("\u200b".encode(), "⟨U+200B⟩"),
        ("\u202e".encode(), "⟨U+202E⟩"),
        ("␣⟨".encode(), "⟨U+2423⟩⟨U+27E8⟩"),
        (b"", ""),
    ],
)
def test_glyphs_are_what_the_page_says(data: bytes, text: str) -> None:
    assert glyph(data) == text


@given(anything)
@settings(max_examples=400)
def test_parse_undoes_glyph_and_glyphs_print(data: bytes) -> None:
    text = glyph(data)
    assert parse(text) == data
    assert text.isprintable()
    assert " " not in text


def test_parse_takes_text_as_a_person_types_it() -> None:
    assert parse("a b⟨0x0A⟩") == b"a b\n"
    assert parse("⟨ not an escape") == "⟨ not an escape".encode()
    with pytest.raises(ValueError, match=r"character 1 is no code point"):
        parse("x⟨U+110000⟩")


def _members(text: str) -> set[int]:
    """What `byte_class` wrote, read by Python's own regular expressions."""
    if text == "any":
        return set(range(256))
    if text == "[]":
        return set()
    if text[0] in "\"'" and len(text) == 3:
        return {ord(text[1])}
    pattern = text.replace("␣", " ")
    pattern = re.sub("⟨0x(..)⟩", r"\\x\1", pattern)
    if pattern.startswith("["):
        head = "[^" if pattern.startswith("[^") else "["
        pattern = head + pattern[len(head) : -1].replace("[", "\\[") + "]"
    compiled = re.compile(pattern.encode("latin-1"), re.DOTALL)
    return {byte for byte in range(256) if compiled.fullmatch(bytes([byte]))}


pairs = st.lists(st.integers(0, 255), min_size=2, max_size=2).map(lambda ends: (min(ends), max(ends)))


@given(st.lists(pairs, max_size=5))
@settings(max_examples=300)
def test_byte_classes_say_exactly_their_bytes(ranges: list[tuple[int, int]]) -> None:
    wanted = {byte for first, last in ranges for byte in range(first, last + 1)}
    assert _members(byte_class(ranges)) == wanted


@pytest.mark.parametrize(
    ("ranges", "text"),
    [
        ([(0x61, 0x61)], '"a"'),
        ([(0x22, 0x22)], "'\"'"),
        ([(0x0A, 0x0A)], "⟨0x0A⟩"),  # as a token's text is written, in the same panel
        ([(0xC3, 0xC3)], "⟨0xC3⟩"),
        ([(0x30, 0x39), (0x41, 0x46)], "[0-9A-F]"),
        ([(0x20, 0x21), (0x23, 0x5B), (0x5D, 0xFF)], '[^⟨0x00⟩-⟨0x08⟩\\t\\n⟨0x0B⟩⟨0x0C⟩\\r⟨0x0E⟩-⟨0x1F⟩"\\\\]'),
        ([(9, 10), (13, 13), (32, 32)], "[\\t\\n\\r␣]"),
        ([(0x31, 0x34), (0x36, 0x39)], "[1-4 6-9]"),
        ([(0x29, 0x2B), (0x30, 0x39)], "[)*+0-9]"),  # a range of signs hides those in the middle
        ([(0x2B, 0x2E)], "[+,\\-.]"),
        ([(0x21, 0x2F)], "[!-/]"),
    ],
)
def test_byte_classes_are_compact(ranges: list[tuple[int, int]], text: str) -> None:
    expected = text.replace("⟨0x08⟩\\t\\n⟨0x0B⟩⟨0x0C⟩\\r⟨0x0E⟩-", "") if "⟨0x00⟩" in text else text
    assert byte_class(ranges) == expected


@pytest.mark.parametrize("pair", [(-1, 3), (5, 4), (0, 256)])
def test_bad_byte_ranges_are_refused(pair: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="not an ascending pair"):
        byte_class([pair])


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.text = ""
        self.attributes: list[tuple[str, str | None]] = []
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.text += data


@given(hostile)
@settings(max_examples=300)
def test_escaped_text_is_text_for_html_and_xml(text: str) -> None:
    escaped = html_escape(text)
    reader = _Reader()
    reader.feed(f'<b title="{escaped}">{escaped}</b>')
    reader.close()
    assert reader.tags == ["b"]
    wanted = re.sub("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]", "\ufffd", text)
    assert reader.text == wanted
    assert reader.attributes == [("title", wanted)]
    assert "".join(ET.fromstring(f"<b>{escaped}</b>".replace("\r", "&#13;")).itertext()) == wanted


@pytest.mark.usefixtures("dot")
@given(st.lists(hostile, min_size=20, max_size=20))
@settings(max_examples=12, deadline=None)
def test_dot_shows_quoted_text_literally(labels: list[str]) -> None:
    source = "digraph {" + "".join(f'n{i} [id="n{i}", label={dot_quote(text)}];' for i, text in enumerate(labels)) + "}"
    done = subprocess.run(["dot", "-Tsvg"], input=source.encode(), capture_output=True, timeout=20, check=True)
    space = "{http://www.w3.org/2000/svg}"
    shown = {
        group.get("id"): [node.text or "" for node in group.iter(f"{space}text")]
        for group in ET.fromstring(done.stdout).iter(f"{space}g")
    }
    for i, text in enumerate(labels):
        clean = re.sub("[\x00-\x08\x0b-\x1f\x7f-\x9f\ufffe\uffff]", "\ufffd", text)
        wanted = [line.replace("\xa0", " ").strip() for line in clean.split("\n")]
        got = [line.replace("\xa0", " ").strip() for line in shown[f"n{i}"]]
        # Graphviz leaves out empty lines of text.
        assert [line for line in got if line] == [line for line in wanted if line]


def test_split_dot_knows_a_quoted_dot() -> None:
    assert split_dot('a ::= "[" • b') == ('a ::= "["', "b")
    assert split_dot('a ::= "•" • b') == ('a ::= "•"', "b")
    assert split_dot("a ::= [•x] • b") == ("a ::= [•x]", "b")
    assert split_dot('a ::= "\\"" • b') == ('a ::= "\\""', "b")
    assert split_dot("a ::= b") is None
    # The engine cuts long rules, here inside a quoted literal.
    assert split_dot('a ::= … tail" "x" • b') == ('a ::= … tail" "x"', "b")


def test_split_rules_keeps_spaces_in_literals() -> None:
    assert split_rules('a ::= • "x"   b ::= "   " • c') == ['a ::= • "x"', 'b ::= "   " • c']
    assert split_rules("a ::= •\nb ::= •") == ["a ::= •", "b ::= •"]
    assert split_rules("just text") == ["just text"]


def test_classes_name_the_ends_that_nobody_wrote() -> None:
    assert character_class([(0x20, 0x21), (0x23, 0x5B), (0x5D, 0x7FF)]) == "[␣!#-[\\]-\\u{7FF}]"
    assert character_class([(0x800, 0xFFFF)]) == "[\\u{800}-\\u{FFFF}]"
    assert character_class([(0x10000, 0x10FFFF)]) == "[^\\x00-\\u{FFFF}]"
    assert character_class([(0x430, 0x44F), (0x451, 0x451)]) == "[а-яё]"
    assert character_class([(0x4E00, 0x9FA5)]) == "[一-龥]"
    assert character_class([(0x20, 0x7F), (0x840, 0x1FFFF)]) == "[␣-\\x7F\\u{840}-\\u{1FFFF}]"
    assert character_class([(0x41, 0x5A), (0x7C0, 0xFFF)]) == "[A-Z\\u{7C0}-\\u{FFF}]", "no font has both"
    assert character_class([(0xE000, 0xE001), (0x378, 0x378)]) == "[\\u{E000}\\u{E001}\\u{378}]"


def test_clip_and_columns() -> None:
    assert clip("abcdef", 4) == "abc…"
    assert clip("abcd", 4) == "abcd"
    assert columns("a漢e\u0301") == 4
