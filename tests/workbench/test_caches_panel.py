"""The caches' panel on a desk: its numbers are the engine's, live and for a finished run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest

import workbench as wb
from tests.workbench.vocabulary import GRAMMAR
from visualizers.caches import _part
from workbench.explorer.dashboard import Dashboard
from workbench.panels.caches import CachesPanel
from workbench.session import Session
from workbench.tokenizers import Tokenizer


@pytest.fixture
def desk(tokenizer: Tokenizer) -> Iterator[Dashboard]:
    desk = Dashboard(Session(GRAMMAR, tokenizer), [CachesPanel])
    desk.show("caches")
    yield desk
    desk.close()


def counts(desk: Dashboard) -> dict[str, int]:
    found: Counter[str] = Counter()
    for word, _, _, count, *_ in desk.views["caches"].ways:
        found[word] += count
    return found


def test_the_picture_counts_what_the_engine_counts(desk: Dashboard) -> None:
    session = desk.session
    for byte in b'[1, "a", "b"':
        session.edits.byte(byte)
    stats = session.inspect.cache_stats()
    found = counts(desk)
    assert found["found"] == stats.mask_hits
    assert sum(found.values()) == stats.mask_hits + stats.mask_misses == len(session.inspect.cache_record())
    view = desk.views["caches"]
    assert view.stats["masks"] == stats.masks
    assert len(view.visits["us"]) == sum(found.values())
    assert view.step == session.index
    assert desk.troubles == {}


def test_masks_of_a_text_that_an_edit_replaced_are_told_apart(desk: Dashboard) -> None:
    session, view = desk.session, desk.views["caches"]
    session.read('[1, "a"')
    assert not any(view.visits["other"])
    session.read("[2")
    other = [(step, other) for step, other in zip(view.visits["step"], view.visits["other"], strict=True)]
    assert [step for step, one in other if not one] == list(range(session.index + 1))
    assert len(other) > session.index + 1


def test_a_tool_goes_by_its_name() -> None:
    """Rules of a call are called after the whole format, and those of a schema after the tool."""
    for part in ("get_weather", "function_get_weather", "tool_call_name_get_weather_arguments", "get_weather_1"):
        assert _part(part, ["get", "get_weather", "get-time"]) == "get_weather"
    assert _part("call_get_time_arguments", ["get_weather", "get-time"]) == "get-time"
    assert _part("forget_weathers", ["get_weather"]) == "forget_weathers"
    tool = {"name": "get_weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}
    desk = Dashboard(Session([{"type": "function", "function": tool}], "tekken"), [CachesPanel])
    desk.show("caches")
    desk.session.read('<tool_call>\n{"name": "get_weather", "arguments": {"city": "Lu')
    parts = set(desk.views["caches"].sharing["parts"])
    assert "get_weather" in parts
    assert not [part for part in parts - {"get_weather"} if "get_weather" in part]
    desk.close()


def test_looking_adds_no_masks(desk: Dashboard) -> None:
    before = desk.session.inspect.cache_stats()
    assert desk.views["caches"].sharing["grammars"]
    desk.refresh()
    assert desk.panels["caches"].static_html()
    assert desk.session.inspect.cache_stats() == before


def test_another_grammar_begins_anew(desk: Dashboard) -> None:
    desk.session.set_grammar('root ::= "x" "y"*')
    assert sum(counts(desk).values()) == desk.session.inspect.cache_stats().mask_misses
    found = wb.caches(desk.session)
    assert found.sharing is not None
    assert len(found.sharing.grammars) == 2
    assert len(found.record) == sum(counts(desk).values())


def test_token_sets_of_earlier_grammars_are_not_listed(tokenizer: Tokenizer) -> None:
    options = wb.Options.laboratory(direct_limit=0, warm_start=False)  # token sets, however little is allowed
    session = Session('root ::= "[" [a-z]+ "]"', tokenizer, options=options)
    session.read("[a")
    before = session.inspect.compiled  # held, as whoever goes back to it does
    desk = Dashboard(session, [CachesPanel])
    desk.show("caches")
    view = desk.views["caches"]
    assert not any(part.endswith(" · before") for part in view.sharing["parts"])
    session.set_grammar(GRAMMAR)
    session.read('["a')
    assert before is not session.inspect.compiled
    shared = view.sharing
    mine = [at for at, part in enumerate(shared["parts"]) if not part.endswith(" · before")]
    uses = [any(relations[at] for at in mine) for *_, relations, _ in shared["sets"]]
    assert uses
    assert all(uses)
    assert shared["said"].startswith(f"{len(uses)} token set")
    found = wb.caches(session)
    assert found.current == 1
    assert found.sharing is not None
    assert len(found.sharing.sets) > len(uses)
    desk.close()


def test_caches_of_a_session_are_a_table_a_figure_and_a_display(desk: Dashboard) -> None:
    found = wb.caches(desk.session)
    frame = found.to_frame()
    assert {"kind", "microseconds", "nbytes", "set_id", "where", "first_visit"} <= set(frame.columns)
    assert "parser state" in found._repr_html_()
    assert found.plot().layout.annotations[-1].text
    assert found.view().steps


class TestWithAModel:
    def test_a_generations_masks_are_in_the_record(self) -> None:
        pytest.importorskip("torch")
        from experiments.demo_model import GRAMMAR_FILE
        from workbench.generation import load_model

        model = load_model("demo")
        session = Session(GRAMMAR_FILE.read_text(), model.tokenizer)
        before = len(session.inspect.cache_record())
        trace = session.run(model, "weather in Lund", seed=2)
        assert trace.generation.masks is not None
        run = [visit.event for visit in trace.generation.masks.visits]
        assert [step.fill for step in trace.steps] == run[: len(trace)]
        events = [visit.event for visit in session.inspect.cache_record().visits]
        assert events[before : before + len(run)] == run
        session.edits.byte() if not session.inspect.is_terminated else session.back()
        stats = session.inspect.cache_stats()
        assert len(session.inspect.cache_record()) == stats.mask_hits + stats.mask_misses
