"""Free text with tags: which part of the text was what, what is watched for, what would fire and what cannot come.

Read on: `kernels_core/inspect/dispatch.py` (`modes`), `frontend/src/triggers.js`, `workbench/panels/triggers.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import traitlets as t

from kernels_core.inspect.dispatch import Modes, Pattern, Segment, TrieNode
from visualizers.dot import BOX, DotError, drawn, graph_dot, line_dot
from visualizers.glyphs import clip, glyph, html_escape
from visualizers.live_base import LiveView, Traits, picked, synced
from visualizers.stack import tail
from visualizers.standalone import Part
from visualizers.tables import badge, card, table

MAX_PATTERNS: Final = 120
STATIC_ROWS: Final = 40
DRAWN: Final = 16  # tags in the diagram
NAME: Final = 32
WIDE: Final = 30  # letters of a line on an arrow
HUES: Final = 5  # `.ms-hue-tag-0` to `-4` in base.css
KINDS: Final = {"tag": "then its content", "stop": "ends free text", "exclude": "cannot come"}
_TINTS: Final = {"free": "rejected", "trigger": "uncertain", "tag": "active", "stop": "uncertain", "plain": "rejected"}


class TriggerView(LiveView[Modes]):
    """`show(modes(matcher))` shows the tags that are open, and the trie with its progress.

    `tags` is what the source knows (`workbench/provenance/tags.py`): the tags `ahead`, and what `ends` the open ones;
    `known` are all its tags: without them the diagram has the grammar's.
    """

    _module = "triggers"
    _height = 360
    _placed = ("about", "stack", "trie", "patterns", "tags")

    about = synced(t.Dict())
    stack = synced(t.List())
    trie = synced(t.List())
    patterns = synced(t.List())
    tags = synced(t.Dict())
    diagram = synced(t.Dict())
    selection = synced(t.Dict())

    def __init__(self) -> None:
        self.known: Sequence[Traits] = []
        super().__init__()

    def part(self) -> Part:
        part = super().part()
        graph = self.diagram.get("dot", "")
        try:
            svg = drawn([graph] if graph else [])
        except DotError:
            return {**part, "needs": ("graphviz",)}
        return {**part, "state": {**part["state"], "diagram": {**self.diagram, "svg": svg.get(graph, "")}}}

    def traits_of(self, snapshot: Modes) -> Traits:
        automaton = snapshot.automaton
        about = picked(snapshot, "position", "mode", "active", "has_dispatch") | {
            "sentence": snapshot.sentence(),
            "hue": hue(snapshot.segments[-1]) if snapshot.segments else "",
        }
        if automaton is not None:
            about |= picked(automaton, "rule", "node", "free", "loop", "omitted") | {
                "patterns": len(automaton.patterns),
                "refused": [glyph(bytes([byte])) for byte in automaton.refused()],
                "otherwise": otherwise(snapshot),
            }
        # The patterns whose ends are drawn, and those in progress, come first.
        order = {} if automaton is None else dict(enumerate(automaton.patterns))
        kept = sorted(order, key=lambda k: (-(order[k].read or 0), k))[:MAX_PATTERNS]
        return {
            "about": about,
            "stack": [picked(tag, "name", "begin", "content", "rule", "returns") for tag in snapshot.stack],
            "trie": [] if automaton is None else [_trie(node) for node in automaton.nodes],
            "patterns": [_pattern(order[k], k) for k in kept],
            "diagram": diagram(
                self.known or _grammar_tags(snapshot), "free text" if snapshot.has_dispatch else "between tags"
            ),
        }

    def tables_of(self, snapshot: Modes) -> str:
        """The text by modes, the tags ahead and what ends the open ones, and the patterns with what each lacks."""
        if not snapshot.has_dispatch:
            return card("Triggers", [], '<i style="font-size:12px">this grammar has no free text with tags</i>')
        parts = [
            [
                f"{one.begin:,}–{one.end:,}",
                badge(one.mode, _TINTS[one.mode]),
                html_escape(self.written(one.label)),
                html_escape(tail(snapshot.matched(one), 60)),
            ]
            for one in snapshot.segments[-STATIC_ROWS:]
        ]
        body = table(["bytes", "mode", "", "text"], parts, align="rlll", mono=(0, 2, 3))
        body += "".join(f'<div style="font-size:12px">{html_escape(line)}</div>' for line in told(self.tags))
        if snapshot.automaton is not None:
            rows = [
                [
                    html_escape(glyph(pattern.text)),
                    KINDS[pattern.kind]
                    + (f": {html_escape(self.written(pattern.content))}" if pattern.content else ""),
                    "cannot come here" if pattern.read is None else f"{pattern.read} of {len(pattern.text)}",
                    html_escape(glyph(pattern.rest)),
                ]
                for pattern in snapshot.automaton.patterns[:STATIC_ROWS]
            ]
            if said := otherwise(snapshot):
                body += f'<div style="font-size:12px">{html_escape(said)}</div>'
            body += table(["watched for", "", "read", "missing"], rows, align="lllr", mono=(0, 3))
        return card("Triggers", [html_escape(snapshot.sentence())], body)


def _grammar_tags(snapshot: Modes) -> list[Traits]:
    automaton = snapshot.automaton
    some = () if automaton is None else automaton.patterns
    return [
        {"name": one.content, "begin": glyph(one.text), "ends": [], "rule": one.content}
        for one in some
        if one.kind == "tag"
    ]


def diagram(tags: Sequence[Traits], around: str = "free text") -> Traits:
    """What is `around` tags, an arrow for each trigger to its tag, and the way back: as DOT.

    The elements are `free`, `t<k>` for tag number `k`, and `b<k>` for the arrow that leads there.
    """
    if not tags:
        return {}
    shown = tags[:DRAWN]
    body = [line_dot("free", {"id": "free", "class": "tag free", "label": around, **BOX})]
    for k, tag in enumerate(shown):
        body.append(line_dot(f"t{k}", {"id": f"t{k}", "class": "tag", "label": clip(tag["name"], NAME), **BOX}))
        body.append(line_dot(f"free->t{k}", {"id": f"b{k}", "class": "begin", "label": _wrapped(tag["begin"])}))
        back = {"class": "end", "label": _wrapped(" or ".join(tag["ends"])), "style": "dashed"}
        body.append(line_dot(f"t{k}->free", back))
    if len(shown) < len(tags):
        body.append(line_dot("more", {"class": "more", "label": f"{len(tags) - len(shown):,} more", **BOX}))
        body.append(line_dot("free->more", {"class": "begin", "style": "dashed"}))
    return {"dot": graph_dot("".join(body), len(shown)), "tags": [dict(tag) for tag in shown]}


def _wrapped(text: str) -> str:
    """A text in lines of `WIDE` letters, at most three of them."""
    short = clip(text, 3 * WIDE)
    return "\n".join(short[at : at + WIDE] for at in range(0, len(short), WIDE))


def otherwise(snapshot: Modes) -> str:
    """What becomes of what is begun when the next character does not fit; "" where nothing is.

    The failure link of the automaton (Aho and Corasick 1975) says it: the longest end of what was read that begins a
    pattern, too.
    """
    automaton = snapshot.automaton
    if automaton is None or not snapshot.active or not 0 < automaton.node < len(automaton.nodes):
        return ""
    if any(pattern.fired for pattern in automaton.patterns):
        return ""
    at, begun = automaton.nodes[automaton.node].failure, bytearray()
    while at > 0:
        begun.append(automaton.nodes[at].byte)
        at = automaton.nodes[at].parent
    if not begun:
        return "if another character comes, it is plain text again"
    kept = bytes(reversed(begun))
    some = [glyph(pattern.text) for pattern in automaton.patterns if pattern.text.startswith(kept)]
    more = f" and {len(some) - 2:,} more" * (len(some) > 2)
    begins = f"as the beginning of {', '.join(some[:2])}{more}"
    return f"if another character comes, {glyph(kept)} at the end still counts, {begins}"


def hue(segment: Segment) -> str:
    """The colour of a segment's mode, the same in every view: a class `ms-hue-…` of base.css without its beginning.

    "free", "trigger" (stop strings as well), "tag-0" to "tag-4" by the tag's number, or "" outside free text.
    """
    match segment.mode:
        case "free":
            return "free"
        case "trigger" | "stop":
            return "trigger"
        case "tag":
            return f"tag-{segment.number % HUES}"
    return ""


def _trie(node: TrieNode) -> list[object]:
    """[parent, byte as text, depth, failure, pattern, lit]: short, for there are hundreds."""
    shown = "" if node.byte < 0 else glyph(bytes([node.byte]))
    return [node.parent, shown, node.depth, node.failure, node.pattern, node.lit]


def _pattern(pattern: Pattern, number: int) -> dict[str, object]:
    return picked(pattern, "kind", "content", "read", "fired") | {
        "number": number,
        "text": glyph(pattern.text),
        "size": len(pattern.text),
        "begun": glyph(pattern.text[: pattern.read or 0]),
        "rest": glyph(pattern.rest),
    }


def told(tags: Traits) -> Iterator[str]:
    """The tags ahead and the ends of open ones, a line each."""
    if tags.get("ahead"):
        some = ", ".join(f"{one['name']} (missing {one['rest']})" for one in tags["ahead"][:MAX_PATTERNS])
        yield f"may still come: {some}"
    for one in tags.get("ends", ()):
        yield f"{one['name']} ends with {' or '.join(one['ends']) or 'its content'}"
