"""What is written on an arrow: the pieces of its edges as rows of cells, cut to what fits.

A cell is one piece in a person's writing.  The parser may stand between any two cells of a chain, so a label knows
where each piece begins (`cuts`), and the picture can put a dot there: `{"ci•ty": `.

Read on: `visualizers/scene.py`, `visualizers/svg.py`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from visualizers.fold import FoldedEdge, Piece
from visualizers.glyphs import SPACE, byte_class, character_class, clip, columns

WIDTH: Final = 40  # columns of one row
LOOSE: Final = 14  # columns that a row may be shorter, to end behind a space
CLASS: Final = 26  # columns of one class
NAME: Final = 26
# What a cut leaves of a range or an escape.
_HALF: Final = re.compile(r"(?<!\\)-?(?:\\(?:u(?:\{[0-9A-F]*)?|x[0-9A-F]?)?)?$")
ROWS: Final = 3  # rows of one long literal, when it is alone on its arrow

CellKind = Literal["sign", "class", "bytes", "call", "token", "gap"]


@dataclass(frozen=True, slots=True)
class Cell:
    """One piece as it is written; `rule` is the rule that a call calls, `index` the number of the piece."""

    kind: CellKind
    text: str
    index: int
    rule: str = ""


Row = tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Label:
    """The rows of one edge, and for every place between its pieces the (row, character) where a dot would stand."""

    rows: tuple[Row, ...]
    cuts: tuple[tuple[int, int], ...]

    @property
    def lines(self) -> tuple[str, ...]:
        """The rows as plain text."""
        return tuple("".join(cell.text for cell in row) for row in self.rows)

    def called(self, written: Callable[[str], str]) -> Label:
        """The same with the names of rules as `written` has them."""
        rows = tuple(
            tuple(replace(cell, text=written(cell.text)) if cell.kind == "call" else cell for cell in row)
            for row in self.rows
        )
        return Label(rows, tuple(_cuts(rows, len(self.cuts) + 1)))


def rule_label(name: str) -> str:
    """A rule's name as it stands on an arrow: without the iterations that lowering writes behind it (`ws{0,128}`)."""
    head, brace, _ = name.partition("{")
    return clip(head if brace and head else name, NAME)


def _cell(piece: Piece, index: int) -> Cell:
    mark = "?" if piece.optional else ""
    match piece.kind:
        case "call":
            return Cell("call", rule_label(piece.name) + mark, index, piece.name)
        case "token":
            return Cell("token", clip(_text(piece), CLASS) + mark, index)
        case "bytes":
            return Cell("bytes", clip(_text(piece), CLASS) + mark, index)
        case "chars":
            text = _text(piece)
            single = len(piece.ranges) == 1 and piece.ranges[0][0] == piece.ranges[0][1]
            return Cell("sign" if single else "class", _short_class(text) + mark, index)


def _short_class(text: str) -> str:
    return text if len(text) <= CLASS else _HALF.sub("", text[: CLASS - 2]) + "…]"


def edge_label(edge: FoldedEdge, *, rows: int = ROWS) -> Label:
    """An edge's label in at most `rows` rows of `WIDTH` columns; of a longer one the middle is left out."""
    cells = _counted([_cell(piece, index) for index, piece in enumerate(edge.pieces)])
    if sum(columns(cell.text) for cell in cells) > rows * WIDTH:
        cells = _without_middle(cells, rows * WIDTH - 1)
    broken: list[list[Cell]] = [[]]
    used = 0
    for cell in cells:
        width = columns(cell.text)
        if used + width > WIDTH and broken[-1]:
            row = broken[-1]
            cut = max((k + 1 for k, one in enumerate(row) if one.text == SPACE), default=len(row))
            if sum(columns(one.text) for one in row[cut:]) > LOOSE:
                cut = len(row)
            broken[-1:] = [row[:cut], row[cut:]]
            used = sum(columns(one.text) for one in broken[-1])
        broken[-1].append(cell)
        used += width
    return Label(tuple(tuple(row) for row in broken), tuple(_cuts(broken, len(edge.pieces))))


def _counted(cells: Sequence[Cell]) -> list[Cell]:
    """The same class several times in a row is written once, with how often: `[0-9]{4}`."""
    out: list[Cell] = []
    at = 0
    while at < len(cells):
        same = at + 1
        while same < len(cells) and (cells[same].kind, cells[same].text) == (cells[at].kind, cells[at].text):
            same += 1
        count = same - at
        if count == 1 or cells[at].kind != "class" or cells[at].text.endswith("?"):
            out += cells[at:same]
        else:
            # A place between two of them is behind the class and before the count.
            out += [cells[at], Cell("class", f"{{{count}}}", at + 1)]
        at = same
    return out


def _without_middle(cells: Sequence[Cell], width: int) -> list[Cell]:
    """The beginning and the end of a long chain with `…` between them."""
    first, last = 0, len(cells)
    room = width
    while first < last:
        take = columns(cells[first].text)
        if take > room:
            break
        room -= take
        first += 1
        # Three columns of the beginning for one of the end: what one reads towards counts more.
        if first % 3 == 0 and first < last:
            take = columns(cells[last - 1].text)
            if take > room:
                break
            room -= take
            last -= 1
    return [*cells[:first], Cell("gap", "…", first), *cells[last:]]


def _cuts(rows: Sequence[Sequence[Cell]], pieces: int) -> Iterable[tuple[int, int]]:
    """For each place between two pieces: its row and how many characters stand before it."""
    at: dict[int, tuple[int, int]] = {}
    for number, row in enumerate(rows):
        length = 0
        for cell in row:
            at[cell.index] = (number, length)
            length += len(cell.text)
    known = (0, 0)
    for place in range(1, pieces):
        known = at.get(place, known)  # a place within what is not written out is at the `…` or the count
        yield known


def full_text(edge: FoldedEdge) -> str:
    """Everything an edge reads, uncut, for a tooltip."""
    return "".join(_text(piece) + "?" * piece.optional for piece in edge.pieces)


def _text(piece: Piece) -> str:
    if piece.kind in ("call", "token"):
        return piece.name
    return byte_class(piece.ranges) if piece.kind == "bytes" else character_class(piece.ranges)
