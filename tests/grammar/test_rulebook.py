"""Names of rules: what is in the hint is kept as far as a name may have it, and no two rules have one name."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from kernels_core.grammar.macros import MACROS
from kernels_core.grammar.names import RESERVED
from kernels_core.grammar.rulebook import RuleBook

hints = st.text(st.sampled_from("ab9_.-<=> é"), max_size=60) | st.sampled_from(sorted(RESERVED))


@given(hints)
def test_a_name_is_what_is_left_of_its_hint(hint: str) -> None:
    left = re.sub(r"[^A-Za-z0-9_.\-]+", "_", hint)[:40].strip("_.-") or "rule"
    expected = "_" + left if left[0].isdigit() or left in RESERVED else left
    # What is a name as it stands may end with what is stripped elsewhere.
    assert RuleBook().free_name(hint) in {expected, hint} - ({""} | RESERVED)


@given(st.lists(hints, max_size=8))
def test_names_differ(hints: list[str]) -> None:
    book = RuleBook()
    names = [book.reserve(hint) for hint in hints]
    assert len(set(names)) == len(names)
    for name in names:
        assert re.fullmatch(r"[A-Za-z_][A-Za-z0-9_.\-]*", name), name
        assert len(name) <= 44


def test_no_rule_that_is_made_here_is_called_as_a_macro() -> None:
    assert MACROS.keys() < RESERVED
