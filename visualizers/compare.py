"""Masks side by side: the static display of a comparison, and the live panel that asks for one.

A comparison comes as plain data (`workbench.comparing.Comparison.to_dict()`), with one picture for each pair of sides:
one pixel a token, its colour says which of the two allows it.

Read on: `frontend/src/compare.js` (the browser's side), `visualizers/png.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import traitlets as t

from visualizers.glyphs import html_escape
from visualizers.live_base import LiveView, Traits, synced
from visualizers.png import data_uri, pair_png

__all__ = ["CompareView", "comparison_html"]

Data = dict[str, Any]
MAX_GROUPS: Final = 40
_LINE: Final = "rgba(128,136,146,0.35)"
_CELL: Final = f"padding:2px 10px 2px 0;text-align:left;vertical-align:top;border-bottom:1px solid {_LINE}"
_NUMBER: Final = f"padding:2px 10px 2px 0;text-align:right;vertical-align:top;border-bottom:1px solid {_LINE}"
_MUTED: Final = "opacity:0.7;font-size:90%"
# What a pixel says: neither, the first alone, the second alone, both.
COLOURS: Final = ((128, 136, 146, 48), (66, 116, 236, 255), (226, 120, 20, 255), (31, 157, 99, 160))
_NAMES: Final = ("neither", "{base} alone", "{other} alone", "both")


def comparison_html(data: Data, masks: Sequence[bytes]) -> str:
    """Tables and pictures only, so that an untrusted notebook keeps them.

    data: what `Comparison.to_dict()` returns; masks: for each of its pairs one byte a token, 0 to 3 as in `COLOURS`.
    """
    parts = [_sides(data)]
    for pair, mask in zip(data["pairs"], masks, strict=True):
        parts.append(_pair(pair, mask))
    notes = [*data["notes"]]
    parts.append("".join(f'<div style="{_MUTED}">{html_escape(note)}</div>' for note in notes))
    return f'<div style="max-width:1100px">{"".join(parts)}</div>'


def _sides(data: Data) -> str:
    head = _row(
        ["side", "after", "may follow", "end", "compile ms", "first mask µs", "again µs"],
        tag="th",
        numbers={2, 4, 5, 6},
    )
    rows = []
    for side in data["sides"]:
        if side["refusal"]:
            message = f"refuses the {side['stage']}: {side['refusal']}"
            rows.append(
                f'<tr><td style="{_CELL}"><b>{html_escape(side["side"])}</b></td>'
                f'<td style="{_CELL};color:#c0392b" colspan="6">{html_escape(message)}</td></tr>'
            )
            continue
        cells = [
            side["side"],
            side["text"] or "nothing",
            f"{side['allowed']:,}",
            "yes" if side["may_end"] else "no",
            *(_number(side[name]) for name in ("compile_ms", "first_mask_us", "mask_again_us")),
        ]
        rows.append(_row(cells, numbers={2, 4, 5, 6}))
    return f'<table style="border-collapse:collapse">{head}{"".join(rows)}</table>'


def _pair(pair: Data, mask: bytes) -> str:
    base, other = pair["base"], pair["other"]
    verdict = "agree" if pair["agree"] else "differ"
    title = f'<p style="margin:12px 0 4px"><b>{html_escape(base)} and {html_escape(other)} {verdict}</b></p>'
    counts = (pair["neither"], pair["only_base"], pair["only_other"], pair["both"])
    keys = []
    for name, count, colour in zip(_NAMES, counts, COLOURS, strict=True):
        swatch = f'<span style="background:rgba({_rgba(colour)})">&nbsp;&nbsp;&nbsp;</span>'
        keys.append(f"{swatch} {html_escape(name.format(base=base, other=other))}: {count:,}")
    picture = (
        f'<img alt="both masks" style="image-rendering:pixelated;max-width:100%;border:1px solid {_LINE}" '
        f'src="{data_uri(pair_png(mask, COLOURS))}">'
    )
    legend = f'<div style="{_MUTED}">one pixel a token, by id. {" &nbsp; ".join(keys)}</div>'
    details = f'<details style="margin:4px 0"><summary>both masks as a picture</summary>{picture}</details>'
    return title + legend + _groups(pair) + details


def _groups(pair: Data) -> str:
    groups = pair["differences"]
    if not groups:
        return ""
    head = _row(["tokens", "allowed by", "part at", "for example", "why, by our engine"], tag="th", numbers={0})
    rows = [_row(_group_cells(group), numbers={0}, mono={2, 3}) for group in groups[:MAX_GROUPS]]
    more = len(groups) - MAX_GROUPS
    if more > 0:
        rows.append(f'<tr><td style="{_CELL}" colspan="5">and {more:,} more groups: to_frame() has all</td></tr>')
    return f'<table style="border-collapse:collapse;margin-top:6px">{head}{"".join(rows)}</table>'


def _group_cells(group: Data) -> list[str]:
    count = "the end" if group["kind"] == "end" else f"{group['count']:,}"
    where = f"{group['parts_at']} after {group['after']}" if group["after"] else group["parts_at"]
    examples = "  ".join(example["token"] for example in group["examples"][:5])
    return [count, group["allowed_by"], where, examples, _why(group)]


def _why(group: Data) -> str:
    """Our sentence, with the parts of the source that it is about."""
    places = "; ".join(group["places"])
    return f"{group['why']}{' (in ' if group['ours'] else ' (because: '}{places})" if places else str(group["why"])


def _row(cells: Sequence[str], tag: str = "td", numbers: set[int] | None = None, mono: set[int] | None = None) -> str:
    made = []
    for number, cell in enumerate(cells):
        style = _NUMBER if number in (numbers or ()) else _CELL
        if number in (mono or ()):
            style += ";font-family:monospace;word-break:break-all;max-width:260px"
        made.append(f'<{tag} style="{style}">{html_escape(cell)}</{tag}>')
    return f"<tr>{''.join(made)}</tr>"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:,.3g}" if value < 1000 else f"{value:,.0f}"


def _rgba(colour: tuple[int, int, int, int]) -> str:
    red, green, blue, alpha = colour
    return f"{red},{green},{blue},{alpha / 255:.2f}"


class CompareView(LiveView[Data]):
    """The mask here beside that of another engine, other options or another grammar, which the person chooses.

    `choices` are the engines ({"id", "label"}; with what is `missing` where one cannot be asked); `chosen` is the id
    that was asked last; `other_text` a second grammar's text ("" for the same grammar).  `result` is the comparison's
    data, `status` says what happens:
    "idle", "busy", "done", "stale" (the place has changed since) or "error", with its message in `note`.
    A click on a token sets `selection["token"]`.  The browser asks with `{type: "compare", engine, grammar}`,
    and with `{type: "present"}` for the present grammar in the box.
    """

    _module = "compare"
    _height = 320

    choices = synced(t.List())
    chosen = synced(t.Unicode(""))
    other_text = synced(t.Unicode(""))
    selection = synced(t.Dict())
    result = synced(t.Dict())
    picture = synced(t.Unicode(""))
    status = synced(t.Unicode("idle"))
    note = synced(t.Unicode(""))

    def __init__(self, choices: Sequence[Data] = ()) -> None:
        super().__init__()
        self.choices = list(choices)
        self._masks: list[bytes] = []

    def traits_of(self, snapshot: Data) -> Traits:
        """A comparison's data with `masks`, the bytes of the picture of each pair."""
        masks = snapshot.get("masks", [])
        picture = data_uri(pair_png(masks[0], COLOURS)) if masks else ""
        result = {name: value for name, value in snapshot.items() if name != "masks"}
        return {"result": result, "picture": picture, "status": "done", "note": ""}

    def static_html(self) -> str:
        if not self._shown:
            return "<i>nothing compared yet</i>"
        return comparison_html(self._shown, self._shown.get("masks", []))

    def __repr__(self) -> str:
        return f"CompareView({self.status}, {len(self.choices)} engines)"
