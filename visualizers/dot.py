"""A scene as DOT, the language of Graphviz: for the browser a graph for each rule, for a file one graph of all.

In the browser Graphviz itself draws (compiled to WebAssembly, `frontend/src/drawing.ts`); a file is written by the
program `dot` of this machine (`apt-get install graphviz`).  Both get the same text and write the same elements: state
`i` is `s<i>`, the box of what is not drawn of its ways out `out<i>`, and the classes say what is what, so that one
style sheet (`frontend/src/picture.css`) serves both.

Read on: `visualizers/scene.py` (what is drawn), `visualizers/svg.py` (files).
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

from graphviz.backend import dot_command

from kernels_core.inspect.snapshots import AutomatonState, RuleAutomaton
from visualizers.glyphs import DOT, clip, dot_quote
from visualizers.labels import Label, full_text
from visualizers.marks import Marks
from visualizers.scene import Arrow, Graph, Panel, Scene, edge_id, else_text

TIMEOUT: Final = 5.0
ALL_SECONDS: Final = 60.0  # for all pictures of a page
LIMITED_NODES: Final = 150
# Graphviz's network simplex is what grows; bounding its rounds is 7 to 15 times faster on large graphs.
LIMITS: Final = "nslimit=0.5 nslimit1=0.5 mclimit=0.2 splines=line"
GRAPH: Final = 'rankdir=LR nodesep=0.16 ranksep=0.25 bgcolor=transparent fontname="Courier" fontsize=12'
NODE: Final = 'shape=circle fixedsize=true width=0.417 height=0.417 margin="0.08,0.02" fontname="Courier" fontsize=10'
EDGE: Final = 'fontname="Courier" fontsize=11 arrowsize=0.6'
# Files that know no style sheet (PDF) show by these what is lit.
LIT: Final = {"style": "filled", "fillcolor": "#2357d8", "fontcolor": "white"}
MISSING: Final = "no `dot` program on PATH (Debian: apt-get install graphviz)"
MAX_DOTS: Final = 8
MAX_TIP: Final = 600
TITLE: Final = 40
RULE_NAME: Final = 24  # columns of a rule's name in the map of rules
STANDS: Final = {".text": "the whole text", ".first": "where the text begins"}
"""Where a rule stands, by the end of its name: with `%ignore` the engine makes two more of one of Lark's."""
Written = Callable[[str], str]


class DotError(RuntimeError):
    """The `dot` program is not there, failed, or ran out of time."""


def run(source: str, form: str = "svg", timeout: float = TIMEOUT) -> bytes:
    """What `dot` makes of `source`, which may hold several graphs: starting it costs more than a small layout."""
    command = [str(part) for part in dot_command.command("dot", form)]
    try:
        done = subprocess.run(command, input=source.encode(), capture_output=True, timeout=timeout)
    except FileNotFoundError:
        raise DotError(MISSING) from None
    except subprocess.TimeoutExpired:
        raise DotError(f"`dot` took longer than {timeout:g} s") from None
    except OSError as error:
        raise DotError(f"`dot` could not be run: {error}") from error
    if done.returncode:
        lines = done.stderr.decode(errors="replace").strip().splitlines()
        raise DotError(f"`dot` failed with status {done.returncode}: {lines[-1] if lines else 'no message'}")
    return done.stdout


def drawn(graphs: Iterable[str]) -> dict[str, str]:
    """Each of the graphs as SVG, drawn by `dot` in one run: for a page that does not carry Graphviz."""
    some = list(dict.fromkeys(graphs))
    if not some:
        return {}
    found = run("".join(some), timeout=ALL_SECONDS).decode().split("</svg>")[:-1]
    return {graph: f"<svg{one.partition('<svg')[2]}</svg>" for graph, one in zip(some, found, strict=True)}


def scene_dot(scene: Scene, lit: Marks | None = None, written: Written = str) -> str:
    """A picture as one graph, its rules below each other; `written` turns their names into those of the source."""
    if scene.rules is not None:
        return map_dot(scene.rules, lit, written)
    body = "".join(line for panel in scene.panels for line in _panel(panel, lit or Marks(), written))
    return graph_dot(body, sum(panel.shown for panel in scene.panels))


def panel_dot(panel: Panel) -> str:
    """One rule for the browser, which lights it by itself, and knows by `arrow_data` what its arrows say."""
    return graph_dot("".join(_panel(panel, Marks(), None)), panel.shown)


def map_dot(rules: Graph, lit: Marks | None = None, written: Written = str) -> str:
    """The map of rules: a box for each, called as in the source, and an arrow to each that it calls."""
    marks, body = lit or Marks(), list[str]()
    for name, rule in rules.nodes.items():
        given = {"id": name, "class": f"rulenode{marks.classes(name)}", "label": clip(written(rule), RULE_NAME), **BOX}
        body.append(line_dot(name, {**given, "tooltip": box_title(rule, written)}))
    body += [line_dot(f"{arrow.source}->{arrow.target}", {"class": "call"}) for arrow in rules.arrows]
    return graph_dot("".join(body), len(rules.nodes))


def arrow_data(panel: Panel, written: Written = str) -> list[dict[str, object]]:
    """Of each arrow in order, `a0` and so on: its ends, what it reads uncut, and its label's rows as pieces.

    A label is the rows of one edge, [kind, text, rule] for each piece; `cuts` are the places between its pieces, as
    row and character.  `written` turns names of rules into those of the source.
    """
    folded = panel.folded
    found = []
    for arrow in panel.graph.arrows:
        one: dict[str, object] = {"from": arrow.source, "to": arrow.target}
        if full := _full(panel, arrow, written):
            one["full"] = full
        labels = []
        for k in arrow.edges:
            if (label := panel.labels.get(k)) is None:
                continue
            label = label.called(written)
            rows = [[[cell.kind, cell.text, cell.rule] for cell in row] for row in label.rows]
            if folded.edges[k].otherwise is not None:
                rows.append([["else", else_text(folded.edges[k]), ""]])
            labels.append({"id": edge_id(folded.edges[k], k, folded), "rows": rows, "cuts": label.cuts})
        if labels:
            one["labels"] = labels
        found.append(one)
    return found


def _full(panel: Panel, arrow: Arrow, written: Written) -> str:
    """What an arrow reads, uncut but for what nobody would read, an edge a line."""
    full = "\n".join(clip(full_text(panel.folded.edges[k]), MAX_TIP) for k in arrow.edges[:20])
    return written(full) if arrow.kind == "call" else full


BOX: Final = {"shape": "box", "fixedsize": "false", "width": "0.1", "height": "0.3", "style": "rounded"}


def graph_dot(body: str, nodes: int) -> str:
    """A graph of these lines, with so many nodes."""
    limits = f" {LIMITS}" if nodes > LIMITED_NODES else ""
    return f"digraph automaton{{graph[{GRAPH}{limits}]\nnode[{NODE}]\nedge[{EDGE}]\n{body}}}\n"


def _panel(panel: Panel, lit: Marks, tips: Written | None) -> Iterator[str]:
    """One rule; for a file with tooltips, and names as `tips` has them."""
    written = tips or str
    folded, graph = panel.folded, panel.graph
    heading = dot_quote("  ".join(filter(None, panel_title(panel, written))))
    yield f"subgraph cluster_{panel.rule}{{id=rule{panel.rule} class=panel margin=10 style=rounded labeljust=l "
    yield f"label={heading}\n"
    if graph.start is not None:
        start = f"entry{panel.rule}"
        yield line_dot(start, {"class": "entry", "shape": "point", "width": "0.07", "height": "0.07"})
        yield line_dot(f"{start}->{graph.start}", {"class": "reads"})
    for state in folded.states:
        if f"s{state.id}" in graph.nodes:
            yield _state(state, lit, tips)
    for name in graph.nodes:
        if name.startswith(("out", "begun")):
            kind = "stub" if name.startswith("out") else "begun"
            yield line_dot(name, {"id": name, "class": f"{kind}{lit.classes(name)}", "label": graph.nodes[name], **BOX})
    for number, arrow in enumerate(graph.arrows):
        names = [edge_id(folded.edges[k], k, folded) for k in arrow.edges]
        given = {"id": f"a{number}", "class": f"{arrow.kind}{lit.classes(*names)}"}
        if lines := list(_lines(panel, arrow, lit, written)):
            given["label"] = "\n".join(lines)
        if arrow.kind in ("call", "stub", "else"):
            given["style"] = "dashed" if arrow.kind != "else" else "dotted"
        if arrow.kind == "else":
            given["constraint"] = "false"
        if tips and (full := _full(panel, arrow, written)):
            given |= {"tooltip": full, "labeltooltip": full}
        yield line_dot(f"{arrow.source}->{arrow.target}", given)
    yield "}\n"


def _state(state: AutomatonState, lit: Marks, tips: Written | None) -> str:
    name = f"s{state.id}"
    marks = lit.classes(name)
    classes = "state" + " accepting" * state.accepting + " scannable" * state.scannable + " unmade" * (not state.made)
    given = {"id": name, "class": classes + marks, "label": str(state.id)}
    if state.id > 999:
        given["fontsize"] = "8"
    if state.accepting:
        given |= {"shape": "doublecircle", "width": "0.33"}
    if "active" in marks:
        given |= LIT
    if tips is not None:
        more = [f"+{len(state.dots) - MAX_DOTS} more"] if len(state.dots) > MAX_DOTS else []
        given["tooltip"] = "\n".join(map(tips, (f"state {state.id} of {state.rule}", *state.dots[:MAX_DOTS], *more)))
    return line_dot(name, given)


def _lines(panel: Panel, arrow: Arrow, lit: Marks, written: Written) -> Iterator[str]:
    """What is written on an arrow, with a dot at each place where the parser stands."""
    folded, told = panel.folded, 0
    for k in arrow.edges:
        if (label := panel.labels.get(k)) is None:
            continue
        label = label.called(written)
        lines = list(label.lines)
        for row, at in sorted(_dots(label, lit.on.get(edge_id(folded.edges[k], k, folded), ())), reverse=True):
            lines[row] = lines[row][:at] + DOT + lines[row][at:]
        if folded.edges[k].otherwise is not None:
            lines.append(else_text(folded.edges[k]))
        told += len(lines)
        yield from lines
    yield from arrow.lines[told:]


def _dots(label: Label, places: Sequence[int]) -> set[tuple[int, int]]:
    return {label.cuts[place - 1] if 0 < place <= len(label.cuts) else (0, 0) for place in places}


def line_dot(name: str, given: Mapping[str, str]) -> str:
    """A node, or an arrow `a->b`, with its attributes."""
    return f"{name}[{' '.join(f'{key}={_value(key, text)}' for key, text in given.items())}]\n"


def _value(key: str, text: str) -> str:
    # Labels may hold entities, tooltips may not.
    quoted = dot_quote(text)
    return quoted.replace("&amp;", "&") if key.endswith("tooltip") else quoted


def panel_title(panel: Panel, written: Written = str) -> tuple[str, str, str]:
    """A rule's name, its iterations or lengths, and how much of it is drawn, if that is not all."""
    name, iterations = rule_title(panel.folded.rule, written)
    drawn = sum(f"s{state.id}" in panel.graph.nodes for state in panel.folded.states)
    part = f"{drawn:,} of {len(panel.folded.states):,} states" if drawn < len(panel.folded.states) else ""
    return clip(name, TITLE), iterations, part


def repeat_label(repeat: tuple[int, int | None] | None) -> str:
    """`{l,r}` of a counted rule, `{l,}` when unbounded, "" otherwise."""
    if repeat is None:
        return ""
    low, high = repeat
    return f"{{{low},{'' if high is None else high}}}"


def lengths_label(lengths: tuple[int, int] | None) -> str:
    """How many characters a text of a rule has, where they are counted beside its automaton; "" otherwise."""
    if lengths is None:
        return ""
    least, most = lengths
    return f"{most:,} characters" if least == most else f"{least:,} to {most:,} characters"


def box_title(rule: str, written: Written) -> str:
    """What the source calls a rule, and where it stands where the engine has several of that name."""
    said = written(rule)
    return f"{said} {STANDS.get(rule.removeprefix(said), '')}".rstrip()


def rule_title(rule: RuleAutomaton, written: Written = str) -> tuple[str, str]:
    """A rule's name in the source, and what tells it from others of that name: where it stands, its iterations or
    lengths; a name that ends in the iterations already (`digit{2,5}`) says them once.
    """
    iterations = repeat_label(rule.repeat)
    name = rule.rule.removesuffix(iterations) or rule.rule
    said = written(name)
    stands = STANDS.get(name.removeprefix(said), "")
    return said, " ".join(filter(None, (stands, iterations or lengths_label(rule.lengths))))
