"""The first screen as a live view: one text, its parts and costs, what may come next and what the model wanted.

The state is plain data made elsewhere (`workbench/screen/state.py`); what a person does comes back as messages, which
`frontend/src/screen.ts` lists.

Read on: `frontend/src/screen.ts`, `workbench/panels/screen.py`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

import traitlets as t

from visualizers.caches import COLOURS as MASK_TINTS
from visualizers.glyphs import html_escape
from visualizers.live_base import LiveView, Traits, synced
from visualizers.tables import MONO, card, table

TINTS: Final = {
    "agreed": "0,158,115", "pushed": "230,159,0", "overruled": "213,94,0", "refused": "179,38,30",
    "forced": "128,136,144",
}  # fmt: skip
LEGEND: Final = ("agreed", "pushed", "overruled", "forced")
HUES: Final = {"free": "138,148,160", "trigger": "180,105,14", "tag": "20,119,74"}
BLOCKS: Final = "▁▂▃▄▅▆▇█"
PLACE: Final = "place"
"""What is below the text at first: the source, what may come next, and what the model wanted."""


class ScreenView(LiveView[Mapping[str, Any]]):
    """`text`: the tokens and parts of the whole text; `here`: the place; `bar`: what can be chosen, and what was.

    `pane` is what is below the text: `PLACE`, or the name of a panel; `hood` is whether all tabs are in sight.
    """

    _module = "screen"
    _height = 720
    _placed = ("here",)
    _given = ("pane",)  # what may come is known only where it is in sight

    text = synced(t.Dict())
    here = synced(t.Dict())
    bar = synced(t.Dict())
    hood = synced(t.Bool(False))
    pane = synced(t.Unicode(PLACE))

    def traits_of(self, snapshot: Mapping[str, Any]) -> Traits:
        return {name: dict(snapshot[name]) for name in ("text", "here", "bar") if name in snapshot}

    def page_state(self) -> Traits:
        return super().page_state() | {"bar": {**self.bar, "recent": []}}  # a page is for others

    def static_html(self) -> str:
        """The screen without a kernel: parts, text, costs, and what may come at the place; no scripts, no classes."""
        tokens, here = self.text.get("tokens", ()), self.here
        if not tokens and not here:
            return ""
        place, spans, bars = here.get("place", 0), [], []
        for number, (text, how, mask, us, told, sure) in enumerate(tokens):
            style = f"background-color:rgba({TINTS[how]},0.22)" if how in TINTS else ""
            if how == "refused":
                style += ";text-decoration:underline wavy #b3261e"
            elif number >= place:
                style += ";opacity:0.5"
            if sure is not None:  # the less sure the model was of the leaf, the stronger
                style += f";border-bottom:2px dotted rgba(128,128,128,{1 - sure:.2f})"
            mark = '<span style="color:#2357d8">▏</span>' if number == place else ""
            mark += "✗" if how == "refused" and (not number or tokens[number - 1][1] != "refused") else ""
            spans.append(f'{mark}<span style="{style}" title="{html_escape(told)}">{html_escape(text)}</span>')
            if mask:
                tall = BLOCKS[min(7, max(0, int((math.log10(max(us, 0.1)) + 1) * 8 / 5)))]
                bars.append(f'<span style="color:{MASK_TINTS[mask]}" title="{html_escape(told)}">{tall}</span>')
        parts = "".join(
            f'<td colspan="{count}" style="text-align:left;background-color:rgba({HUES.get(hue, HUES["tag"])},0.25)">'
            f"{html_escape(name)}</td>"
            for name, hue, count in self.text.get("parts", ())
        )
        legend = " ".join(f'<span style="background-color:rgba({TINTS[how]},0.22)">{how}</span>' for how in LEGEND)
        told = (self.bar.get(key) for key in ("title", "prompt", "speaker", "look"))
        said = [html_escape(str(one)) for one in told if one]
        rows = [(row, "") for row in here.get("next", ())]
        rows += [(row, " ✗ " + str(row["keyword"] or row["why"]).replace("`", "")) for row in here.get("wanted", ())]
        options = [[html_escape(row["shown"]), _shares(row), html_escape(why)] for row, why in rows]
        mono = f"{MONO};white-space:pre-wrap"
        body = (
            f'<table style="width:100%;table-layout:fixed"><tr>{parts}</tr></table>'
            f'<pre style="{mono};font-size:15px;line-height:1.6;margin:4px 0">{"".join(spans)}</pre>'
            f'<div style="font-size:12px">{legend}</div><div style="{mono}">{"".join(bars)}</div>'
        )
        body += table(["what may come, or was wanted", "probability", ""], options, align="lll", mono=(0, 1))
        ends = (str(here.get(key) or "").replace("`", "") for key in ("died", "end"))
        return card("Maskscope", said, body + "".join(f"<div>{html_escape(one)}</div>" for one in ends))

    def __repr__(self) -> str:
        return f"ScreenView({len(self.text.get('tokens', ()))} tokens)"


def _shares(row: Mapping[str, float | None]) -> str:
    before, after = row["before"], row["after"]
    return "" if before is None else f"{100 * before:.1f} % → {100 * (after or 0):.1f} %"
