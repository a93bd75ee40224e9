"""Ablation on a grammar and texts of one's own: what is measured, what is refused, and how it is stopped."""

from __future__ import annotations

import gc
import math
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from scipy import stats

import workbench as wb
from workbench.comparing import ablating as module
from workbench.comparing.ablating import ALL, MECHANISMS, METRICS, NONE, Ablation, Trial
from workbench.comparing.factorial import contrasts
from workbench.languages import Source
from workbench.panels.ablate import AblatePanel, measured
from workbench.progress import Line

SCHEMA = {"type": "object", "properties": {"a": {"type": "boolean"}}, "required": ["a"], "additionalProperties": False}
TEXT = '{"a": true}'
BYTES = [*(bytes((value,)) for value in range(256)), b"</s>"]


@pytest.fixture(autouse=True)
def collections_look_at_what_is_new() -> Iterator[None]:
    """Each trial collects garbage first, and other tests have left much that stays."""
    gc.freeze()
    yield
    gc.unfreeze()


def found(*trials: Trial, mechanisms: tuple[str, ...] = ("jit",), repeats: int = 3) -> Ablation:
    return Ablation(Source.of(SCHEMA), mechanisms, repeats, "bytes", (b"{}",), trials, len(trials), 6)


def test_each_variant_makes_the_same_masks_as_often_as_asked() -> None:
    result = wb.ablate(SCHEMA, TEXT, tokenizer=BYTES, mechanisms=("jit", "interning"), repeats=3)
    assert result.variants == (NONE, "jit", "interning", ALL)
    assert result.done
    frame = result.to_frame()
    assert len(frame) == 4 * 3
    assert set(frame["masks"]) == {len(TEXT) + 1}
    assert {tuple(group["repeat"].sort_values()) for _, group in frame.groupby("without")} == {(0, 1, 2)}
    # No variant is always the first.
    order = [trial.without for trial in result.trials]
    assert len({order[0], order[4], order[8]}) == 3
    summary = result.summary()
    assert len(summary) == 4 * len(METRICS)
    assert (summary["µs"] > 0).all()
    assert set(summary[summary["without"] == NONE]["times slower"]) == {1.0}
    assert {len(trace.x) for trace in result.plot().data} == {3}
    assert "without all of these" in result._repr_html_()


def test_ratios_are_paired_by_repeat_and_have_students_interval() -> None:
    whole = [Trial(NONE, number, 1000 * (number + 1), 10, 1) for number in range(3)]
    slow = [Trial("jit", number, spent, 10, 1) for number, spent in enumerate((2000, 6000, 9000))]
    effect = next(one for one in found(*whole, *slow).effects() if (one.without, one.metric) == ("jit", "compile"))
    logs = [math.log(2), math.log(3), math.log(3)]
    expected = stats.t.interval(0.95, 2, sum(logs) / 3, stats.sem(logs))
    assert effect.ratio == pytest.approx(18 ** (1 / 3))
    assert (effect.low, effect.high) == pytest.approx(tuple(math.exp(one) for one in expected))
    once = next(one for one in found(whole[0], slow[0]).effects() if (one.without, one.metric) == ("jit", "compile"))
    assert once.ratio == pytest.approx(2)
    assert math.isnan(once.low)


def test_a_factorial_averages_over_the_others_and_tells_what_depends_on_what() -> None:
    spent = {NONE: 1000, "jit": 2000, "cache": 3000, ALL: 12_000}
    trials = [Trial(one, n, (n + 1) * time, 10, 1) for n in range(3) for one, time in spent.items()]
    result = replace(found(*trials, mechanisms=("jit", "cache")), design="factorial")
    worth = {one.without: one for one in result.worth() if one.metric == "compile"}
    assert [*worth] == ["jit, whatever the others do", "cache, whatever the others do", "jit × cache"]
    ratios = [one.ratio for one in worth.values()]
    assert ratios == pytest.approx([math.sqrt(2 * 4), math.sqrt(3 * 6), 2])  # jit is worth 2, without the cache 4
    assert worth["jit × cache"].low == pytest.approx(2)
    assert len(result.summary()) == len(METRICS) * (4 + 3)
    lacking = replace(result, trials=tuple(trials[:3]))
    assert all(math.isnan(one.ratio) for one in lacking.worth())
    refused = replace(result, trials=(*trials, Trial("jit", 0, 0, 0, 0, "too many states")))
    assert {one.refused for one in refused.worth()} == {"too many states"}
    with pytest.raises(ValueError, match="1 of 4 combinations"):
        contrasts({(True, True): [1.0], (True, False): [1.0], (False, False): [1.0]})


def test_all_combinations_of_three_mechanisms_make_the_same_masks() -> None:
    result = wb.ablate(SCHEMA, TEXT, tokenizer=BYTES, repeats=1, design="factorial")
    assert len(result.variants) == len(result.trials) == 8
    options = {str(module._options(result.left_out(one)).to_dict()) for one in result.variants}
    assert len(options) == 8
    assert result.left_out("jit + repetition") == ("jit", "repetition")
    assert {len(trace.x) for trace in result.plot().data} == {7}
    assert "jit × cache × repetition" in result._repr_html_()
    assert wb.ablate(SCHEMA, TEXT, tokenizer=BYTES, mechanisms=("jit",), repeats=1).worth() == ()


def test_the_result_is_told_in_a_sentence() -> None:
    def of(name: str, *spent: int) -> list[Trial]:
        return [Trial(name, number, one, 10, 1) for number, one in enumerate(spent)]

    whole, slow, same = of(NONE, 1000, 1010, 990), of("jit", 8000, 8100, 8200), of("cache", 1000, 1000, 1000)
    both = found(*whole, *slow, *same, *of(ALL, 8200, 8300, 8400), mechanisms=("jit", "cache"))
    assert re.fullmatch(
        r"On this grammar the engine is 8\.\d times as fast \([78]\.?\d? to [89]\.?\d?\) with both; "
        r"most of it is just-in-time masks\.",
        both.verdict,
    )
    assert "no difference with cross-grammar cache or without" in found(*whole, *same, mechanisms=("cache",)).verdict
    assert found(whole[0], slow[0]).verdict == ""  # once is no measurement


def test_a_sessions_own_vocabulary_is_the_default() -> None:
    session = wb.Session(SCHEMA, BYTES)
    assert wb.ablate(session, TEXT, mechanisms=("jit",), repeats=1).tokenizer == session.tokenizer.name
    pytest.importorskip("torch")
    assert wb.ablate(SCHEMA, "yes", model="demo", mechanisms=("jit",), repeats=1).tokenizer == "demo"


def test_what_a_variant_refuses_is_told_and_has_no_number() -> None:
    result = found(Trial(NONE, 0, 1000, 10, 1), Trial("jit", 0, 0, 0, 0, "too many states"))
    effects = {one.without: one for one in result.effects() if one.metric == "total"}
    assert effects["jit"].refused == "too many states"
    assert math.isnan(effects["jit"].ratio)
    assert "refused" in result._repr_html_()
    assert [row[3] for row in measured(result)["effects"] if row[0] == "jit"] == [None] * 3


def test_masks_that_differ_are_a_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    digests = iter(range(10))
    made = lambda *args: (Trial(args[4], args[5], 1000, 1000, 1), next(digests))  # noqa: E731
    monkeypatch.setattr(module, "_trial", made)
    with pytest.raises(RuntimeError, match="masks without jit are others"):
        wb.ablate(SCHEMA, TEXT, tokenizer=BYTES, mechanisms=("jit",))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"mechanisms": ("magic",)}, "no mechanism 'magic'; known: jit, cache"),
        ({"mechanisms": ()}, "needs a mechanism"),
        ({"repeats": 0}, "at least 1"),
        ({"prompts": ()}, "at least one prompt"),
        ({"design": "magic"}, "no design 'magic'; known: leave one out, factorial"),
        ({"design": "factorial", "mechanisms": tuple(MECHANISMS)[:6]}, "has 64 variants: name 5"),
        ({"prompts": '{"a": 1}'}, r"refuses text 1 after '{\"a\": '"),
    ],
)
def test_what_cannot_be_measured_is_refused(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        wb.ablate(SCHEMA, **{"prompts": TEXT, "tokenizer": BYTES, **changes})


def test_an_interruption_returns_what_was_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []

    def say(_line: Line, text: str) -> None:
        told.append(text)
        if len(told) == 5:
            raise KeyboardInterrupt

    monkeypatch.setattr(Line, "say", say)
    result = wb.ablate(SCHEMA, TEXT, tokenizer=BYTES, mechanisms=("jit",), repeats=5)
    assert not result.done
    assert 1 < len(result.trials) < 10
    assert " of 5 repeats" in result.headline
    assert told[1].startswith("0 of 10: repeat 1 of 5, with everything")


def test_a_model_writes_the_texts() -> None:
    pytest.importorskip("torch")
    seen: list[Ablation] = []
    options: Any = {"model": "demo", "mechanisms": ("jit",), "repeats": 1, "tokenizer": BYTES, "max_tokens": 40}
    result = wb.ablate(SCHEMA, ["yes", "no"], **options, progress=seen.append)
    assert result is seen[-1]
    assert len(seen[-1].texts) == 2
    assert all(text.startswith(b"{") for text in seen[-1].texts)
    assert [one.steps for one in seen] == sorted(one.steps for one in seen)
    assert seen[-1].done
    assert "the model writes: no" in [one.doing for one in seen]


def panel_of(explorer: wb.Explorer) -> AblatePanel:
    panel = explorer.panels["ablate"]
    assert isinstance(panel, AblatePanel)
    return panel


def test_the_screen_measures_and_shows_the_code_for_it() -> None:
    with wb.explore(SCHEMA, BYTES) as explorer:
        explorer.session.read(TEXT)
        explorer.session.goto(0)
        panel, name = panel_of(explorer), explorer.session.tokenizer.name
        explorer.views["screen"].pane = "ablate"  # type: ignore[attr-defined]
        panel.received({"kind": "run", "mechanisms": ["jit"], "repeats": 2, "vocabulary": name})
        panel.wait()
        state: Any = explorer.views["ablate"].state  # type: ignore[attr-defined]
        assert state["message"] == ""
        assert (state["running"], state["steps"]) == (False, state["planned"])
        assert len(state["effects"]) == 2 * len(METRICS)
        assert state["table"].count("\n") == 1 + len(state["effects"])
        assert panel.result is not None
        assert panel.result.texts == (TEXT.encode(),)
        assert repr(TEXT) in state["code"]
        assert "mechanisms=('jit',), repeats=2" in state["code"]
        assert "times slower" not in explorer.views["ablate"].static_html()
        assert "without jit" in explorer.views["ablate"].static_html()


def test_a_stop_keeps_what_is_there_and_mistakes_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with wb.explore(SCHEMA, BYTES) as explorer:
        panel = panel_of(explorer)
        explorer.session.read(TEXT)
        trials: list[str] = []
        real = module._trial

        def counted(*args: Any) -> Any:
            trials.append(args[4])
            if len(trials) == 4:
                panel.received({"kind": "stop"})
            return real(*args)

        monkeypatch.setattr(module, "_trial", counted)
        explorer.views["screen"].pane = "ablate"  # type: ignore[attr-defined]
        asked = {"kind": "run", "mechanisms": ["jit"], "repeats": 50, "vocabulary": explorer.session.tokenizer.name}
        panel.received(asked)
        panel.wait()
        assert panel.result is not None
        assert not panel.result.done
        assert len(panel.result.trials) >= 2
        panel.received({**asked, "mechanisms": []})
        panel.wait()
        state: Any = explorer.views["ablate"].state  # type: ignore[attr-defined]
        assert "needs a mechanism" in state["message"]
        panel.received({**asked, "writer": "demo"})
        state = explorer.views["ablate"].state  # type: ignore[attr-defined]
        assert "one prompt a line" in state["message"]
