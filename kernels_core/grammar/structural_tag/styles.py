"""The XML-like layouts in which models write the arguments of a call: one element for each argument.

Each style is the call format of a family of models.  An element is `front` name `middle` value `back`; what the middle
says depends on the JSON type of the value, where the style tells types apart.

| style | one argument |
| --- | --- |
| qwen_xml | `<parameter=k>v</parameter>` |
| minimax_xml | `<parameter name="k">v</parameter>` |
| minimax_m3_xml | `]<]minimax[>[<k>v]<]minimax[>[</k>`, inside values as well |
| deepseek_xml | `<｜DSML｜parameter name="k" string="true">v</｜DSML｜parameter>` (`false`: JSON) |
| deepseek_v4_1_xml | the same with a blank behind each `｜DSML｜` |
| glm_xml | `<arg_key>k</arg_key><arg_value>v</arg_value>` |
| cohere_xml | `<cofl:value name="k" type="raw">v</cofl:value>` (`json`, `dict`, `list`), inside values as well |
| kimi_k3_xml | `<\\|open\\|>argument key="k" type="string"<\\|sep\\|>v<\\|close\\|>argument<\\|sep\\|>` |

Read on: `elements.py` (who writes them).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

NAME_MARKS = '"<>'
"""Characters that mean something in markers: no name holds them as they are."""
GEMMA_MARK = '<|"|>'
"""What strings stand between in Gemma's style, which has no elements (`gemma_arguments.py`)."""
GEMMA_SPECIAL = ' "<>,:[]{}|'
"""Characters that no name holds there."""
JSON_TYPES = ("string", "number", "boolean", "null", "array", "object")


@dataclass(frozen=True, slots=True)
class Style:
    """How an argument is written.

    front, middles, back: the texts around name and value; a middle and a back may have two parts: blanks may stand
    between those of a middle, and the name stands between those of a back.  `middles` is by JSON type.
    stop: what raw text must not hold, the first thing behind it.
    item: front of an item of an array, where arrays are written as elements; what follows is the middle.
    item_back: the same behind it.
    nested: objects and arrays inside are elements, too, not JSON.
    lines: a line feed directly inside a marker may be layout.
    entities: how characters of names are written.
    integer: the middle of a whole number, where the type of a value is open; "" if it is that of any number.
    """

    front: str
    middles: Mapping[str, tuple[str, ...]]
    back: tuple[str, ...]
    stop: str
    item: str = ""
    item_back: str = ""
    nested: bool = False
    lines: bool = False
    entities: Mapping[str, str] = field(default_factory=dict)
    integer: str = ""


def _same(*middle: str) -> dict[str, tuple[str, ...]]:
    return dict.fromkeys(JSON_TYPES, middle)


def _plain(front: str, middles: Mapping[str, tuple[str, ...]], back: str, *, lines: bool = False) -> Style:
    return Style(front, middles, (back,), stop=back, lines=lines)


def _deepseek(mark: str) -> Style:
    middles = dict.fromkeys(JSON_TYPES, ('" string="false">',)) | {"string": ('" string="true">',)}
    return _plain(f'<{mark}parameter name="', middles, f"</{mark}parameter>")


_MINIMAX_M3 = "]<]minimax[>["
_COHERE = {"string": "raw", "number": "json", "boolean": "json", "null": "json", "array": "list", "object": "dict"}

STYLES: dict[str, Style] = {
    "qwen_xml": _plain("<parameter=", _same(">"), "</parameter>", lines=True),
    "minimax_xml": _plain('<parameter name="', _same('">'), "</parameter>"),
    "minimax_m3_xml": Style(
        f"{_MINIMAX_M3}<",
        _same(">"),
        (f"{_MINIMAX_M3}</", ">"),
        stop=_MINIMAX_M3,
        item=f"{_MINIMAX_M3}<item",
        item_back=f"{_MINIMAX_M3}</item>",
        nested=True,
    ),
    "deepseek_xml": _deepseek("｜DSML｜"),
    "deepseek_v4_1_xml": _deepseek("｜DSML｜ "),
    "glm_xml": _plain("<arg_key>", _same("</arg_key>", "<arg_value>"), "</arg_value>"),
    "cohere_xml": Style(
        '<cofl:value name="',
        {kind: (f'" type="{name}">',) for kind, name in _COHERE.items()},
        ("</cofl:value>",),
        stop="</cofl:value>",
        item="<cofl:value",
        item_back="</cofl:value>",
        nested=True,
        entities={"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"},
    ),
    "kimi_k3_xml": Style(
        '<|open|>argument key="',
        {kind: (f'" type="{kind}"<|sep|>',) for kind in JSON_TYPES},
        ("<|close|>argument<|sep|>",),
        stop="<|close|>argument<|sep|>",
        entities={"&": "&amp;", '"': "&quot;"},
        integer='" type="integer"<|sep|>',
    ),
}
