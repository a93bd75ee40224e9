"""The model's panel on a desk: it follows a generation, explains, and shows a second strip."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

torch = pytest.importorskip("torch")

from experiments.demo_model import GRAMMAR_FILE  # noqa: E402
from tests.visualizers.test_live import packed  # noqa: E402
from workbench.explorer.dashboard import Dashboard  # noqa: E402
from workbench.generation import LanguageModel, load_model  # noqa: E402
from workbench.panels.model import ModelPanel  # noqa: E402
from workbench.session import Session  # noqa: E402

GRAMMAR = GRAMMAR_FILE.read_text()
PROMPT = "weather in Lund"


@pytest.fixture(scope="module")
def model() -> LanguageModel:
    return load_model("demo")


@pytest.fixture
def desk(model: LanguageModel) -> Iterator[Dashboard]:
    desk = Dashboard(Session(GRAMMAR, model.tokenizer), [ModelPanel])
    desk.show("model")
    yield desk
    desk.close()


def panel_of(desk: Dashboard) -> ModelPanel:
    panel = desk.panels["model"]
    assert isinstance(panel, ModelPanel)
    return panel


def test_before_any_generation_it_is_empty(desk: Dashboard) -> None:
    assert panel_of(desk).view.runs == []
    panel_of(desk).received({"kind": "beside"})
    assert panel_of(desk).view.about["message"] == "nothing was generated yet"


def test_it_shows_the_run_and_follows_the_place(desk: Dashboard, model: LanguageModel) -> None:
    trace = desk.session.run(model, PROMPT, seed=2)
    view = panel_of(desk).view
    assert view.runs[0]["p"] == [float(f"{step.probability:.4g}") for step in trace.steps]
    assert view.place == len(trace)
    assert view.about["again"]
    desk.do("goto", index=5)
    assert (view.place, view.detail["step"]) == (5, 4), "step 5 was taken last, in the ribbon and here"
    assert desk.session.steps[4].token_id == view.detail["id"]
    allowed = view.detail["allowed"]
    desk.do("goto", index=4)
    desk.screen.pane = "place"  # where one sees how many may come
    here = desk.screen.here
    assert here["where"].endswith(f"after step 4 of {len(trace)}")
    assert here["end"].endswith(f"{allowed:,} tokens allowed"), "the mask that step 5 was drawn from"
    desk.show("model")
    desk.do("goto", index=5)
    refused = [option for option in view.detail["options"] if not option[4]]
    assert refused
    assert all(option[5] for option in refused), "every refused token has its reason"
    told = {(4, option[0]): option[5] for option in refused}
    asked = {key: why for key, why in trace.generation.refusals.items() if key[0] == 4}
    assert asked
    assert told.items() >= asked.items(), "a reason is that of the place before the step"
    assert desk.troubles == {}


def test_a_run_that_is_no_longer_the_text_is_followed_as_far_as_both_agree(
    desk: Dashboard, model: LanguageModel
) -> None:
    trace = desk.session.run(model, PROMPT, seed=2)
    view = panel_of(desk).view
    assert view.about["apart"] is None
    desk.do("goto", index=4)
    assert view.about["apart"] is None, "what was undone is still the text"
    token = trace.generation.tokens[4]
    other = next(int(one) for one in desk.session.inspect.allowed_array() if one != token)
    desk.do("token", id=other)
    assert (view.place, view.about["apart"], view.about["cut"]) == (5, 4, False), "what the run had in its place"
    assert [option[5] for option in view.detail["options"] if not option[4]].count("") == 0
    desk.do("goto", index=2)
    assert (view.place, view.about["apart"]) == (2, 4)
    desk.do("prefix", text="")
    assert (view.place, view.about["apart"], view.about["cut"]) == (0, 0, True)
    assert desk.troubles == {}


def test_it_is_live(desk: Dashboard, model: LanguageModel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workbench.explorer.dashboard.REFRESH_SECONDS", 0)
    view = panel_of(desk).view
    seen: list[tuple[int, bool]] = []

    def look(change: dict[str, object]) -> None:
        seen.append((len(view.runs[0]["text"]) if view.runs else 0, bool(view.about.get("running"))))

    view.observe(look, names="place")
    trace = desk.session.run(model, PROMPT, seed=2)
    counts = [count for count, running in seen if running]
    assert counts == sorted(counts)
    assert len(set(counts)) > len(trace) // 2
    assert not view.about["running"]


def test_the_stop_button_ends_the_run(desk: Dashboard, model: LanguageModel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "workbench.explorer.dashboard.REFRESH_SECONDS", 0
    )  # a quick run would be over before it is drawn
    view = panel_of(desk).view
    view.observe(
        lambda _: panel_of(desk).received({"kind": "stop"}) if view.about.get("running") else None, names="place"
    )
    trace = desk.session.run(model, PROMPT, seed=2)
    assert trace.generation.finish_reason == "interrupted"


def test_a_second_strip_shows_the_run_without_the_grammar(desk: Dashboard, model: LanguageModel) -> None:
    trace = desk.session.run(model, PROMPT, seed=2)
    panel = panel_of(desk)
    panel.beside().join(timeout=60)
    assert [run["constrained"] for run in panel.view.runs] == [True, False]
    assert panel.view.runs[1]["parts"] is not None
    assert desk.session.trace is not None
    assert desk.session.trace.generation.tokens == trace.generation.tokens, "the session did not move"


def test_a_second_strip_shows_the_run_under_another_source(desk: Dashboard, model: LanguageModel) -> None:
    desk.session.run(model, PROMPT, seed=2)
    panel = panel_of(desk)
    panel.received({"kind": "beside", "source": '{"enum": ["Lund", "Malm"]}'})
    panel.wait()
    first, second = panel.view.runs
    assert second["name"] == 'under {"enum": ["Lund", "Malm"]}'
    assert second["constrained"]
    assert "".join(second["text"]).replace("␣", " ").startswith(('"Lund"', '"Malm"'))
    assert "".join(first["text"]) != "".join(second["text"])
    panel.received({"kind": "beside", "source": "root ::= ((("})
    assert panel.view.about["message"]


def test_a_free_run_is_marked_where_the_grammar_refuses_it(desk: Dashboard, model: LanguageModel) -> None:
    trace = desk.session.run(model, PROMPT, seed=2, constrained=False)
    assert trace.refused_from is not None
    refused = [flags >> 2 & 1 for flags in panel_of(desk).view.runs[0]["flags"]]
    assert refused == [0] * trace.refused_from + [1] * (len(trace) - trace.refused_from)


def test_traces_branch_in_their_session(desk: Dashboard, model: LanguageModel) -> None:
    trace = desk.session.run(model, PROMPT, seed=2)
    other = trace.branch(10)
    assert other.generation.tokens == trace.generation.tokens
    assert other.session is desk.session
    assert "cockpit" in {part["module"] for part in packed(other.to_html())["parts"]}
