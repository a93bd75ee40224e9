"""What the claims of the experiments compare, on frames made by hand: sizes, rounds, caches, censored inputs."""

from __future__ import annotations

import json
from typing import Any

import pandas as pd
import pytest

from experiments import ablation, compile_dynamic, dispatch_size, masks, panel_latency, parsers, tools
from experiments.claims import ClaimVerdict, judge, share
from experiments.registry import find_experiment
from workbench.peers.toolsets import Tool, ToolSet


def verdict(module: Any, what: str, frame: pd.DataFrame) -> ClaimVerdict:
    """On the claim of `module` whose text has `what` in it."""
    (claim,) = [claim for claim in module.CLAIMS if what in claim.text]
    (found,) = judge([claim], frame)
    return found


def walked(*times: int, accepted: bool = True) -> dict[str, Any]:
    return {"mask_ns": list(times), "accepted": accepted, "cut": False, "failure": None}


def laddered(step: str, index: int, compile_ns: int, *times: int, compiled: bool = True) -> dict[str, Any]:
    about = {"status": "ok", "engine": step, "file": "f", "index": index}
    return about | {"compiled": compiled, "compile_ns": compile_ns, "cold": [walked(*times)] if compiled else []}


def test_a_step_is_judged_by_preprocessing_and_masks_together() -> None:
    before, after = ablation.NAMES[3:5]
    rows = []
    for index in range(10):
        rows += [laddered(before, index, 1000, 9000), laddered(after, index, 4000, 1000)]
    rows += [laddered(before, 99, 10**9, compiled=False), laddered(after, 99, 10, 10)]  # nothing to compare
    title = after.removeprefix("+ ").capitalize()
    found = verdict(ablation, f"{title}: preprocessing and masks together", pd.DataFrame(rows))
    assert (str(found), found.size, found.units) == ("held", 2.0, 10)


def test_static_requests_are_compared_with_both_caches_on() -> None:
    rows = [
        {"status": "ok", "engine": engine, "setting": "static", "tools": 50, "seed": seed, "compile_ns": [9, spent]}
        for seed in range(10)
        for engine, spent in (("ours", 40), (compile_dynamic.REMEMBERING, 5), ("xgrammar", 10))
    ]
    frame = pd.DataFrame(rows)
    assert verdict(compile_dynamic, "both remembering", frame).size == 0.5
    assert str(verdict(compile_dynamic, "each static request anew", frame)) == "refuted"


@pytest.mark.parametrize("engine", compile_dynamic.ENGINES[:2])
def test_static_requests_find_their_grammar_where_it_is_remembered(engine: str) -> None:
    params = {"engine": engine, "setting": "static", "tools": 5, "seed": 0, "requests": 3, "vocabulary": "demo"}
    assert len(compile_dynamic.trial(params)["compile_ns"]) == 3
    opened = compile_dynamic._open(engine, "demo")
    assert (len(opened.compiler._cache) if engine == compile_dynamic.REMEMBERING else 0) == int(engine != "ours")


def test_a_share_has_an_exact_interval() -> None:
    all_true = share([True] * 50, "requests")
    assert all_true.size == 1.0
    assert all_true.interval() == (pytest.approx(0.9289, abs=1e-3), 1.0)


def test_parsers_are_compared_schema_by_schema() -> None:
    rows = []
    for index, (earley, pushdown) in enumerate(((1, 2), (10, 20), (100, 200), (900, 5), (800, 4))):
        for name, spent in (("earley, none", earley), ("pushdown, none", pushdown)):
            rows.append(laddered(name, index, spent * 1000, 10))
    found = verdict(parsers, "no mechanisms on either side", pd.DataFrame(rows))
    assert found.size == 0.5  # the ratio of the medians is 20: they are of other schemas


def test_wrong_verdicts_of_ours_are_claims() -> None:
    rows = [
        {
            "status": "ok",
            "engine": "ours",
            "file": "f",
            "index": index,
            "compiled": True,
            "compile_ns": 10,
            "valid": [True, False],
            "cold": [walked(1, accepted=True), walked(1, accepted=index == 0)],
        }
        for index in range(10)
    ]
    found = verdict(masks, "accepts no invalid text", pd.DataFrame(rows))
    assert (found.size, found.units, found.word) == (1.0, 10, "refuted")  # one is enough
    few = verdict(masks, "few schemas it refuses", pd.DataFrame(rows))
    assert (few.size, few.word) == (0.0, "undecided")  # of ten that are all right a share of 31 % is possible
    assert few.high > 0.3
    peers = [row | {"engine": "xgrammar", "compiled": row["index"] < 2} for row in rows]
    beside = verdict(masks, "than the best peer", pd.DataFrame([*rows, *peers]))
    assert beside.size == 80.0  # the first is wrong in both, eight the peer refuses


def test_the_first_mask_counts_for_dispatching_tags() -> None:
    times = {
        "kind": "tools",
        "dispatch_compile_ns": 1,
        "dispatch_first_mask_ns": 6,
        "plain_compile_ns": 9,
        "plain_first_mask_ns": 1,
    }
    frame = pd.DataFrame([{"status": "ok", **times}] * 10)
    assert verdict(dispatch_size, "compiles and makes its first mask", frame).size == 0.7
    assert str(verdict(dispatch_size, "The first mask alone", frame)) == "refuted"


def test_a_run_of_a_case_is_a_unit_of_coming_back() -> None:
    rows = [
        {
            "status": "ok",
            "case": case,
            "run": run,
            "forward_ms": [30.0] * 9,
            "back_ms": [20.0 + 20 * (run and case == 4)] * 9,
        }
        for case in range(6)
        for run in range(2)
    ]
    found = verdict(panel_latency, "going back", pd.DataFrame(rows))
    assert (found.word, found.units, round(found.size, 3)) == ("refuted", 12, 1.333)  # one run is enough
    assert str(verdict(panel_latency, "going back", pd.DataFrame(rows[:8] + rows[10:] + rows[:2]))) == "held"


def test_answers_that_a_limit_cut_off_are_told() -> None:
    outcomes = [["schema", "answered", True, 1.0, 1.0, 5, finish, ""] for finish in ("stop", "length")]
    frame = pd.DataFrame(
        [{"status": "ok", "clients": 1, "requests": 2, "outcomes": outcomes, "all_seconds": 1.0, "memory": []}]
    ).assign(left_over=0)
    table = next(iter(find_experiment("service").tables(frame).values()))
    assert table["cut off by the limit, %"].tolist() == [50.0, 50.0]


def test_a_request_is_compiling_and_the_masks_and_accepts_of_one_text() -> None:
    rows = []
    for index in range(10):
        for engine, compile_ns in (("ours", 1000), ("a", 20_000), ("b", 90_000)):
            texts = [walked(7), walked(1000, 2000) | {"accept_ns": [500, 500]}]
            row = {"status": "ok", "engine": engine, "file": "f", "index": index, "compiled": True}
            rows.append(row | {"compile_ns": compile_ns, "valid": [False, True], "cold": texts})
    rows.append(rows[0] | {"index": 99})  # the others did not take it
    found = verdict(masks, "A request, cold, takes at most half of the best peer's time on average", pd.DataFrame(rows))
    assert (str(found), found.units, found.size) == ("held", 10, 5000 / 24_000)


def test_sets_that_are_equal_count_once() -> None:
    rows = [
        {"status": "ok", "engine": engine, "data": "bfcl", "form": "tag", "tools": 500, "set": draw}
        | {"content": "the same", "compiled": True, "compile_ns": spent, "cold": []}
        for draw in range(12)
        for engine, spent in (("ours", 1), ("xgrammar", 900))
    ]
    found = verdict(tools, "in a hundredth of XGrammar's time", pd.DataFrame(rows))
    assert (str(found), found.units) == ("undecided: 1 unit", 1)
    rows = [row | {"content": f"set {row['set']}"} for row in rows]
    assert str(verdict(tools, "in a hundredth of XGrammar's time", pd.DataFrame(rows))) == "held"


def test_tools_without_lengths_are_the_same_otherwise() -> None:
    made = tools.draw_tools(20, 0, 0, made=True)
    bare = tools.without_lengths(made)
    assert "Length" in made.as_tag()
    assert "Length" not in bare.as_tag()
    assert [tool.name for tool in bare.tools] == [tool.name for tool in made.tools]
    named = Tool(
        "f", '{"properties": {"maxLength": {"type": "string", "maxLength": 3}}}'
    )  # a property of that name stays
    (kept,) = tools.without_lengths(ToolSet((named,))).tools
    assert json.loads(kept.parameters) == {"properties": {"maxLength": {"type": "string"}}}
