"""The views on real snapshots: JSON on the Tekken vocabulary."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pytest

from kernels_core import GrammarCompiler, GrammarMatcher, allocate_token_bitmask
from kernels_core.inspect.snapshots import Automaton, Frontier, TokenSets
from kernels_core.inspect.trace import Operations
from tests.visualizers.test_browser import active
from tests.visualizers.test_static import survives
from visualizers.fold import fold_rule
from visualizers.glyphs import split_dot, split_rules
from visualizers.live_automaton import AutomatonView
from visualizers.live_base import to_page
from visualizers.live_frontier import FrontierView
from visualizers.live_tokens import MaskMap, TokenTable
from visualizers.svg import automaton_html, to_svg
from visualizers.tokens import KINDS, TokenIndex

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser

PIECES = ('{"na', 'me": ', "[1", "2.5e", '3, "x"', "]}")


@dataclass(frozen=True)
class Run:
    """A text read piece by piece, with a snapshot of everything before each piece and after the last."""

    automaton: Automaton
    frontiers: tuple[Frontier, ...]
    token_sets: tuple[TokenSets, ...]
    operations: tuple[Operations, ...]
    masks: tuple[np.ndarray, ...]


@pytest.fixture(scope="module")
def run() -> Run:
    pytest.importorskip("mistral_common")
    from workbench.tokenizers import load_tokenizer

    compiled = GrammarCompiler(load_tokenizer("tekken").info).compile_builtin_json_grammar()
    matcher = GrammarMatcher(compiled)
    frontiers, token_sets, operations, masks = [], [], [], []
    for piece in ("", *PIECES):
        if piece:
            assert matcher.accept_string(piece)
        frontiers.append(matcher.frontier())
        token_sets.append(matcher.token_sets())
        operations.append(matcher.operations())
        mask = allocate_token_bitmask(1, compiled.tokenizer_info.vocab_size)
        matcher.fill_next_token_bitmask(mask)
        masks.append(mask)
    shown = (tuple(part) for part in (frontiers, token_sets, operations, masks))
    return Run(compiled.automaton(), *shown)  # type: ignore[arg-type]


def test_the_index_shows_exactly_the_mask(run: Run) -> None:
    for sets, mask in zip(run.token_sets, run.masks, strict=True):
        index = TokenIndex(sets)
        bits = np.unpackbits(mask.view(np.uint8), bitorder="little")[: sets.vocab_size]
        assert np.array_equal(index.allowed, bits.astype(bool))
        assert sum(index.counts[kind] for kind in KINDS) == sets.vocab_size == 131_072
    assert TokenIndex(run.token_sets[-1]).counts["stop"] == 1


def test_every_dotted_rule_has_its_dot(run: Run) -> None:
    dots = {item.dot for frontier in run.frontiers for item in frontier.items}
    dots |= {dot for rule in run.automaton.rules for state in rule.states for dot in state.dots}
    assert len(dots) > 40
    for dot in dots:
        for rule in split_rules(dot):
            assert split_dot(rule) is not None, rule
            assert re.match(r"\w+ ::= ", rule), rule


def test_static_displays(run: Run) -> None:
    for frontier in run.frontiers:
        survives(frontier._repr_html_())
    for operations in run.operations:
        survives(operations._repr_html_())
    for sets in run.token_sets:
        page = sets._repr_html_()
        survives(page)
        assert len(page) < 80_000
    survives(automaton_html(run.automaton, active=run.frontiers[2].active_states()))
    svg = to_svg(run.automaton, around=None)
    assert len(svg) < 90_000
    for rule in run.automaton.rules:
        folded = fold_rule(rule)
        begun = {state for one in folded.begun.values() for state in one.states}  # shown as one box
        for state in rule.states:
            assert svg.count(f'id="s{state.id}"') == (state.id not in folded.places and state.id not in begun)


@pytest.mark.browser
def test_a_run_steps_in_a_page_of_its_own(run: Run, browser: Browser, tmp_path: Path) -> None:
    views = (AutomatonView(run.automaton), FrontierView(), TokenTable(), MaskMap())
    views[0].play(run.frontiers)
    views[1].play(run.frontiers)
    views[2].play(run.token_sets)
    views[3].play(run.token_sets)
    file = tmp_path / "json.html"
    file.write_text(to_page(views, title="JSON", labels=["", *PIECES]), encoding="utf-8")
    assert file.stat().st_size < 200_000
    page = browser.new_page()
    trouble: list[str] = []
    page.on("console", lambda message: trouble.append(message.text))
    page.on("pageerror", lambda error: trouble.append(str(error)))
    page.goto(file.as_uri())
    page.wait_for_selector("html[data-ready]")
    for frontier, sets in zip(run.frontiers, run.token_sets, strict=True):
        page.wait_for_function("() => !document.querySelector('[data-drawing]')")  # another picture is laid out first
        lit = {int(name[1:]) for name in active(page)}
        assert lit == set(frontier.active_states())
        shown = page.get_by_test_id("mask-count").inner_text()
        assert shown == f"{len(sets.allowed):,} of 131,072 allowed"
        page.keyboard.press("ArrowRight")
    assert not trouble
    page.close()
