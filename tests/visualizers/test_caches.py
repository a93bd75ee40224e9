"""The cache observatory: its numbers are those of the record, and it works in a page without Python."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from kernels_core import GrammarCompiler, GrammarMatcher, Options, TokenizerInfo, allocate_token_bitmask
from kernels_core.inspect.fills import CacheLog, CacheRecord
from kernels_core.inspect.sharing import sharing
from tests.visualizers.bridge import Bridge
from visualizers.caches import COUNTERS, KINDS, NAMES, STRATEGIES, CacheShot, CacheView, figure, said, static
from visualizers.live_base import to_page

if TYPE_CHECKING:
    from playwright.sync_api import Page

EVIL = "<b>x</b>"
VOCAB = [*(bytes((value,)) for value in range(256)), *(f"a{i}".encode() for i in range(300)), EVIL.encode(), b"</s>"]
TEXT = r'text ::= "\"" [^"\\\x00-\x1f]* "\""'
STEPS = [ord("["), ord('"'), len(VOCAB) - 2, ord("a"), ord('"'), ord(","), ord('"'), ord("a"), ord('"'), ord("]")]


def walked(root: str, compiler: GrammarCompiler, steps: list[int]) -> tuple[CacheRecord, GrammarMatcher]:
    matcher = GrammarMatcher(compiler.compile_grammar(f"{root}\n{TEXT}"))
    row = allocate_token_bitmask(1, len(VOCAB))
    with CacheLog(matcher) as log:
        for token in steps:
            matcher.fill_next_token_bitmask(row)
            assert matcher.accept_token(token)
    return log.record(), matcher


@pytest.fixture(scope="module")
def shot() -> CacheShot:
    compiler = GrammarCompiler(
        TokenizerInfo(VOCAB, stop_token_ids=[len(VOCAB) - 1]),
        options=Options.laboratory(direct_limit=0, warm_start=False),
    )
    record, first = walked('root ::= "[" text ("," text)* "]"', compiler, STEPS)
    _, second = walked('root ::= "x" "[" text ("," text)* "]"', compiler, [ord("x"), *STEPS])
    found = sharing([first.compiled, second.compiled])
    return CacheShot(record, found, 3, [VOCAB[token] for token in STEPS])


class TestTraits:
    def test_counts_are_the_records(self, shot: CacheShot) -> None:
        view = CacheView(shot)
        assert {kind: count for kind, _, count, *_ in view.about["kinds"]} == shot.record.totals()
        assert view.visits["us"] == [round(visit.event.nanoseconds / 1e3, 3) for visit in shot.record.visits]
        assert view.visits["bytes"] == [visit.event.nbytes for visit in shot.record.visits]
        kinds = list(KINDS)
        assert [kinds[k] for k in view.visits["kind"]] == [visit.event.kind for visit in shot.record.visits]
        assert [[row[0], row[1]] for row in view.states] == [[s.set_id, s.visits] for s in shot.record.states()]
        assert view.held["sets"][-1] == shot.record.visits[-1].held.sets

    def test_sharing_is_told_with_its_parts(self, shot: CacheShot) -> None:
        assert shot.sharing is not None
        view = CacheView(shot)
        assert len(view.sharing["sets"]) == len(shot.sharing.sets)
        assert view.sharing["pool"]["hits"] == shot.sharing.pool_hits > 0
        used = [use for one in view.sharing["sets"] for use in one["uses"]]
        assert {use[0] for use in used} == {0, 1}
        assert {use[4] for use in used} == {"made", "perfect"}

    def test_a_long_run_shows_its_end_and_says_so(self, shot: CacheShot, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("visualizers.caches.MAX_SHOWN", 4)
        view = CacheView(shot)
        assert len(view.visits["us"]) == 4
        assert view.about["hidden"] == len(shot.record) - 4
        assert view.about["masks"] == len(shot.record)

    def test_an_empty_record_is_shown_too(self) -> None:
        assert CacheView(CacheShot(CacheRecord(()))).about["masks"] == 0
        assert "no masks" in CacheView().static_html()
        assert "0 masks" in static(CacheShot(CacheRecord(())))


class TestStatic:
    def test_tables_hold_the_numbers(self, shot: CacheShot) -> None:
        html = static(shot)
        for kind, count in shot.record.totals().items():
            if count:
                assert f"{said(kind)}</td><td>{count}</td>" in html
        assert "<script" not in html
        assert "(grammar 1, perfect)" in html

    def test_the_figure_names_its_size_and_units(self, shot: CacheShot) -> None:
        drawn = figure(shot, note="seed 7")
        assert f"n = {len(shot.record)}" in drawn.layout.annotations[0].text
        assert drawn.layout.annotations[-1].text == "seed 7"
        assert "µs" in drawn.layout.yaxis.title.text
        assert sum(len(trace.x) for trace in drawn.data if trace.type == "scatter" and trace.mode == "markers") == len(
            shot.record
        )


@pytest.mark.browser
class TestBrowser:
    def test_tabs_show_the_engines_numbers(self, shot: CacheShot, bridged: Callable[..., Bridge]) -> None:
        view = CacheView(shot)
        page = bridged(view).page
        for kind, count in shot.record.totals().items():
            shown = page.get_by_test_id(f"kind-{kind.replace(' ', '-')}").get_attribute("data-count")
            assert shown == str(count)
        assert page.get_by_test_id("timeline").is_visible()
        assert EVIL not in page.content()
        page.get_by_test_id("cache-tab-states").click()
        cells = page.get_by_test_id("state-cell")
        states = shot.record.states()
        assert cells.all_inner_texts() == [str(state.visits) for state in states]
        assert page.locator("[data-testid=state-cell].now").get_attribute("data-set") == str(
            shot.record.visits[3].set_id
        )
        page.get_by_test_id("cache-tab-memory").click()
        assert page.get_by_test_id("memory").is_visible()
        page.get_by_test_id("cache-tab-sharing").click()
        assert shot.sharing is not None
        assert page.get_by_test_id("shared-set").count() == len(shot.sharing.sets)
        told = page.locator("[data-testid=shared-set] td:first-child").all_inner_texts()
        numbers = [one.uses[0].state for one in shot.sharing.sets]
        assert all(f" state {state:,}, " in text for text, state in zip(told, numbers, strict=True))

    def test_a_grammar_that_needed_no_token_set_says_so(self, shot: CacheShot, bridged: Callable[..., Bridge]) -> None:
        assert shot.sharing is not None
        page = bridged(CacheView(replace(shot, sharing=replace(shot.sharing, sets=())))).page
        page.get_by_test_id("cache-tab-sharing").click()
        expect(page.get_by_test_id("shared-none")).to_contain_text("No mask of this grammar has needed a token set yet")

    def test_the_last_masks_are_a_table(self, shot: CacheShot, bridged: Callable[..., Bridge]) -> None:
        page = bridged(CacheView(replace(shot, places={1: "#/here"}))).page
        page.get_by_test_id("cache-tab-last").click()
        rows = page.get_by_test_id("last-mask")
        visits = shot.record.visits[:4]  # up to the step one stands at, the latest first
        assert rows.count() == 4
        for row, visit in zip(rows.all(), reversed(visits), strict=True):
            cells = row.locator("td").all_inner_texts()
            assert cells[0] == str(visit.event.step)
            assert cells[2] == NAMES[visit.event.kind][0]
            assert cells[4] == ", ".join(visit.event.strategies) != ""
            assert cells[5].endswith(("µs", "ms"))
        page.get_by_test_id("order-time").click()
        slowest = sorted(shot.record.visits, key=lambda visit: -visit.event.nanoseconds)[: rows.count()]
        first = [row.locator("td").first.inner_text() for row in rows.all()]
        assert first == [str(visit.event.step) for visit in slowest]
        page.get_by_test_id("order-step").click()
        assert "#/here" in rows.nth(2).inner_text()
        assert "now" in (rows.first.get_attribute("class") or "")
        words = page.get_by_test_id("cache-summary").inner_text()
        made = sum(count for kind, count in shot.record.totals().items() if NAMES[kind][0] == "made")
        assert f"{made} made" in words

    def test_strategies_are_seen_and_told_however_narrow(self, shot: CacheShot, bridged: Callable[..., Bridge]) -> None:
        page = bridged(CacheView(shot)).page
        page.evaluate(
            "() => { window.bridge.model.set('tab', 'last'); two.classList.add('ms-dock'); return bridge.show('two'); }"
        )
        cell = page.locator("#two").get_by_test_id("last-mask").first.locator("td.ways")
        for width in (900, 620, 520):
            page.set_viewport_size({"width": width, "height": 700})
            expect(cell).to_be_visible()
            handle = cell.element_handle()
            page.wait_for_function(
                "([cell, width]) => cell.getBoundingClientRect().right <= width", arg=[handle, width]
            )
        for part in page.locator("[data-testid=last-mask] td.ways span").all():
            name = part.inner_text()
            assert part.get_attribute("title") == f"{name}: {STRATEGIES[name]}"

    def test_more_masks_are_listed_where_there_is_room(self, shot: CacheShot, bridged: Callable[..., Bridge]) -> None:
        many = CacheRecord(shot.record.visits * 4)
        view = CacheView(replace(shot, record=many, step=shot.record.visits[-1].event.step))
        view.tab = "last"
        page = bridged(view).page
        assert page.get_by_test_id("last-mask").count() == 10  # without a dock there is no height to fill
        page.evaluate("() => { two.classList.add('ms-dock'); two.style.height = '600px'; return bridge.show('two'); }")
        page.add_style_tag(content="#two .ms-caches { height: 600px; max-height: none; }")
        expect(page.locator("#two").get_by_test_id("last-mask").nth(20)).to_be_visible()

    def test_a_mask_of_another_text_says_so(self, shot: CacheShot, bridged: Callable[..., Bridge]) -> None:
        visits = shot.record.visits
        # The text on screen has the later mask after step 2, and the first of those after steps 0 and 1.
        again = replace(visits[2], event=replace(visits[2].event, nanoseconds=visits[2].event.nanoseconds + 1))
        record = CacheRecord((*visits[:4], again))
        present = [visits[0].event, visits[1].event, again.event]
        view = CacheView(replace(shot, record=record, step=2, present=present))
        assert view.visits["other"] == [False, False, True, True, False]
        assert [bool(text) for text in view.visits["token"]] == [True, True, False, False, True]
        view.tab = "last"
        rows = bridged(view).page.get_by_test_id("last-mask")
        assert ["other text" in row.inner_text() for row in rows.all()] == [False, True, True, False, False]
        assert "now" in (rows.first.get_attribute("class") or "")

    def test_a_click_asks_for_the_step(self, shot: CacheShot, bridged: Callable[..., Bridge]) -> None:
        view = CacheView(shot)
        bridge = bridged(view)
        bridge.page.get_by_test_id("cache-tab-states").click()
        bridge.page.get_by_test_id("state-cell").last.click()
        assert bridge.asked(1) == [{"kind": "goto", "index": shot.record.states()[-1].first_step}]

    def test_a_page_without_python_follows_the_steps(self, shot: CacheShot, page: Page, tmp_path: Path) -> None:
        view = CacheView()
        view.play_steps(shot, len(STEPS))
        file = tmp_path / "caches.html"
        file.write_text(to_page([view]), encoding="utf-8")
        page.goto(file.as_uri())
        page.wait_for_selector("html[data-ready]")
        page.keyboard.press("ArrowRight")
        assert "after step 1" in page.get_by_test_id("cache-detail").inner_text()
        page.get_by_test_id("cache-tab-states").click()
        page.get_by_test_id("state-cell").first.click()
        assert page.get_by_test_id("step-count").inner_text().startswith("0 /")


def test_every_kind_has_a_legend_and_a_colour() -> None:
    from typing import get_args

    from kernels_core.inspect.trace import FillKind
    from visualizers.caches import COLOURS

    kinds: Any = set(get_args(FillKind))
    assert set(KINDS) == set(COLOURS) == set(NAMES) == kinds
    assert {word for word, _ in NAMES.values()} == {"found", "put together", "made"}
    assert len(set(NAMES.values())) == len(NAMES)


def test_every_counter_has_a_name_of_its_own() -> None:
    from dataclasses import fields

    from kernels_core.inspect.snapshots import CacheStats

    assert {name for _, name, *_ in COUNTERS} == {field.name for field in fields(CacheStats)}
    assert len({(what, label, unit) for what, _, label, _, unit in COUNTERS}) == len(COUNTERS)
