"""What static displays are made of: cards, tables, badges and chips that a notebook keeps without kernel and trust.

An untrusted notebook drops scripts, style sheets, inline SVG, iframes and every inline style that is not a plain
value (`var(...)` too).  So these are tables, inline styles with literal colours, `<details>` and `<img src="data:">`
only, and the colours are half transparent so that they read on white and on black.

Read on: `visualizers/formatters.py` (who displays itself), `visualizers/live_base.py` (`tables_of`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Final

from visualizers.glyphs import clip, html_escape, split_dot, split_rules

MONO: Final = "font-family:monospace"
LINE: Final = "rgba(128,136,146,0.35)"
MAX_DOTS: Final = 6
TINTS: Final = {
    "accepted": (31, 157, 99),
    "uncertain": (214, 148, 20),
    "rejected": (128, 136, 146),
    "stop": (66, 116, 236),
    "active": (66, 116, 236),
    "refused": (210, 70, 60),
}
"""The colour of each kind of token, or of what is done; those that are refused are red."""


def card(title: str, facts: Iterable[str], body: str, end: str = "") -> str:
    """A title with some facts behind it, and what is below; all ready-made HTML."""
    told = "".join(f'<span style="opacity:0.7"> · {fact}</span>' for fact in facts)
    head = f'<div style="padding:2px 0 4px;font-size:13px"><b>{title}</b>{told} {end}</div>'
    return f'<div style="font-size:13px;line-height:1.45;max-width:1100px;text-align:left">{head}{body}</div>'


def details(summary: str, body: str, shown: bool = False) -> str:
    """What a click opens; open from the beginning if it is `shown`."""
    state = " open" if shown else ""
    return f'<details{state}><summary style="font-size:12px;padding:3px 0">{summary}</summary>{body}</details>'


def pre(text: str) -> str:
    """A source in a frame."""
    style = (
        f"{MONO};font-size:12px;line-height:1.45;white-space:pre-wrap;padding:8px 10px;"
        f"border:1px solid {LINE};border-radius:4px"
    )
    return f'<pre style="{style}">{html_escape(text)}</pre>'


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], *, align: str, mono: Collection[int] = ()) -> str:
    """Rows of ready-made HTML; `align` is one of l, r for each column.  A row that is shorter ends in a wide cell."""
    sides = {"l": "left", "r": "right"}
    rule = f"border:none;border-bottom:1px solid {LINE}"

    def style(column: int) -> str:
        face = f"{MONO};" if column in mono else ""
        return (
            f"{face}text-align:{sides[align[column]]};padding:3px 12px 3px 4px;font-size:12px;{rule};vertical-align:top"
        )

    def cell(row: Sequence[str], column: int) -> str:
        wide = f' colspan="{len(align) - column}"' if column + 1 == len(row) < len(align) else ""
        return f'<td{wide} style="{style(column)}">{row[column]}</td>'

    head = "".join(
        f'<th style="text-align:{sides[align[i]]};padding:3px 12px 3px 4px;font-size:12px;font-weight:500;{rule}">'
        f'<span style="opacity:0.65">{name}</span></th>'
        for i, name in enumerate(heads)
    )
    body = "".join(f"<tr>{''.join(cell(row, i) for i in range(len(row)))}</tr>" for row in rows)
    return (
        f'<table style="border-collapse:collapse;border:none;margin:2px 0 6px"><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table>"
    )


def tint(kind: str, alpha: str) -> str:
    """The colour of a kind, as far as it covers."""
    return f"rgba({','.join(map(str, TINTS[kind]))},{alpha})"


def badge(text: str, kind: str) -> str:
    """A word on its colour."""
    style = f"background-color:{tint(kind, '0.18')};border-radius:9px;padding:1px 7px;font-size:11px;white-space:nowrap"
    return f'<span style="{style}">{text}</span>'


def chip(text: str, kind: str, title: str, *, struck: bool = False) -> str:
    """A token or a piece of text on its colour, with more where one points at it."""
    line = "text-decoration:underline wavy;" if struck else ""
    style = (
        f"{MONO};font-size:12px;background-color:{tint(kind, '0.15')};border:1px solid {tint(kind, '0.45')};"
        f"border-radius:3px;padding:1px 4px;{line}white-space:pre"
    )
    return f'<span title="{html_escape(title)}" style="{style}">{html_escape(text)}</span>'


def dim(text: str) -> str:
    """A remark, ready-made HTML."""
    return f'<div style="font-size:12px;opacity:0.7">{text}</div>' if text else ""


def more(count: int, what: str) -> str:
    """How many were left out; nothing for none."""
    return dim(f"{count:,} more {what}") if count > 0 else ""


def dotted_rules(dot: str, width: int | None = None) -> str:
    """The first dotted rules of a state or an item, one a line, each with its dot marked and cut to `width`."""
    rules = split_rules(dot)[:MAX_DOTS]
    return "<br>".join(_dotted(rule if width is None else clip(rule, width)) for rule in rules)


def _dotted(rule: str) -> str:
    parts = split_dot(rule)
    if parts is None:
        return html_escape(rule)
    return f'{html_escape(parts[0])}<b style="color:#4274ec;padding:0 4px">•</b>{html_escape(parts[1])}'
