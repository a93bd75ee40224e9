r"""Unicode properties in regular expressions (`\p{Script=Greek}`, `\p{Emoji}`): those that ECMA-262 names.

General categories come from the running Python.  Scripts and binary properties come from the tables of the package
`regex`, which this engine does not need for anything else: without it they are refused, and the error names it.

Read on: `charset.py` (sets), `regular/classes.py` (who asks).
"""

from __future__ import annotations

import re
from functools import cache

from . import charset
from .charset import Ranges
from .ir import MAX_CODE_POINT

# Binary properties of ECMA-262, each with its short name where it has one.
_BINARY_NAMES = """
    ASCII_Hex_Digit AHex, Alphabetic Alpha, Bidi_Control Bidi_C, Bidi_Mirrored Bidi_M, Case_Ignorable CI, Cased,
    Changes_When_Casefolded CWCF, Changes_When_Casemapped CWCM, Changes_When_Lowercased CWL,
    Changes_When_Titlecased CWT, Changes_When_Uppercased CWU, Dash, Default_Ignorable_Code_Point DI, Deprecated Dep,
    Diacritic Dia, Emoji, Emoji_Component EComp, Emoji_Modifier EMod, Emoji_Modifier_Base EBase,
    Emoji_Presentation EPres, Extended_Pictographic ExtPict, Extender Ext, Grapheme_Base Gr_Base,
    Grapheme_Extend Gr_Ext, Hex_Digit Hex, IDS_Binary_Operator IDSB, IDS_Trinary_Operator IDST, ID_Continue IDC,
    ID_Start IDS, Ideographic Ideo, Join_Control Join_C, Logical_Order_Exception LOE, Lowercase Lower, Math,
    Noncharacter_Code_Point NChar, Pattern_Syntax Pat_Syn, Pattern_White_Space Pat_WS, Quotation_Mark QMark, Radical,
    Regional_Indicator RI, Sentence_Terminal STerm, Soft_Dotted SD, Terminal_Punctuation Term, Unified_Ideograph UIdeo,
    Uppercase Upper, Variation_Selector VS, White_Space space, XID_Continue XIDC, XID_Start XIDS
"""
_BINARY = {name: names.split()[0] for names in _BINARY_NAMES.split(",") for name in names.split()}
# Properties of ECMA-262 whose tables the package does not have.
_WITHOUT_TABLE = frozenset(("Changes_When_NFKC_Casefolded", "CWKCF"))
# Properties of strings: what has them may be several code points, and only the flag v knows them.
_OF_STRINGS = frozenset(
    (
        "Basic_Emoji",
        "Emoji_Keycap_Sequence",
        "RGI_Emoji",
        "RGI_Emoji_Flag_Sequence",
        "RGI_Emoji_Modifier_Sequence",
        "RGI_Emoji_Tag_Sequence",
        "RGI_Emoji_ZWJ_Sequence",
        "RGI_Flag_Sequence",
        "RGI_Modifier_Sequence",
        "RGI_ZWJ_Sequence",
    )
)
_CATEGORY = ("gc", "General_Category")
_SCRIPT = {"sc": "Script", "Script": "Script", "scx": "Script_Extensions", "Script_Extensions": "Script_Extensions"}
_SCRIPT_NAME = re.compile("[A-Z][a-z]+(?:_?[A-Z][a-z]*)*")


class NoProperty(Exception):
    """There is no such property, or its table is not here; the text says which."""


def unicode_property(key: str | None, name: str) -> Ranges:
    """The set of `\\p{name}` or `\\p{key=name}`.  Raises `NoProperty`.  The first call reads all of Unicode (0.3 s)."""
    if key is None or key in _CATEGORY:
        found = charset.general_category(name)
        if found is not None:
            return found
    if key is None and name in _BINARY:
        return _by_library(f"{_BINARY[name]}=Yes")
    if key is None and name in _OF_STRINGS:
        raise NoProperty("this is a property of strings, which only the flag v knows; \\p{Emoji} is one of characters")
    if key is None and name in _WITHOUT_TABLE:
        raise NoProperty("the table of this property is not here")
    if key in _SCRIPT and _SCRIPT_NAME.fullmatch(name):
        return _by_library(f"{_SCRIPT[key]}={name}")
    if key is None and _SCRIPT_NAME.fullmatch(name) and _is_script(name):
        raise NoProperty(f"a script is written \\p{{Script={name}}}")
    raise NoProperty(
        "ECMA-262 has no such property; it has general categories, Script=..., Script_Extensions=..., and binary "
        "properties such as Alphabetic, Emoji and ID_Start"
    )


def _is_script(name: str) -> bool:
    try:
        return bool(_by_library(f"Script={name}"))
    except NoProperty:
        return False


@cache
def _text() -> str:
    return "".join(map(chr, range(MAX_CODE_POINT + 1)))


@cache
def _by_library(said: str) -> Ranges:
    try:
        import regex  # type: ignore[import-untyped]
    except ImportError:
        raise NoProperty("its characters come from the package regex, which is not installed") from None
    try:
        found = regex.compile(rf"\p{{{said}}}+")
    except regex.error:
        raise NoProperty(f"there is no {said.partition('=')[0].lower()} of this name") from None
    return tuple((match.start(), match.end() - 1) for match in found.finditer(_text()))
