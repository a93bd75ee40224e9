"""Which part of an automaton is drawn: the rules where the parser is, and in each the states around it.

A small automaton is drawn whole.  Of a large one a picture shows the rules that are at work or wait, and of a large
rule the states within a few steps of the parser; where the picture ends, stubs say how many edges go on, and a click
opens them.  So the picture is always small enough to be read and laid out at once, whatever the grammar's size.

Everything here is a pure function of the automaton and a `Request`.

Read on: `visualizers/dot.py` (a scene as DOT), `visualizers/live_automaton.py` (who asks).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from visualizers.fold import FoldedEdge, FoldedRule, Folds
from visualizers.glyphs import character_class, clip
from visualizers.labels import Label, edge_label

WHOLE_STATES: Final = 30  # an automaton of so many folded states and edges is drawn whole
WHOLE_EDGES: Final = 44
SMALL_RULE: Final = 7  # and so is a rule of so many, wherever it is drawn
NODES: Final = 60  # in one picture, if nothing was opened by hand
RULE_NODES: Final = 26  # in one rule
FAN: Final = 7  # ways on that are drawn of a state, unless it is opened
FAN_IN: Final = 3
BEGUN: Final = 14  # columns of a class whose characters are not made to their ends
LINES: Final = 6  # edges written on one arrow
MAX_RULES: Final = 60  # rules in the map of rules
MAX_OPEN: Final = 400  # nodes in one picture, whatever was opened

ArrowKind = Literal["reads", "call", "stub", "else", "entry"]


@dataclass(frozen=True, slots=True)
class Arrow:
    """One arrow.  `lines` is its label as plain text, for measuring; `edges` the numbers of the edges it stands for.

    "reads" takes bytes, "call" calls rules, "stub" leads to what is not drawn, "else" is where bytes go that are not
    on other arrows, "entry" shows where a rule begins.
    """

    source: str
    target: str
    lines: tuple[str, ...]
    kind: ArrowKind = "reads"
    edges: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Graph:
    """Nodes by name with what is written in them, the arrows, and where the graph begins."""

    nodes: dict[str, str]
    arrows: tuple[Arrow, ...]
    start: str | None = None


@dataclass(frozen=True)
class Request:
    """What a picture should show.

    `active` are the states where the parser is, `waiting` the states whose calls are under way (outermost first), and
    `visited` states that the text went through: all by id.  `steps` is how far around them one looks.  `focus` names
    the only rules to draw; `pinned` rules are drawn besides.  `opened` are stubs that were clicked, as `edge_id`
    writes them.  `recent` are rules drawn before, which stay while there is room.
    """

    active: tuple[int, ...] = ()
    waiting: tuple[int, ...] = ()
    visited: frozenset[int] = frozenset()
    steps: int = 2
    whole: bool = False
    focus: tuple[str, ...] = ()
    pinned: tuple[str, ...] = ()
    selected: int | None = None
    opened: frozenset[str] = frozenset()
    recent: tuple[int, ...] = ()


@dataclass(frozen=True)
class Panel:
    """What is drawn of one rule: its graph, and for every arrow the labels of its edges.

    `stubs[name]` is how many edges a stub stands for; `hidden_in[state]` how many ways into a state are not drawn.
    """

    rule: int
    folded: FoldedRule
    graph: Graph
    labels: dict[int, Label]
    stubs: dict[str, int]
    hidden_in: dict[int, int]
    opened: frozenset[int]
    shown: int


@dataclass(frozen=True)
class Scene:
    """The panels of a picture in order; `left_out` names rules at work that found no room.

    Of an automaton that is asked for as a whole and too large for that, `rules` is drawn instead: who calls whom.
    """

    panels: tuple[Panel, ...]
    whole: bool
    left_out: tuple[str, ...] = ()
    note: str = ""
    rules: Graph | None = None


def edge_id(edge: FoldedEdge, number: int, folded: FoldedRule) -> str:
    """An edge's element id; the same in every picture of the same automaton."""
    return f"e{edge.source}-{edge.target}-{folded.nth[number]}"


def scene(folds: Folds, request: Request) -> Scene:
    """Choose what is drawn.  Raises `ValueError` for a rule in `focus` or `pinned` that the automaton lacks."""
    for name in (*request.focus, *request.pinned):
        if name not in folds.index:
            raise ValueError(f"no rule is called {name!r}")
    if request.focus:
        wanted = [folds.index[name] for name in request.focus]
        if request.whole and sum(len(folds.rule(start).states) for start in wanted) <= MAX_OPEN:
            return Scene(tuple(_panel(folds, start, None, request) for start in wanted), False)
        seeds = folds.seeds((*request.active, *request.waiting, *_own(request)))
        return _several(folds, request, wanted, seeds, always=len(wanted))
    if request.whole and len(folds.rules) > MAX_OPEN:
        return _map(folds, request)
    if request.whole or _is_small(folds):
        panels = tuple(_panel(folds, start, None, request) for start in folds.rules)
        if sum(panel.shown for panel in panels) <= MAX_OPEN:
            return Scene(panels, True)
        return _map(folds, request)
    seeds = folds.seeds((*request.waiting, *request.active, *_own(request)))
    wanted = [folds.index[name] for name in request.pinned]
    active = folds.seeds((*request.active, *_own(request)))
    # The innermost callers say most about where one is.
    inner = list(reversed(folds.seeds(request.waiting)))
    wanted += [*active, *inner]
    if not wanted:
        wanted = [] if folds.root is None else [folds.root]
    needed = len(dict.fromkeys(wanted))
    wanted += [start for start in request.recent if start in folds.rules]
    return _several(folds, request, list(dict.fromkeys(wanted)), seeds, always=1, needed=needed)


def covers(chosen: Scene, folds: Folds, request: Request) -> bool:
    """Whether a scene still shows what it should: then it stays, and nothing moves while one steps through it."""
    panels = {panel.rule: panel for panel in chosen.panels}
    if chosen.rules is not None:
        near = folds.seeds((*request.active, *request.waiting))
        return all(f"r{start}" in chosen.rules.nodes for start in near)
    if any(number not in folds.rules or panel.folded is not folds.rule(number) for number, panel in panels.items()):
        return False
    if chosen.whole and not any(panel.stubs for panel in chosen.panels):  # all rules, and all of each
        return True
    for number, seeds in folds.seeds(request.active).items():
        if number not in panels:
            return False
        for state, onward in seeds.items():
            if f"s{state}" not in panels[number].graph.nodes:
                return False
            if onward and 0 < panels[number].stubs.get(f"out{state}", 0) <= FAN:
                return False
    for number, seeds in folds.seeds(request.waiting).items():
        if number not in panels:
            if folds.rules[number].rule not in chosen.left_out:
                return False
        elif not all(f"s{state}" in panels[number].graph.nodes for state in seeds):
            return False
    for number, seeds in folds.seeds(_own(request)).items():
        if number not in panels or not all(f"s{state}" in panels[number].graph.nodes for state in seeds):
            return False
    return all(folds.index.get(name) in panels for name in request.pinned)


def _map(folds: Folds, request: Request) -> Scene:
    """The rules as boxes, with their calls, for an automaton that is too large to be drawn as a whole."""
    near = [*folds.seeds((*request.active, *request.waiting)), *(folds.index[name] for name in request.pinned)]
    graph = rules_graph(folds, near)
    some = (
        "the rules" if len(graph.nodes) == len(folds.rules) else f"the {len(graph.nodes)} rules nearest to the parser"
    )
    states = folds.automaton.state_count()
    note = f"{some} and whom they call, for {states:,} states would be one blur: click on a rule to open it"
    return Scene((), False, note=note, rules=graph)


def _own(request: Request) -> tuple[int, ...]:
    return () if request.selected is None else (request.selected,)


def _is_small(folds: Folds) -> bool:
    rules = folds.automaton.rules
    if len(rules) > WHOLE_STATES or sum(len(rule.states) for rule in rules) > 40 * WHOLE_STATES:
        return False
    folded = [folds.rule(start) for start in folds.rules]
    states, edges = sum(len(one.states) for one in folded), sum(len(one.edges) for one in folded)
    return states <= WHOLE_STATES and edges <= WHOLE_EDGES


def _several(
    folds: Folds,
    request: Request,
    wanted: Sequence[int],
    seeds: Mapping[int, Mapping[int, bool]],
    *,
    always: int,
    needed: int | None = None,
) -> Scene:
    """The rules of `wanted` while there is room, drawn in the order in which they were first drawn."""
    room = NODES
    chosen: dict[int, Panel] = {}
    left_out = []
    for position, number in enumerate(wanted):
        panel = _panel(folds, number, seeds.get(number, {}), request)
        if position >= always and panel.shown > room:
            if needed is None or position < needed:
                left_out.append(folds.rules[number].rule)
            continue
        room -= panel.shown
        chosen[number] = panel
    places = {number: place for place, number in enumerate(request.recent)}
    outward = {number: place for place, number in enumerate(reversed(wanted))}
    order = sorted(chosen, key=lambda number: (places.get(number, len(places)), outward[number]))
    return Scene(tuple(chosen[number] for number in order), len(chosen) == len(folds.rules), tuple(left_out))


def _panel(folds: Folds, number: int, seeds: Mapping[int, bool] | None, request: Request) -> Panel:
    """One rule: the whole of it for `seeds` None or when it is small, else what is around `seeds`."""
    folded = folds.rule(number)
    leaving: dict[int, list[int]] = {state.id: [] for state in folded.states}
    entering: dict[int, list[int]] = {state.id: [] for state in folded.states}
    for k, edge in enumerate(folded.edges):
        leaving[edge.source].append(k)
        entering[edge.target].append(k)
    if seeds is None or len(folded.states) <= SMALL_RULE:
        visible = dict.fromkeys(state.id for state in folded.states)
    else:
        visible = _around(folded, leaving, entering, seeds or {folded.rule.start: True}, request)
    edges = [k for k, edge in enumerate(folded.edges) if edge.source in visible and edge.target in visible]
    hidden_out = {s: sum(folded.edges[k].target not in visible for k in leaving[s]) for s in visible}
    hidden_in = {s: sum(folded.edges[k].source not in visible for k in entering[s]) for s in visible}
    opened = frozenset(s for s in visible if f"out{s}" in request.opened or f"in{s}" in request.opened)
    stubs = {f"out{state}": count for state, count in hidden_out.items() if count}
    graph, labels = _graph(folded, tuple(visible), edges, stubs)
    return Panel(
        number,
        folded,
        graph,
        labels,
        stubs,
        {state: count for state, count in hidden_in.items() if count},
        opened,
        len(graph.nodes),
    )


def _around(
    folded: FoldedRule,
    leaving: Mapping[int, list[int]],
    entering: Mapping[int, list[int]],
    seeds: Mapping[int, bool],
    request: Request,
) -> dict[int, None]:
    """The states up to `request.steps` on from the seeds, some ways that lead to them, and what was opened by hand.

    Ways on begin at seeds only: what else one could have read on the way to here is a stub.
    """
    edges, visited = folded.edges, request.visited
    known = {state: on for state, on in seeds.items() if state in leaving} or {folded.rule.start: True}
    chosen: dict[int, None] = dict.fromkeys(known)
    queue = deque((state, 0, on, True) for state, on in known.items())
    while queue and len(chosen) < MAX_OPEN:
        state, far, onward, backward = queue.popleft()
        looks = far < request.steps and len(chosen) < RULE_NODES
        ways = list(dict.fromkeys(edges[k].target for k in leaving[state]))
        back = list(dict.fromkeys(edges[k].source for k in entering[state]))
        if f"out{state}" not in request.opened:
            ways.sort(key=lambda target: (target not in chosen, target not in visited))
            ways = ways[: FAN if len(ways) > FAN + 1 else None] if onward and looks else []
        if f"in{state}" not in request.opened:
            # Where one came from is worth more than where one might have come from.
            travelled = [source for source in back if source in visited]
            back = (travelled or back)[:FAN_IN] if backward and looks else []
        for other, on in (*((target, True) for target in ways), *((source, False) for source in back)):
            if other not in chosen:
                chosen[other] = None
                queue.append((other, far + 1, on, not on))
    order = {state.id: place for place, state in enumerate(folded.states)}
    return dict.fromkeys(sorted(chosen, key=lambda state: order[state]))


def _graph(
    folded: FoldedRule, visible: Collection[int], edges: Sequence[int], stubs: Mapping[str, int]
) -> tuple[Graph, dict[int, Label]]:
    groups: dict[tuple[int, int, bool], list[int]] = {}
    for k in edges:
        edge = folded.edges[k]
        apart = edge.is_call and edge.source != edge.target  # loops of one state are one loop
        groups.setdefault((edge.source, edge.target, apart), []).append(k)
    arrows: list[Arrow] = []
    labels: dict[int, Label] = {}
    for (source, target, calls), members in groups.items():
        shown = members if len(members) <= LINES else members[: LINES - 1]
        lines: list[str] = []
        for k in shown:
            labels[k] = edge_label(folded.edges[k], rows=3 if len(members) == 1 else 1)
            lines += labels[k].lines
            if folded.edges[k].otherwise is not None:
                lines.append(else_text(folded.edges[k]))
        if len(shown) < len(members):
            lines.append(f"+{len(members) - len(shown)} more")
        kind: ArrowKind = "call" if calls else "reads"
        arrows.append(Arrow(f"s{source}", f"s{target}", tuple(lines), kind, tuple(members)))
    for state, loop in folded.otherwise.items():
        if state in visible and loop in visible and state != loop:
            arrows.append(Arrow(f"s{state}", f"s{loop}", ("else",), "else"))
    nodes = {f"s{state}": str(state) for state in visible}
    for name, count in stubs.items():
        nodes[name] = f"{count:,} more"
        arrows.append(Arrow("s" + name.removeprefix("out"), name, (), "stub"))
    begun = {f"begun{state}": one for state, one in folded.begun.items() if state in visible}
    for name, one in begun.items():
        nodes[name] = clip(character_class(one.ranges), BEGUN)
        arrows.append(Arrow("s" + name.removeprefix("begun"), name, (), "stub"))
    start = folded.rule.start
    return Graph(nodes, tuple(arrows), f"s{start}" if start in visible else None), labels


def else_text(edge: FoldedEdge) -> str:
    """What is said of bytes that a chain does not read."""
    return "else back" if edge.otherwise == edge.source else f"else as in {edge.otherwise}"


def rules_graph(folds: Folds, near: Collection[int] = ()) -> Graph:
    """Rules as boxes `r<start state>`, calls as arrows.

    Of more than `MAX_RULES` rules those nearest to the rules `near` are drawn, or to the root.
    """
    called: dict[int, list[int]] = {}
    for start, rule in folds.rules.items():
        names = [edge.rule for edge in rule.edges if edge.rule is not None]
        called[start] = list(dict.fromkeys(folds.index[name] for name in names if name in folds.index))
    callers: dict[int, list[int]] = {start: [] for start in folds.rules}
    for start, others in called.items():
        for other in others:
            callers[other].append(start)
    drawn: dict[int, None] = {}
    queue = deque(near or (() if folds.root is None else (folds.root,)))
    rest = iter(folds.rules)
    while len(drawn) < min(MAX_RULES, len(folds.rules)):
        start = queue.popleft() if queue else next(rest)
        if start not in drawn:
            drawn[start] = None
            queue.extend(called[start])
            queue.extend(callers[start] if near else ())
    shown = [start for start in folds.rules if start in drawn]
    arrows = tuple(Arrow(f"r{k}", f"r{other}", (), "call") for k in shown for other in called[k] if other in drawn)
    nodes = {f"r{start}": folds.rules[start].rule for start in shown}
    return Graph(nodes, arrows, f"r{folds.root}" if folds.root in drawn else None)
