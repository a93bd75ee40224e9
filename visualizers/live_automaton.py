"""The automaton's live view: a small picture of where the parser is, which the browser draws.

`show(frontier)` sends ids of elements to light, and that is the whole step.  When the parser goes where the picture
does not reach, another picture is sent, as DOT.  The automaton may grow while the text is read (lazy lowering): give
the grown one to `automaton`.

Read on: `visualizers/scene.py` (what is drawn), `visualizers/marks.py` (what is lit), `frontend/src/automaton.js`.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import Final

import traitlets as t

from kernels_core.inspect.snapshots import Automaton, AutomatonState, Frontier, RuleAutomaton
from kernels_core.locks import new_reentrant_lock
from visualizers.dot import DotError, arrow_data, box_title, drawn, map_dot, panel_dot, panel_title, rule_title
from visualizers.fold import FoldedEdge, Folds, Mode
from visualizers.glyphs import clip, split_dot
from visualizers.labels import full_text
from visualizers.live_base import LiveView, Traits, synced
from visualizers.marks import marks
from visualizers.scene import Panel, Request, Scene, covers, scene
from visualizers.standalone import Part
from visualizers.svg import Looks, automaton_html, automaton_pdf, to_svg
from visualizers.way import Travelled

MAX_DOTS: Final = 12
DOT_WIDTH: Final = 240
MAX_WAYS: Final = 40  # ways in and out that are told of one state
MAX_HITS: Final = 40  # answers to a search
MAX_STEPS: Final = 2_000  # edges followed for one beginning of a text that several edges spell
RECENT: Final = 12  # rules that stay in the picture while there is room
PICTURES: Final = 256  # pictures remembered
STEPS: Final = (1, 2, 3, 4)


class AutomatonView(LiveView[Frontier]):
    """The automaton around the parser; `show(frontier)` lights the active states.

    `steps_around` is how far around them is drawn, `whole` draws everything (up to 400 states), `mode` is
    "characters" or "bytes", `focus` the rules that were opened by clicking on calls (the last is drawn), `opened` the
    stubs that were clicked.  `selected` is the id of the state that was clicked, or None, and `rule` the chosen rule
    (`waiting`: the rule not made yet that was meant, which that one calls).
    `places` are the places in the source that rules read now, by rule, for whoever knows them; cards tell them.
    """

    _module = "automaton"
    _height = 430
    _placed = ("active", "marks", "key")
    _given = ("steps_around", "whole", "mode", "focus", "opened", "rule", "selected")

    picture = synced(t.Dict())
    key = synced(t.Unicode())
    active = synced(t.List(t.Int()))
    marks = synced(t.Dict())
    about = synced(t.Dict())
    spelt_out = synced(t.List(t.Unicode()))
    steps_around = synced(t.Int(2))
    whole = synced(t.Bool(False))
    mode = synced(t.Unicode("characters"))
    focus = synced(t.List(t.Unicode()))
    opened = synced(t.List(t.Unicode()))
    selected = synced(t.Int(None, allow_none=True))
    rule = synced(t.Unicode(None, allow_none=True))
    waiting = synced(t.Unicode())
    pictures = synced(t.Dict())

    def __init__(self, automaton: Automaton, written: Callable[[str], str] = str) -> None:
        self._lock = new_reentrant_lock()
        self._drawn: OrderedDict[str, Traits] = OrderedDict()
        self._panels: OrderedDict[str, Traits] = OrderedDict()
        self._known: dict[object, tuple[Scene, str]] = {}
        self._recent: tuple[int, ...] = ()
        self._travelled = Travelled()
        self._fresh: frozenset[int] = frozenset()
        self._scene: Scene | None = None
        self._asked_for: object = None
        self._quiet = False
        self.places: Mapping[str, str] = {}
        super().__init__()
        self.written = written
        self._automaton = automaton
        self._folds = Folds(automaton)
        self.answers("state", lambda content: {"state": self.describe(int(content["id"]))})
        self.answers("search", lambda content: {"hits": self.search(str(content.get("query", "")))})
        self.observe(self._changed, names=["steps_around", "whole", "mode", "focus", "opened", "selected", "rule"])
        self._tell()
        self._draw()

    # -- what is drawn -----------------------------------------------------------------------------------------------

    @property
    def automaton(self) -> Automaton:
        """The automaton that is drawn.

        One that has grown out of the present one (same rules, same ids) keeps the picture, and its new states are
        marked; any other begins afresh, with nothing lit, selected or recorded.
        """
        return self._automaton

    @automaton.setter
    def automaton(self, automaton: Automaton) -> None:
        with self._lock:
            if automaton is self._automaton:
                return
            grown = _has_grown(self._automaton, automaton)
            if grown:
                known = self._folds.owner
                self._folds = self._folds.grown(automaton)
                self._fresh = frozenset(state for state in self._folds.owner if state not in known)
            else:
                self._folds, self._fresh = Folds(automaton, self._folds.mode), frozenset()
                self._recent, self._travelled = (), Travelled()
                self._drawn.clear()
                self._panels.clear()
                self._scene = None
            self._known.clear()
            self._automaton = automaton
            self._quiet = True
            try:
                with self.hold_sync():
                    if not grown:
                        self.steps, self.index, self.pictures = [], 0, {}
                        self.active, self.selected, self.rule = [], None, None
                        self.focus, self.opened = [], []
                    self._tell()
            finally:
                self._quiet = False
            self._draw()

    def show(self, snapshot: Frontier, travelled: Travelled | None = None) -> None:
        """Light the states of `snapshot`; `travelled` also the way of the text (`visualizers.way.travelled`)."""
        with self._lock:
            self._shown = snapshot
            self._travelled = travelled or Travelled()
            with self.hold_sync():
                self.active = list(snapshot.active_states())
                self._draw()
            self._fresh = frozenset()

    def traits_of(self, snapshot: Frontier) -> Traits:
        return {"active": list(snapshot.active_states())}

    def play(self, snapshots: Iterable[Frontier], travelled: Sequence[Travelled] = ()) -> None:
        """Record a run with all its pictures; the browser then shows the step `index` by itself."""
        steps: list[Traits] = []
        pictures: dict[str, Traits] = {}
        with self._lock:
            kept = self._recent, self._scene
            self._recent, self._scene = (), None
            for number, snapshot in enumerate(snapshots):
                way = travelled[number] if number < len(travelled) else Travelled()
                active = snapshot.active_states()
                chosen, name = self._choose(active, way)
                self._scene = chosen
                pictures[name] = self._picture(chosen, name)
                steps.append({"active": list(active), "marks": self._marks(chosen, active, way), "key": name})
            self._recent, self._scene = kept
            with self.hold_sync():
                self.pictures = pictures
                self.steps = steps
                self.index = 0

    def part(self) -> Part:
        """This view as part of a page without Python, with the pictures of all places that were shown.

        Where `dot` has drawn them the page need not; else it carries Graphviz.
        """
        part = super().part()
        pictures = {**{name: one for name, one in self._drawn.items() if name != self.key}, **self.pictures}
        try:
            known = drawn(
                one["dot"] for picture in (self.picture, *pictures.values()) for one in picture.get("panels", ())
            )
        except DotError:
            return {**part, "state": {**part["state"], "pictures": pictures}, "needs": ("graphviz",)}
        pictures = {name: _with(known, picture) for name, picture in pictures.items()}
        return {**part, "state": {**part["state"], "picture": _with(known, self.picture), "pictures": pictures}}

    def save(self, path: str | Path, *, title: str | None = None) -> Path:
        """Write what is shown: a page (`.html`), or a picture (`.svg`, `.pdf`), which the program `dot` draws."""
        path = Path(path)
        options: Looks = {
            "active": self.active,
            "around": None if self.whole else self.steps_around,
            "travelled": self._travelled,
            "rules": self.focus[-1:],
            "mode": self._folds.mode,
        }
        match path.suffix.lower():
            case ".svg":
                path.write_text(to_svg(self._automaton, written=self.written, **options), encoding="utf-8")
            case ".pdf":
                path.write_bytes(automaton_pdf(self._automaton, written=self.written, **options))
            case _:
                return super().save(path, title=title)
        return path

    def _request(self, active: Collection[int], way: Travelled) -> Request:
        return Request(
            active=tuple(active),
            waiting=way.callers,
            visited=way.states,
            steps=min(max(1, self.steps_around), STEPS[-1]),
            whole=self.whole,
            focus=tuple(self.focus[-1:]),
            pinned=(self.rule,) if self.rule in self._folds.index else (),
            selected=self.selected if self.selected in self._folds.owner else None,
            opened=frozenset(self.opened),
            recent=self._recent,
        )

    def _choose(self, active: Collection[int], way: Travelled) -> tuple[Scene, str]:
        """The scene for this place and its key; the present one where it still shows what is around the parser."""
        request = self._request(active, way)
        asked = (request.steps, request.whole, request.focus, request.opened, self._folds.mode)
        if self._scene is not None and asked == self._asked_for and covers(self._scene, self._folds, request):
            return self._scene, _key(self._scene, self._folds.mode)
        self._asked_for = asked
        # What was visited only chooses among ways; it must not make a new picture at every step.
        near = replace(request, visited=frozenset(), recent=())
        if near not in self._known:
            if len(self._known) > 4 * PICTURES:
                self._known.clear()
            chosen = scene(self._folds, request)
            self._known[near] = chosen, _key(chosen, self._folds.mode)
        chosen, name = self._known[near]
        if not chosen.whole and not self.focus:
            numbers = [panel.rule for panel in chosen.panels]
            self._recent = tuple(dict.fromkeys((*(k for k in self._recent if k in numbers), *numbers)))[-RECENT:]
        return chosen, name

    def _draw(self) -> None:
        """Light what is in the picture, and send another picture if it does not fit any more."""
        chosen, name = self._choose(self.active, self._travelled)
        with self.hold_sync():
            self._scene = chosen
            self.marks = self._marks(chosen, self.active, self._travelled)
            if self.picture.get("key") != name:
                self.picture = self._picture(chosen, name)
            self.key = name

    def _picture(self, chosen: Scene, name: str) -> Traits:
        """A scene for the browser (`frontend/src/drawing.ts`), remembered by its key."""
        if name not in self._drawn:
            notes = [chosen.note] if chosen.note else []
            if chosen.left_out:
                some = ", ".join(map(self.written, chosen.left_out[:4])) + (", ..." if len(chosen.left_out) > 4 else "")
                notes.append(f"also at work: {some}")
            panels = [self._panel(panel) for panel in chosen.panels]
            if chosen.rules is not None:
                names = {name: [rule, box_title(rule, self.written)] for name, rule in chosen.rules.nodes.items()}
                panels.append({"dot": map_dot(chosen.rules, written=self.written), "names": names})
            self._drawn[name] = {
                "key": name,
                "panels": panels,
                "note": "; ".join(notes),
                "all": _shows_all(chosen),
                "shown": sum(one.startswith("s") for panel in chosen.panels for one in panel.graph.nodes),
            }
            while len(self._drawn) > PICTURES:
                del self._drawn[next(one for one in self._drawn if one != self.key)]  # the one in sight stays
        return self._drawn[name]

    def _panel(self, panel: Panel) -> Traits:
        """One rule: how it is drawn, and what Graphviz does not know of it.  Most come again in the next picture."""
        key = _panel_key(panel)
        if key not in self._panels:
            title = panel_title(panel, self.written)
            self._panels[key] = {
                "rule": panel.rule,
                "name": panel.folded.rule.rule,
                "title": list(title),
                "dot": panel_dot(panel),
                "arrows": arrow_data(panel, self.written),
                "ways": {str(state): count for state, count in panel.hidden_in.items()},
                "opened": sorted(panel.opened),
            }
            if len(self._panels) > 2 * PICTURES:
                self._panels.popitem(last=False)
        return self._panels[key]

    def _marks(self, chosen: Scene, active: Collection[int], way: Travelled) -> Traits:
        """What is lit in a picture."""
        lit = marks(self._folds, chosen, active, way, self._fresh)
        return {**lit.plain(), "edges": self._edges(active)}

    def _edges(self, active: Collection[int]) -> dict[str, str]:
        """By active state without a circle of its own: the ends of the edges that it lies within."""
        found: dict[str, str] = {}
        for state in active:
            if (number := self._folds.owner.get(state)) is not None:
                folded = self._folds.rule(number)
                ends = [folded.edges[place.edge] for place in folded.places.get(state, ())]
                if ends:
                    found[str(state)] = ", ".join(dict.fromkeys(f"{edge.source} → {edge.target}" for edge in ends[:4]))
        return found

    def _tell(self) -> None:
        rules = self._automaton.rules
        states = self._automaton.state_count()
        self.about = {
            "rules": len(rules),
            "states": states,
            "waiting": len(self._automaton.waiting),
        }

    def choose(self, state: int | None, rule: str | None, waiting: str = "") -> None:
        """Choose a state and a rule as a click does; what the automaton lacks is no choice.

        `waiting`: the rule that was meant, where `rule` is the one that will call it, since it is not made yet; a
        pointer (`#/...`) where no rule is known to read that place.
        """
        with self._lock, self.hold_sync():
            self.selected = state if state in self._folds.owner else None
            self.waiting = waiting
            self.rule = rule
            if rule in self._folds.index and self.focus and self.focus[-1] != rule:
                self.focus = [rule]

    # -- what a person does ------------------------------------------------------------------------------------------

    def _changed(self, change: Traits) -> None:
        if self._quiet:
            return
        with self._lock:
            if change["name"] == "mode":
                mode: Mode = "bytes" if change["new"] == "bytes" else "characters"
                if mode != self._folds.mode:
                    self._folds = Folds(self._automaton, mode)
                    self._known.clear()
            unknown = [name for name in self.focus if name not in self._folds.index]
            if unknown:
                self._quiet = True
                try:
                    self.focus = [name for name in self.focus if name in self._folds.index]
                finally:
                    self._quiet = False
            self._draw()

    def describe(self, state: int) -> Traits:
        """A state for a person: its rule, dotted rules, ways in and out.  Raises `ValueError` for an unknown id."""
        with self._lock:
            number = self._folds.owner.get(state)
            if number is None:
                raise ValueError(f"no state has the id {state}")
            folded = self._folds.rule(number)
        rule = folded.rule
        found = next(one for one in rule.states if one.id == state)
        out = [(full_text(edge), edge.target) for edge in folded.edges if edge.source == state]
        into = [(full_text(edge), edge.source) for edge in folded.edges if edge.target == state]
        inside = [folded.edges[place.edge] for place in folded.places.get(state, ())]
        return {
            "id": state,
            "rule": rule.rule,
            "title": " ".join(rule_title(rule, self.written)).rstrip(),
            "flags": [*([f"reads {self.places[rule.rule]}"] if rule.rule in self.places else []), *_flags(found, rule)],
            "dots": [
                split_dot(dot) or (dot,) for dot in (clip(self.written(one), DOT_WIDTH) for one in _some(found.dots))
            ],
            "out": [[clip(text, 60), target] for text, target in out[:MAX_WAYS]],
            "into": [[clip(text, 60), source] for text, source in into[:MAX_WAYS]],
            "more_out": max(0, len(out) - MAX_WAYS),
            "more_into": max(0, len(into) - MAX_WAYS),
            "inside": [f"{edge.source} → {edge.target}: {clip(full_text(edge), 60)}" for edge in inside[:4]],
        }

    def search(self, query: str) -> list[Traits]:
        """States, rules and labels that contain `query`: at most 40, rules first; each with a state to go to."""
        query = query.strip()
        if not query:
            return []
        small = query.casefold()
        hits: list[Traits] = []
        with self._lock:
            folds = self._folds
        if query.isdigit() and (number := folds.owner.get(int(query))) is not None:
            rule = folds.rules[number]
            hits.append(self._hit("state", f"state {query}", rule.rule, int(query)))
        for rule in folds.automaton.rules:
            if small in f"{rule.rule}\n{self.written(rule.rule)}".casefold():
                hits.append(self._hit("rule", self.written(rule.rule), rule.rule, None))
            if len(hits) >= MAX_HITS:
                return hits
        spaced = small.replace(" ", "␣")
        for start, rule in folds.rules.items():
            for edge in folds.rule(start).edges:
                text = full_text(edge)
                if not edge.is_call and (small in text.casefold() or spaced in text.casefold()):
                    hits.append(self._hit("label", clip(text, 60), rule.rule, edge.source))
                if len(hits) >= MAX_HITS:
                    return hits
            hits += self._across(folds.rule(start).edges, rule.rule, spaced)
        return hits[:MAX_HITS]

    def _hit(self, kind: str, text: str, rule: str, state: int | None) -> Traits:
        """An answer to a search, with where to go; `said` is the rule as a person wrote it."""
        return {"kind": kind, "text": text, "rule": rule, "said": self.written(rule), "state": state}

    def _across(self, edges: Sequence[FoldedEdge], rule: str, wanted: str) -> list[Traits]:
        """Where `wanted` is spelt by several edges behind each other, none of which holds all of it."""
        leaving: dict[int, list[tuple[str, FoldedEdge]]] = {}
        for edge in edges:
            if not edge.is_call and (text := full_text(edge)):
                leaving.setdefault(edge.source, []).append((text.casefold(), edge))
        found: list[Traits] = []
        for text, edge in [one for some in leaving.values() for one in some]:
            for size in range(min(len(text), len(wanted) - 1), 0, -1):
                if not text.endswith(wanted[:size]):
                    continue
                ways, steps = [(edge.target, size, [edge])], 0
                while ways and steps < MAX_STEPS:
                    at, read, path = ways.pop()
                    for more, after in leaving.get(at, ()):
                        steps += 1
                        rest = wanted[read:]
                        if more.startswith(rest):
                            told = " → ".join(clip(full_text(one), 30) for one in (*path, after))
                            found.append(self._hit("label", told, rule, edge.source))
                            ways = []
                            break
                        if rest.startswith(more):
                            ways.append((after.target, read + len(more), [*path, after]))
        return found

    def static_html(self) -> str:
        return automaton_html(self._automaton, active=self.active, travelled=self._travelled, written=self.written)

    def __repr__(self) -> str:
        rules, states = len(self._automaton.rules), self._automaton.state_count()
        return f"AutomatonView({rules} rules, {states} states, {len(self.active)} active)"


def _flags(state: AutomatonState, rule: RuleAutomaton) -> list[str]:
    names = []
    if state.id == rule.start:
        names.append("the rule begins here")
    if state.accepting:
        names.append("the rule may end here" if rule.repeat is None else "a repetition may end here")
    if state.scannable:
        names.append("reads bytes")
    if not state.made:
        names.append("not made further yet: the engine has not gone on from here")
    return names


def _some(dots: tuple[str, ...]) -> list[str]:
    more = len(dots) - MAX_DOTS
    return [*dots[:MAX_DOTS], *([f"+{more} more"] if more > 0 else [])]


def _has_grown(old: Automaton, new: Automaton) -> bool:
    """Whether `new` is a later state of the same automaton: nothing that was there has changed."""
    if old.root != new.root or old.source != new.source or len(old.rules) > len(new.rules):
        return False
    later = {rule.start: rule for rule in new.rules}
    for before in old.rules:
        after = later.get(before.start)
        if before is after:
            continue
        if after is None or before.rule != after.rule or len(before.edges) > len(after.edges):
            return False
        if not {state.id for state in before.states} <= {state.id for state in after.states}:
            return False
        if not set(_ends(before)) <= set(_ends(after)):
            return False
    return True


def _ends(rule: RuleAutomaton) -> Iterable[tuple[int, int, str]]:
    return ((edge.source, edge.target, edge.label) for edge in rule.edges)


def _shows_all(chosen: Scene) -> bool:
    """Whether every state of every rule has its place in the picture, as a circle or within an edge."""
    states = ((panel, state.id) for panel in chosen.panels for state in panel.folded.states)
    return chosen.whole and all(f"s{state}" in panel.graph.nodes for panel, state in states)


def _key(chosen: Scene, mode: Mode) -> str:
    """A picture's name: equal scenes of one automaton have equal names."""
    rules = None if chosen.rules is None else (chosen.rules.nodes, chosen.rules.arrows)
    return _digest((mode, [_panel_key(panel) for panel in chosen.panels], rules, chosen.left_out, chosen.note))


def _panel_key(panel: Panel) -> str:
    made = [state.made for state in panel.folded.states if f"s{state.id}" in panel.graph.nodes]
    return _digest(
        (
            panel.rule,
            len(panel.folded.rule.states),
            made,
            list(panel.graph.nodes.items()),
            [(arrow.source, arrow.target, arrow.kind, arrow.lines) for arrow in panel.graph.arrows],
            sorted(panel.hidden_in.items()),
            sorted(panel.opened),
        )
    )


def _digest(value: object) -> str:
    return blake2b(repr(value).encode(), digest_size=9).hexdigest()


def _with(known: Mapping[str, str], picture: Traits) -> Traits:
    panels = [{**panel, "dot": "", "svg": known[panel["dot"]]} for panel in picture.get("panels", ())]
    return {**picture, "panels": panels}
