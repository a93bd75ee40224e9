"""The model cockpit: what is shown is what was recorded, in a page without Python too, and clicks come back."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kernels_core.inspect.trace import FillEvent
from tests.visualizers.bridge import Bridge
from visualizers.glyphs import STOP_TOKEN
from visualizers.live_base import to_page
from workbench.generation.step import Alternative, Step
from workbench.reports.cockpit import CockpitRun, CockpitShot, CockpitView, static

if TYPE_CHECKING:
    from playwright.sync_api import Page

EVIL = b"<img src=x>"


def step(token_id: int, token: bytes, mass: float, *, refused: bytes = b"", drawn: float = 0.5) -> Step:
    likely = [Alternative(token_id, token, math.log(drawn), True)]
    if refused:
        likely.insert(0, Alternative(99, refused, math.log(1 - mass), False))
    return Step(
        index=0,
        token_id=token_id,
        token=token,
        offset=0,
        logprob=math.log(drawn),
        drawn_logprob=math.log(drawn),
        allowed_count=3,
        feasible_mass=mass,
        forced=False,
        is_special=False,
        is_stop=False,
        alternatives=tuple(likely),
        mask_ns=12_500,
        model_ns=1_000_000,
        sample_ns=40_000,
        entropy=1.5 * math.log(2),
        masked_entropy=0.25 * math.log(2),
        fill=FillEvent(0, 0, "miss", 12_500, 8, 1, 0),
        apply_ns=3_000,
        record_ns=5_000,
    )


STEPS = [step(1, b"{", 0.9), step(2, b'"a', 0.2, refused=EVIL, drawn=0.1), step(3, b"}", 1.0)]
OTHER = [STEPS[0], step(7, b'"b', 1.0), step(3, b"}", 1.0)]
SHOT = CockpitShot(
    (
        CockpitRun("under the grammar", STEPS, True, "complete, stop", reasons={(1, 99): 'possible: "<"'}),
        CockpitRun("without", OTHER, False),
    ),
    place=2,
    vocab_size=100,
    again=True,
)


class TestTraits:
    def test_columns_hold_the_steps(self) -> None:
        view = CockpitView(SHOT)
        first, second = view.runs
        assert first["mass"] == [0.9, 0.2, 1.0]
        assert first["us"][0] == [1000.0, 12.5, 3.0, 40.0, 5.0]
        assert (first["parts"], second["parts"]) == (None, 1)
        assert [flags >> 3 & 1 for flags in first["flags"]] == [0, 1, 0]
        assert view.detail["step"] == 1
        assert [option[2:5] for option in view.detail["options"]] == [[0.8, 0.0, False], [0.1, 0.5, True]]

    @pytest.mark.parametrize(("place", "number"), [(0, 0), (1, 0), (2, 1), (3, 2), (9, 2)])
    def test_the_token_taken_last_is_in_detail(self, place: int, number: int) -> None:
        assert CockpitView(replace(SHOT, place=place)).detail["step"] == number

    def test_what_ends_the_text_is_called_as_everywhere(self) -> None:
        ended = CockpitShot((CockpitRun("run", [replace(STEPS[0], token=b"</s>", is_stop=True)]),))
        assert CockpitView(ended).runs[0]["text"] == [STOP_TOKEN]
        assert static(ended).count(STOP_TOKEN) == 2, "on the strip and in the table"

    def test_refused_tokens_of_a_free_run_are_marked(self) -> None:
        view = CockpitView(CockpitShot((CockpitRun("free", STEPS, False, refused_from=1),)))
        assert [flags >> 2 & 1 for flags in view.runs[0]["flags"]] == [0, 1, 1]

    def test_reasons_are_put_in(self) -> None:
        run = replace(SHOT.runs[0], reasons={(1, 99): "because", (2, 99): "another"})
        assert [option[5] for option in CockpitView(CockpitShot((run,), place=2)).detail["options"]] == ["because", ""]

    def test_a_long_run_keeps_its_end(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("workbench.reports.cockpit.MAX_STRIP", 2)
        view = CockpitView(SHOT)
        assert (view.runs[0]["from"], len(view.runs[0]["text"])) == (1, 2)

    def test_nothing_to_show(self) -> None:
        assert CockpitView(CockpitShot(())).runs == []
        assert "nothing shown" in CockpitView().static_html()


def test_tables_are_escaped_and_say_where_runs_part() -> None:
    html = static(SHOT)
    assert "<img" not in html
    assert "&lt;img" in html
    assert "parts at step 2" in html
    assert ">p before the mask<" in html
    assert "80.0 %" in html


@pytest.mark.browser
class TestBrowser:
    def test_the_step_at_hand_is_shown(self, bridged: Callable[..., Bridge]) -> None:
        page = bridged(CockpitView(SHOT)).page
        assert page.get_by_test_id("mass-removed").inner_text() == "80.0 %"
        assert page.get_by_test_id("entropy").inner_text() == "1.50 → 0.25"
        assert page.get_by_test_id("allowed-count").inner_text() == "3 of 100"
        rows = page.get_by_test_id("option")
        assert [rows.nth(k).get_attribute("data-allowed") for k in range(2)] == ["false", "true"]
        assert 'possible: "<"' in rows.first.inner_text()
        assert page.locator(".strip button.now").inner_text() == '"a'
        assert page.get_by_test_id("fork").count() == 1
        for tab, chart in (("run", "mass-chart"), ("time", "time-chart")):
            page.get_by_test_id(f"cockpit-tab-{tab}").click()
            assert page.get_by_test_id(chart).is_visible()

    def test_one_favourite_is_no_favourites(self, bridged: Callable[..., Bridge]) -> None:
        view = CockpitView(SHOT)
        bridge = bridged(view)
        assert "1 overruled •" in bridge.page.get_by_test_id("cockpit-summary").inner_text()
        refused = step(2, b"a", 0.2, refused=EVIL)
        view.show(CockpitShot((CockpitRun("run", [refused, refused]),)))
        bridge.push()
        assert "2 overruled •" in bridge.page.get_by_test_id("cockpit-summary").inner_text()

    def test_tokens_are_numbered_as_the_steps_of_the_text(self, bridged: Callable[..., Bridge]) -> None:
        view = CockpitView(SHOT)
        bridge = bridged(view)
        page = bridge.page
        assert page.get_by_test_id("cockpit-step").inner_text() == 'step 2 "a'
        assert page.get_by_test_id("cockpit-mask").inner_text() == "by the mask after step 1"
        assert page.locator(".strip button").first.get_attribute("title").startswith("step 1:")  # type: ignore[union-attr]
        view.show(replace(SHOT, place=3))
        bridge.push()
        assert page.get_by_test_id("cockpit-step").inner_text() == "step 3 }"
        view.show(replace(SHOT, place=0))
        bridge.push()
        assert page.get_by_test_id("cockpit-step").inner_text() == "next, step 1 {"
        view.show(replace(SHOT, place=3))
        bridge.push()
        page.get_by_test_id("cockpit-tab-run").click()
        assert "step 1 to 3" in (page.get_by_test_id("mass-chart").text_content() or "")

    def test_what_is_left_of_a_mask_is_never_nothing(self, bridged: Callable[..., Bridge]) -> None:
        run = CockpitRun("under the grammar", [step(1, b"{", 1e-17, refused=EVIL, drawn=1e-18)])
        page = bridged(CockpitView(CockpitShot((run,), vocab_size=100))).page
        assert page.get_by_test_id("mass-removed").inner_text() == ">99.9 %"
        assert "&gt;99.9 %" in page.get_by_test_id("cockpit-page").inner_html()
        assert "&gt;99.9 %" in static(CockpitShot((run,))) or ">99.9 %" in static(CockpitShot((run,)))

    def test_a_run_that_is_not_the_present_text_says_so(self, bridged: Callable[..., Bridge]) -> None:
        view = CockpitView(SHOT)
        bridge = bridged(view)
        page = bridge.page
        assert not page.get_by_test_id("cockpit-apart").is_visible()
        view.show(replace(SHOT, apart=1))
        bridge.push()
        assert page.get_by_test_id("cockpit-step").inner_text() == 'step 2 "a'
        assert "differ from step 2 on" in page.get_by_test_id("cockpit-apart").inner_text()
        chips = page.get_by_test_id("cockpit-strip").first.locator("button")
        assert [chips.nth(k).is_disabled() for k in range(3)] == [False, False, True]
        view.show(replace(SHOT, apart=1, cut=True, place=1))
        bridge.push()
        assert "ends after step 1" in page.get_by_test_id("cockpit-apart").inner_text()
        assert [chips.nth(k).is_disabled() for k in range(3)] == [False, True, True]

    def test_numbers_and_legends_are_whole_in_a_slot(self, bridged: Callable[..., Bridge]) -> None:
        tight = step(1, b"{", 1e-17, refused=b"x" * 40, drawn=9.9995e-18)
        page = bridged(CockpitView(CockpitShot((CockpitRun("run", [tight]),)))).page
        page.evaluate("document.getElementById('one').className = 'ms-slot'")
        for width in (250, 400, 560):
            page.evaluate(f"one.style.cssText = 'width: {width}px'")
            page.get_by_test_id("cockpit-tab-step").click()
            cells = page.locator("td.value").all()
            assert cells
            for cell in cells:
                inner, outer = cell.locator(".share").bounding_box(), cell.bounding_box()
                assert inner is not None
                assert outer is not None
                assert inner["x"] >= outer["x"]
                assert inner["x"] + inner["width"] <= outer["x"] + outer["width"]
                assert cell.evaluate("node => node.scrollWidth <= node.clientWidth")
            page.get_by_test_id("cockpit-tab-time").click()
            keys = page.locator(".facts.keys")
            assert keys.evaluate("node => node.scrollWidth <= node.clientWidth")
            assert "record 5.0 µs" in keys.inner_text()

    def test_a_new_second_strip_shows_where_it_parts(self, bridged: Callable[..., Bridge]) -> None:
        long = [step(k, b"word", 1.0) for k in range(60)]
        view = CockpitView(CockpitShot((CockpitRun("first", long),), place=60, again=True))
        bridge = bridged(view)
        page = bridge.page
        page.evaluate("document.getElementById('one').className = 'ms-slot'; one.style.cssText = 'width: 500px'")
        other = CockpitRun("second", [*long[:5], *(step(99, b"else", 1.0) for _ in range(3))], False)
        view.show(CockpitShot((CockpitRun("first", long), other), place=60, again=True))
        strips = page.get_by_test_id("cockpit-strips")
        strips.evaluate("node => { node.scrollLeft = node.scrollWidth; }")
        bridge.push()
        page.wait_for_function(
            """() => { const [strips, fork] = ["cockpit-strips", "fork"].map((name) =>
                 document.querySelector(`[data-testid=${name}]`).getBoundingClientRect());
               return strips.left < fork.left && fork.right < strips.right; }"""
        )

    def test_clicks_and_buttons_ask_python(self, bridged: Callable[..., Bridge]) -> None:
        bridge = bridged(CockpitView(SHOT))
        page = bridge.page
        page.locator(".strip button").nth(2).click()
        page.get_by_test_id("beside").click()
        page.get_by_test_id("other-source").fill("x y")
        page.get_by_test_id("beside-other").click()
        assert bridge.asked(3) == [
            {"kind": "goto", "index": 3},
            {"kind": "beside", "source": ""},
            {"kind": "beside", "source": "x y"},
        ]

    def test_the_stop_button_is_there_while_it_runs(self, bridged: Callable[..., Bridge]) -> None:
        view = CockpitView(SHOT)
        bridge = bridged(view)
        assert not bridge.page.get_by_test_id("cockpit-stop").is_visible()
        view.show(CockpitShot(SHOT.runs[:1], place=3, vocab_size=100, running=True, again=True))
        bridge.push()
        bridge.page.get_by_test_id("cockpit-stop").click()
        assert bridge.asked(1) == [{"kind": "stop"}]
        assert bridge.page.get_by_test_id("beside").is_disabled()

    def test_a_page_without_python_steps(self, page: Page, tmp_path: Path) -> None:
        view = CockpitView()
        view.play_run(SHOT)
        file = tmp_path / "run.html"
        file.write_text(to_page([view]), encoding="utf-8")
        page.goto(file.as_uri())
        page.wait_for_selector("html[data-ready]")
        assert page.get_by_test_id("mass-removed").inner_text() == "10.0 %"
        for _ in range(2):
            page.keyboard.press("ArrowRight")
        assert page.get_by_test_id("step-count").inner_text().startswith("2 /")
        assert page.get_by_test_id("mass-removed").inner_text() == "80.0 %"
        page.locator(".strip button").nth(2).click()
        assert page.get_by_test_id("step-count").inner_text().startswith("3 /")
        assert page.get_by_test_id("mass-removed").inner_text() == "0 %"
        assert not page.get_by_test_id("beside").is_visible()
