"""The mechanisms of making masks, compiling and accepting, one by one: how each is left out, and its lines of code.

A mechanism is left out by a switch of the laboratory (`kernels_core.laboratory`), or by values of
`kernels_core.Options.laboratory`.  Its lines are those that would go with it: whole files, and functions in files that
have other work as well, comments and blank lines not counted.  Lines at the places where it is used are not counted
either, so the number is a little low.  A file that several mechanisms need counts where most of it belongs.

Read on: `leave_one_out.py`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import kernels_core
from kernels_core.laboratory import NAMES, without

ROOT: Final = Path(kernels_core.__file__).parent
NOTHING: Final = "nothing"


@dataclass(frozen=True, slots=True)
class Mechanism:
    """name: in tables, and in the laboratory if that has it.  parts: `file`, or `file: function, function`, by paths in
    `kernels_core` without the ending.  options: values of `Options.laboratory` that leave it out."""

    name: str
    parts: tuple[str, ...]
    options: Mapping[str, object] = field(default_factory=dict)

    def left_out(self) -> AbstractContextManager[None]:
        """Leaves it out of this process, as far as the laboratory does that."""
        return without(self.name) if self.name in NAMES else nullcontext()

    def lines(self) -> int:
        """Lines of code; `LookupError` for a part that is not there."""
        return sum(_lines_of(part) for part in self.parts)


def _lines_of(part: str) -> int:
    name, _, functions = part.partition(": ")
    files = [file for ending in (".pyx", ".pxd", ".py") if (file := ROOT / f"{name}{ending}").is_file()]
    if not files:
        raise LookupError(f"kernels_core has no {name}")
    if not functions:
        return sum(_code_lines(file.read_text().splitlines()) for file in files)
    lines = files[0].read_text().splitlines()
    return sum(_code_lines(_body(lines, function, name)) for function in functions.split(", "))


def _body(lines: list[str], function: str, name: str) -> list[str]:
    """The lines of a function or class, by indentation."""
    head = re.compile(
        rf"^(\s*)(cdef|def|cpdef|class|cdef class|cdef cppclass|cdef struct)\b.*\b{re.escape(function)}\b\s*[(:]"
    )
    for at, line in enumerate(lines):
        found = head.match(line)
        if found is None:
            continue
        past = at + 1
        while past < len(lines) and (
            not lines[past].strip() or len(lines[past]) - len(lines[past].lstrip()) > len(found[1])
        ):
            past += 1
        return lines[at:past]
    raise LookupError(f"kernels_core/{name} has no {function}")


def _code_lines(lines: list[str]) -> int:
    text = re.sub(r'"""(?:[^"\\]|\\.|"(?!""))*"""', "", "\n".join(lines))
    return sum(1 for line in text.splitlines() if line.strip() and not line.strip().startswith("#"))


MECHANISMS: Final = (
    # Which items are walked, and how the trie is followed
    Mechanism("direct walks", ("masks/direct_walk",), {"direct_limit": 0}),
    Mechanism(
        "self-loops",
        ("masks/self_loops: find, _walk, loop_of", "masks/direct_walk: _take_loop, _take_loop_row"),
    ),
    Mechanism("byte-class trie", ("masks/trie_walk: _walk_class_trie, _add_class_runs",)),
    Mechanism("whole subtrees", ("masks/whole_subtrees",)),
    # Token sets that are put together from others
    Mechanism(
        "differential masks",
        ("masks/token_sets: _find_children, _walk_difference, store_difference",),
        {"differential_masks": False},
    ),
    Mechanism("reference states", ("masks/strategy: _common_target",)),
    Mechanism("excluded words", ("masks/excluded_words",)),
    Mechanism("FOLLOW bytes", ("masks/strategy: take_follow",)),
    Mechanism("string bodies", ("masks/string_bodies",)),
    Mechanism("kept token sets", ("masks/string_bodies: _agree",)),
    Mechanism("iteration profiles", ("masks/iteration_profiles",), {"iteration_profiles": False}),
    Mechanism("row unions", ("masks/row_unions",)),
    # What is shared
    Mechanism("masks and steps remembered", (), {"memoize_sets": False}),
    Mechanism("cross-grammar cache", ("masks/pool",), {"cross_grammar_cache": False}),
    Mechanism("warm start", ("warm_start",), {"warm_start": False}),
    Mechanism("spare memory", ("earley/arena: reserve, spare_bytes",)),
    # Automata
    Mechanism("lazy lowering", ("automata/lazy_dfa", "automata/identity"), {"lazy_lowering": False}),
    Mechanism("inlining", ("automata/size_estimate: inline_cost, _estimate, cost_of",), {"inline_limit": 0}),
    Mechanism("unrolling", ("automata/inlining: copies_of",), {"unroll_limit": 0}),
    # Within the error on a hundred schemas; without it a folder's slowest masks and the cross-grammar cache grow.
    Mechanism("text copies", ("automata/inlining: copies_in_text",)),
    Mechanism("iteration counters", (), {"repetition": "expand"}),
    Mechanism("compact bodies", ("automata/compact_bodies", "grammar/compact_body", "automata/word_trie")),
    Mechanism("shared size estimates", ()),
    # Reading
    Mechanism("lazy documents", ("grammar/json_schema/lazy_document", "grammar/canonical_json")),
    Mechanism(
        "quick reader",
        (
            "grammar/json_schema/deferrable_schemas",
            "grammar/json_schema/quick_reader",
            "grammar/json_schema/quick_writer",
            "grammar/json_schema/simple_patterns",
        ),
    ),
    Mechanism("deferrable calls", ("grammar/structural_tag/deferrable_calls",)),
    Mechanism("memoised languages", ("grammar/regular/memo",)),
)
"""All mechanisms, near what they belong to."""


def find_mechanism(name: str) -> Mechanism:
    """The mechanism called `name`; `NOTHING` is one that leaves nothing out.  `KeyError` names the known ones."""
    if name == NOTHING:
        return Mechanism(NOTHING, ())
    for mechanism in MECHANISMS:
        if mechanism.name == name:
            return mechanism
    raise KeyError(f"no mechanism {name!r}; known: {', '.join(mechanism.name for mechanism in MECHANISMS)}")
