"""The picture of the caches: its numbers are those of the record, and it works in a page without Python."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from kernels_core import GrammarCompiler, GrammarMatcher, Options, TokenizerInfo, allocate_token_bitmask
from kernels_core.inspect.fills import CacheLog, CacheRecord
from kernels_core.inspect.sharing import sharing
from kernels_core.inspect.snapshots import CacheStats
from tests.visualizers.bridge import Bridge
from visualizers.caches import COLOURS, COUNTERS, KINDS, NAMES, STRATEGIES, CacheShot, CacheView, figure, static
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
        totals = shot.record.totals()
        assert [(word, by, count) for word, by, _, count, _, _ in view.ways] == [
            (*NAMES[kind], totals[kind]) for kind in KINDS if totals[kind]
        ]
        spent = sum(visit.event.nanoseconds for visit in shot.record.visits) / 1e3
        assert sum(total for *_, total in view.ways) == pytest.approx(spent)
        visits = shot.record.visits
        assert view.visits["us"] == [round(visit.event.nanoseconds / 1e3, 3) for visit in visits]
        assert view.visits["bytes"] == [visit.event.nbytes for visit in visits]
        words = list(COLOURS)
        assert [words[k] for k in view.visits["word"]] == [NAMES[visit.event.kind][0] for visit in visits]
        states = [visit.set_id for visit in visits]
        assert view.visits["times"] == [states.count(state) for state in states]
        held = dict(view.visits["held"])
        assert held["token sets"][-1] == round(visits[-1].held.token_set_bytes)
        assert view.head.startswith(f"{len(visits)} masks in ")
        assert f"at {len(shot.record.times())} parser states" in view.head

    def test_sharing_is_told_with_its_parts(self, shot: CacheShot) -> None:
        assert shot.sharing is not None
        found = CacheView(shot).sharing
        assert len(found["sets"]) == len(shot.sharing.sets)
        assert f"{shot.sharing.pool_hits} found and used as they are" in found["pool"]
        assert shot.sharing.pool_hits > 0
        assert {part.split(" · ")[1] for part in found["parts"]} == {"0", "1"}
        relations = {relation.split(" ")[0] for *_, relations, _ in found["sets"] for relation in relations}
        assert relations == {"", "made", "perfect"}
        several = sum(len(one.parts) > 1 for one in shot.sharing.sets)
        assert f"{several} used by several parts" in found["said"]

    def test_parts_without_a_column_are_counted(self, shot: CacheShot, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("visualizers.caches.MAX_PARTS", 1)
        monkeypatch.setattr("visualizers.caches.MAX_SETS", 2)
        found, whole = CacheView(shot).sharing, shot.sharing
        assert whole is not None
        assert (len(found["parts"]), len(found["sets"])) == (1, 2)
        assert found["more_sets"] == len(whole.sets) - 2
        assert [len(one.parts) for one in whole.sets[:2]] == [
            sum(bool(relation) for relation in relations) + others for *_, relations, others in found["sets"]
        ]

    def test_a_long_run_shows_its_end_and_says_so(self, shot: CacheShot, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("visualizers.caches.MAX_SHOWN", 4)
        view = CacheView(shot)
        assert len(view.visits["us"]) == 4
        assert f"the first {len(shot.record) - 4} are not drawn" in view.head
        assert view.head.startswith(f"{len(shot.record)} masks")

    def test_an_empty_record_is_shown_too(self) -> None:
        assert CacheView(CacheShot(CacheRecord(()))).head == "0 masks in 0.0 µs, at 0 parser states"
        assert "nothing shown" in CacheView().static_html()
        assert "0 masks" in static(CacheShot(CacheRecord(())))
        assert not figure(CacheShot(CacheRecord(()))).data[-1].y

    def test_a_mask_of_another_text_says_so(self, shot: CacheShot) -> None:
        visits = shot.record.visits
        # The text on screen has the later mask after step 2, and the first of those after steps 0 and 1.
        again = replace(visits[2], event=replace(visits[2].event, nanoseconds=visits[2].event.nanoseconds + 1))
        record = CacheRecord((*visits[:4], again))
        present = [visits[0].event, visits[1].event, again.event]
        view = CacheView(replace(shot, record=record, step=2, present=present))
        assert view.visits["other"] == [False, False, True, True, False]
        assert [bool(text) for text in view.visits["token"]] == [True, True, False, False, True]


class TestStatic:
    def test_tables_hold_the_numbers(self, shot: CacheShot) -> None:
        html = static(shot)
        for kind, count in shot.record.totals().items():
            if count:
                word, by = NAMES[kind]
                assert re.search(rf"{word}</td><td[^>]*>{by}</td><td[^>]*>{count}</td>", html)
        assert "<script" not in html
        assert ">perfect at " in html

    def test_the_figure_has_a_bar_for_each_mask_and_names_its_units(self, shot: CacheShot) -> None:
        drawn = figure(shot, note="seed 7")
        assert drawn.layout.annotations[-1].text == "seed 7"
        assert drawn.layout.yaxis.title.text == "µs"
        assert sum(len(trace.x) for trace in drawn.data if trace.type == "bar") == len(shot.record)
        (heat,) = [trace for trace in drawn.data if trace.type == "heatmap"]
        assert list(heat.z[0]) == CacheView(shot).visits["times"]


@pytest.mark.browser
class TestBrowser:
    def test_the_picture_shows_the_engines_numbers(self, shot: CacheShot, bridged: Callable[..., Bridge]) -> None:
        view = CacheView(shot)
        page = bridged(view).page
        expect(page.get_by_test_id("cache-summary")).to_have_text(view.head)
        for word, by, _, count, *_ in view.ways:
            row = page.locator(f'[data-testid=way][data-word="{word}"][data-by="{by}"]')
            assert row.get_attribute("data-count") == str(count)
        picture = page.get_by_test_id("timeline")
        words = [visit.event.kind for visit in shot.record.visits]
        for number, word in enumerate(COLOURS):
            drawn = picture.locator(f"rect.mask-{number}")
            assert drawn.count() == sum(NAMES[kind][0] == word for kind in words)
        heat = picture.locator("rect.heat")
        assert [int(one.get_attribute("data-times") or 0) for one in heat.all()] == view.visits["times"]
        assert picture.locator("polygon").count() == 3
        assert EVIL not in page.content()
        assert shot.sharing is not None
        assert page.get_by_test_id("shared-set").count() == len(shot.sharing.sets)

    def test_a_grammar_that_needed_no_token_set_says_so(self, shot: CacheShot, bridged: Callable[..., Bridge]) -> None:
        assert shot.sharing is not None
        page = bridged(CacheView(replace(shot, sharing=replace(shot.sharing, sets=())))).page
        expect(page.get_by_text("no mask has needed a token set yet")).to_be_visible()

    def test_a_mask_tells_how_it_was_made_and_where(self, shot: CacheShot, bridged: Callable[..., Bridge]) -> None:
        bridge = bridged(CacheView(replace(shot, places={3: "#/here"})))
        page, detail = bridge.page, bridge.page.get_by_test_id("cache-detail")
        visit = shot.record.visits[3]
        expect(detail).to_contain_text(NAMES[visit.event.kind][0])
        expect(detail).to_contain_text("after step 3 before a")
        expect(detail).to_contain_text("in #/here")
        for part in detail.locator(".way").all():
            name = part.inner_text()
            assert part.get_attribute("title") == f"{name}: {STRATEGIES[name]}"
        box = page.get_by_test_id("timeline-hit").bounding_box()
        assert box
        page.mouse.move(box["x"] + 2, box["y"] + 9)
        expect(detail).to_contain_text("after step 0")
        page.mouse.click(box["x"] + box["width"] - 2, box["y"] + 9)
        assert bridge.asked(1) == [{"kind": "goto", "index": shot.record.visits[-1].event.step}]

    def test_the_slowest_masks_lead_to_their_steps(self, shot: CacheShot, bridged: Callable[..., Bridge]) -> None:
        bridge = bridged(CacheView(shot))
        slowest = max(shot.record.visits, key=lambda visit: visit.event.nanoseconds)
        bridge.page.get_by_test_id("slowest").first.click()
        assert bridge.asked(1) == [{"kind": "goto", "index": slowest.event.step}]

    def test_counters_tell_what_changed_last(self, shot: CacheShot, bridged: Callable[..., Bridge]) -> None:
        stats = CacheStats(**{field.name: 5 for field in fields(CacheStats)})
        bridge = bridged(CacheView(replace(shot, stats=stats)))
        page = bridge.page
        page.get_by_test_id("counters").locator("summary").click()
        expect(page.get_by_test_id("counter-mask_hits")).to_have_text("5")
        expect(page.get_by_test_id("delta-mask_hits")).to_have_text("·")
        bridge.widget.show(replace(shot, stats=replace(stats, mask_hits=7)))  # type: ignore[union-attr]
        bridge.push()
        expect(page.get_by_test_id("counter-mask_hits")).to_have_text("7")
        expect(page.get_by_test_id("delta-mask_hits")).to_have_text("+2")

    def test_nothing_is_wider_than_the_page(self, shot: CacheShot, bridged: Callable[..., Bridge]) -> None:
        page = bridged(CacheView(shot)).page
        for width, columns in ((1280, 2), (480, 1)):
            page.set_viewport_size({"width": width, "height": 700})
            page.wait_for_function("() => document.documentElement.scrollWidth <= innerWidth")
            count = "node => getComputedStyle(node).gridTemplateColumns.split(' ').length"
            assert page.get_by_test_id("cache-page").evaluate(count) == columns

    def test_a_page_without_python_follows_the_steps(self, shot: CacheShot, page: Page, tmp_path: Path) -> None:
        view = CacheView()
        view.play_steps(shot, len(STEPS))
        file = tmp_path / "caches.html"
        file.write_text(to_page([view]), encoding="utf-8")
        page.goto(file.as_uri())
        page.wait_for_selector("html[data-ready]")
        page.keyboard.press("ArrowRight")
        expect(page.get_by_test_id("cache-detail")).to_contain_text("after step 1")
        box = page.get_by_test_id("timeline-hit").bounding_box()
        assert box
        page.mouse.click(box["x"] + 2, box["y"] + 9)
        expect(page.get_by_test_id("step-count")).to_contain_text("0 /")


def test_every_kind_has_a_legend_and_a_colour() -> None:
    from typing import get_args

    from kernels_core.inspect.trace import FillKind

    kinds: Any = set(get_args(FillKind))
    assert set(KINDS) == set(NAMES) == kinds
    assert {word for word, _ in NAMES.values()} == set(COLOURS) == {"found", "put together", "made"}
    assert len(set(NAMES.values())) == len(NAMES)


def test_every_counter_has_a_name_of_its_own() -> None:
    assert {name for _, name, *_ in COUNTERS} == {field.name for field in fields(CacheStats)}
    assert len({(what, label, unit) for what, _, label, _, unit in COUNTERS}) == len(COUNTERS)
