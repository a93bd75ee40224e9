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
from visualizers.tables import LINE, card, details, dim, more, table

Data = dict[str, Any]
MAX_GROUPS: Final = 40
# What a pixel says: neither, the first alone, the second alone, both.
COLOURS: Final = ((128, 136, 146, 48), (66, 116, 236, 255), (226, 120, 20, 255), (31, 157, 99, 160))
_NAMES: Final = ("neither", "{base} alone", "{other} alone", "both")


def comparison_html(data: Data, masks: Sequence[bytes]) -> str:
    """Tables and pictures only, so that an untrusted notebook keeps them.

    data: what `Comparison.to_dict()` returns; masks: for each of its pairs one byte a token, 0 to 3 as in `COLOURS`.
    """
    heads = ["side", "after", "may follow", "end", "compile ms", "first mask µs", "again µs"]
    body = table(heads, [_side(side) for side in data["sides"]], align="llrlrrr", mono=(1,))
    body += "".join(_pair(pair, mask) for pair, mask in zip(data["pairs"], masks, strict=True))
    return card("Comparison", [], body + "".join(dim(html_escape(note)) for note in data["notes"]))


def _side(side: Data) -> list[str]:
    if side["refusal"]:
        message = html_escape(f"refuses the {side['stage']}: {side['refusal']}")
        return [f"<b>{html_escape(side['side'])}</b>", f'<span style="color:#c0392b">{message}</span>']
    times = (_number(side[name]) for name in ("compile_ms", "first_mask_us", "mask_again_us"))
    end = "yes" if side["may_end"] else "no"
    return [html_escape(side["side"]), html_escape(side["text"] or "nothing"), f"{side['allowed']:,}", end, *times]


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
        f'<img alt="both masks" style="image-rendering:pixelated;max-width:100%;border:1px solid {LINE}" '
        f'src="{data_uri(pair_png(mask, COLOURS))}">'
    )
    legend = dim(f"one pixel a token, by id. {' &nbsp; '.join(keys)}")
    return title + legend + _groups(pair) + details("both masks as a picture", picture)


def _groups(pair: Data) -> str:
    groups = pair["differences"]
    if not groups:
        return ""
    rows = [[html_escape(cell) for cell in _group_cells(group)] for group in groups[:MAX_GROUPS]]
    heads = ["tokens", "allowed by", "part at", "for example", "why, by our engine"]
    return table(heads, rows, align="rllll", mono=(2, 3)) + more(len(groups) - MAX_GROUPS, "groups: to_frame() has all")


def _group_cells(group: Data) -> list[str]:
    count = "the end" if group["kind"] == "end" else f"{group['count']:,}"
    where = f"{group['parts_at']} after {group['after']}" if group["after"] else group["parts_at"]
    examples = "  ".join(example["token"] for example in group["examples"][:5])
    return [count, group["allowed_by"], where, examples, _why(group)]


def _why(group: Data) -> str:
    """Our sentence, with the parts of the source that it is about."""
    places = "; ".join(group["places"])
    return f"{group['why']}{' (in ' if group['ours'] else ' (because: '}{places})" if places else str(group["why"])


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
    A click on a token sets `selection["token"]`.  The browser asks with `{kind: "compare", engine, grammar}`,
    and with `{kind: "present"}` for the present grammar in the box.
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

    def tables_of(self, snapshot: Data) -> str:
        return comparison_html(snapshot, snapshot.get("masks", []))

    def __repr__(self) -> str:
        return f"CompareView({self.status}, {len(self.choices)} engines)"
