"""Bytes as text that a person can read and a machine can read back.

A space is `␣`; a byte that is not part of printable text is `⟨0x0A⟩`; a code point that does not print is
`⟨U+200B⟩`, and so are the three signs used here when they occur themselves.  The writing is injective: different
bytes never look the same, and `parse` is the exact inverse of `glyph`.

Read on: `visualizers/tokens.py` (glyphs of a whole vocabulary), `visualizers/dot.py`.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

SPACE: Final = "␣"
OPEN: Final = "⟨"
CLOSE: Final = "⟩"
DOT: Final = "•"
STOP_TOKEN: Final = "stop token"
"""What a token that ends the text is called wherever tokens are shown: it writes no text of its own."""
_RESERVED: Final = frozenset((SPACE, OPEN, CLOSE))
_ESCAPE: Final = re.compile("⟨(?:0x([0-9A-F]{2})|U\\+([0-9A-F]{4,6}))⟩")
_LATIN_END: Final = 0x250
_SHORT: Final = {0x09: "\\t", 0x0A: "\\n", 0x0D: "\\r"}
_BOUNDS: Final = re.compile(r"\{\d*,\d*\}'*$")
_NEXT_RULE: Final = re.compile(r"(?:\s*\n|\s{2,})(?=[\w.-][^\s\"']* ::= )")
_NOT_XML: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


def glyph(data: bytes) -> str:
    """`data` as one line of printable text: UTF-8 where it is UTF-8, `⟨0xHH⟩` where it is not."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return "".join(_pieces(data))
    if text.isprintable() and _RESERVED.isdisjoint(text):
        return text.replace(" ", SPACE)
    return "".join(map(_character, text))


def parse(text: str) -> bytes:
    """The bytes that `glyph` writes as `text`.  A plain space stands for itself, as does any unpaired `⟨`."""
    out = bytearray()
    position = 0
    for match in _ESCAPE.finditer(text):
        out += text[position : match.start()].replace(SPACE, " ").encode(errors="surrogatepass")
        byte, point = match.groups()
        if byte is not None:
            out.append(int(byte, 16))
        elif (value := int(point, 16)) <= 0x10FFFF:
            out += chr(value).encode(errors="surrogatepass")
        else:
            raise ValueError(f"{match.group()} at character {match.start()} is no code point: the last is U+10FFFF")
        position = match.end()
    out += text[position:].replace(SPACE, " ").encode(errors="surrogatepass")
    return bytes(out)


def box_text(data: bytes) -> str:
    """`data` for a text box, of which `parse` is the inverse: newlines, tabs and spaces as they are, bytes that are no
    text as `⟨0xHH⟩`."""
    shown = glyph(data).replace(SPACE, " ")
    return shown.replace("⟨0x0A⟩", "\n").replace("⟨0x09⟩", "\t")


def _character(character: str) -> str:
    if character == " ":
        return SPACE
    if character.isprintable() and character not in _RESERVED:
        return character
    code = ord(character)
    return f"⟨0x{code:02X}⟩" if code < 0x80 else f"⟨U+{code:04X}⟩"


def _pieces(data: bytes) -> Iterable[str]:
    """Glyphs of bytes that are not UTF-8 throughout: the longest valid runs as text, the rest byte by byte."""
    position = 0
    while position < len(data):
        try:
            yield from map(_character, data[position:].decode())
            return
        except UnicodeDecodeError as error:
            yield from map(_character, data[position : position + error.start].decode())
            for byte in data[position + error.start : position + error.end]:
                yield f"⟨0x{byte:02X}⟩"
            position += error.end


def byte_class(ranges: Iterable[tuple[int, int]]) -> str:
    """Inclusive byte ranges as a compact class: `"a"`, `[0-9A-F]`, `[^"\\\\]`, `[⟨0x80⟩-⟨0xBF⟩]`, `[\\t\\n␣]`, `any`.

    The complement is written when more than half of the 256 bytes are in.  Raises `ValueError` for a range that is
    not within 0..255 or runs backwards.
    """
    members = bytearray(256)
    for first, last in ranges:
        if not 0 <= first <= last <= 255:
            raise ValueError(f"byte range {first}..{last} is not an ascending pair within 0..255")
        members[first : last + 1] = b"\x01" * (last - first + 1)
    count = sum(members)
    if count == 0:
        return "[]"
    if count == 256:
        return "any"
    if count > 128:
        return f"[^{_ranges(members, 0)}]"
    written = _ranges(members, 1)
    if count == 1:
        return _single(members.index(1))
    return f"[{written}]"


FEW: Final = 4
"""So many signs beside each other are written one by one."""


def _ranges(members: bytearray, wanted: int) -> str:
    pieces: list[str] = []
    byte = 0
    while byte < 256:
        if members[byte] != wanted:
            byte += 1
            continue
        last = byte
        while last < 255 and members[last + 1] == wanted:
            last += 1
        signs = all(0x20 < value < 0x7F and not chr(value).isalnum() for value in range(byte, last + 1))
        if last - byte < FEW and (signs or last - byte < 2):  # `)-+` would hide the asterisk
            pieces += map(_byte, range(byte, last + 1))
        else:
            pieces.append(f"{_byte(byte)}-{_byte(last)}")
        byte = last + 1
    # `[1-46-9]` would read as 1 to 46: digits stand apart (a blank that is a member is written ␣).
    return re.sub(r"(?<=\d)(?<=-\d)(?=\d)|(?<=\d)(?=\d-)", " ", "".join(pieces))


def _single(byte: int) -> str:
    """One byte, in quotes where it prints: a lone comma or dot would get lost beside an arrow."""
    if not 0x20 < byte < 0x7F:
        return _character(chr(byte)) if byte < 0x80 else _byte(byte)
    return "'\"'" if byte == 0x22 else f'"{chr(byte)}"'


def _byte(byte: int) -> str:
    if byte == 0x20:
        return SPACE
    if not 0x20 < byte < 0x7F:
        return _SHORT.get(byte) or f"⟨0x{byte:02X}⟩"
    character = chr(byte)
    return f"\\{character}" if character in "\\]^-" else character


def character_class(ranges: Iterable[tuple[int, int]]) -> str:
    """Inclusive ranges of code points as a class: `a`, `[0-9A-F]`, `[^"\\\\]`, `[а-яё]`, `any character`.

    One code point is written as `glyph` writes it.  The complement is written when it is shorter.
    """
    members = list(ranges)
    if len(members) == 1 and members[0][0] == members[0][1]:
        return _character(chr(members[0][0]))
    missing, at = [], 0
    for first, last in members:
        if at < first and (at, first - 1) != (0xD800, 0xDFFF):
            missing.append((at, first - 1))
        at = last + 1
    if at <= 0x10FFFF:
        missing.append((at, 0x10FFFF))
    if not missing:
        return "any character"
    if sum(last - first + 1 for first, last in members) > 0x88000:
        return f"[^{_class(missing)}]"
    return f"[{_class(members)}]"


def _class(ranges: list[tuple[int, int]]) -> str:
    pieces = []
    for first, last in ranges:
        # A range from one script into another has ends that nobody wrote, where UTF-8 takes other bytes: rare signs
        # that hardly a font has.
        plain = _script(first) == _script(last)
        pieces.append(_in_class(first, plain))
        if last > first:
            pieces.append(("-" if last > first + 1 else "") + _in_class(last, plain))
    return "".join(pieces)


def _script(code: int) -> str:
    """The script of a code point, as far as names tell: "CYRILLIC", "CJK"; "" for one that has no name."""
    return unicodedata.name(chr(code), "").partition(" ")[0].partition("-")[0]


def _in_class(code: int, plain: bool) -> str:
    """A code point within a class; what does not print is written as in a grammar, so that the class stays short.

    `plain`: one may write signs past the Latin ones as they are.
    """
    if code in _SHORT:
        return _SHORT[code]
    character = chr(code)
    if character in "\\]^-":
        return f"\\{character}"
    if character == " ":
        return SPACE
    if character.isprintable() and character not in _RESERVED and (plain or code < _LATIN_END):
        return character
    return f"\\x{code:02X}" if code < 0x100 else f"\\u{{{code:X}}}"


def clip(text: str, width: int) -> str:
    """`text` in at most `width` characters; `…` marks the cut."""
    return text if len(text) <= width else text[: max(0, width - 1)] + "…"


def many(count: int, what: str) -> str:
    """`3 tokens`, `1 token`."""
    return f"{count:,} {what}" + "s" * (count != 1)


def size(count: float) -> str:
    """A number of bytes for a person, in binary units (1 KiB is 1,024 bytes); as `bytes` in `common.js`."""
    if count < 1024:
        return f"{round(count):,} B"
    return f"{count / 1024:.1f} KiB" if count < 1 << 20 else f"{count / (1 << 20):.1f} MiB"


def columns(text: str) -> int:
    """How many columns `text` takes in a monospace font: East Asian wide characters count two, marks none."""
    return len(text) if text.isascii() else sum(map(_width, text))


@lru_cache(4096)
def _width(character: str) -> int:
    return 0 if unicodedata.combining(character) else 2 if unicodedata.east_asian_width(character) in "WF" else 1


def html_escape(text: str) -> str:
    """`text` for HTML and XML, attributes included; what XML cannot hold becomes U+FFFD."""
    return html.escape(_NOT_XML.sub("\ufffd", text), quote=True)


def dot_quote(text: str) -> str:
    """`text` as a quoted DOT string that is shown literally: backslashes, quotes and entities mean nothing."""
    text = _NOT_XML.sub("\ufffd", text)
    text = text.replace("\\", "\\\\").replace('"', '\\"').replace("&", "&amp;")
    return '"' + text.replace("\r", "\ufffd").replace("\n", "\\n") + '"'


def written_name(rule: str) -> str:
    """The name that a rule of the engine was written with; repetitions that it counts are called `ws{0,8}`."""
    return _BOUNDS.sub("", rule)


def split_rules(dotted: str) -> list[str]:
    """The dotted rules of one state, which the engine writes beside each other, as a list."""
    return [rule.strip() for rule in _NEXT_RULE.split(dotted)]


def split_dot(dotted: str) -> tuple[str, str] | None:
    """One dotted rule cut at its dot, or None without one.  A `•` inside a quoted literal or a class is not the dot.

    The engine cuts long rules, so a quote may lack its partner; then a `•` that is the only one is the dot.
    """
    quote = ""
    position = 0
    while position < len(dotted):
        character = dotted[position]
        if quote:
            if character == "\\":
                position += 1
            elif character == quote:
                quote = ""
        elif character in "\"'":
            quote = character
        elif character == "[":
            quote = "]"
        elif character == DOT:
            return dotted[:position].rstrip(), dotted[position + 1 :].lstrip()
        position += 1
    if dotted.count(DOT) == 1:
        before, _, after = dotted.partition(DOT)
        return before.rstrip(), after.lstrip()
    return None
