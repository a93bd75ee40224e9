"""What a benchmark trial measures of one engine and one input, and how trials are read together.

`measure` compiles once and walks every text twice; `samples` gathers times by metric and engine; `verdicts` counts who
was right.  Used by `masks.py` and `tools.py`; the stepping itself is in `walk.py`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Final, NotRequired, TypedDict, TypeVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from experiments.columns import Column, Table, finished
from experiments.datasets import CaseName, load_case
from experiments.tails import ENGINE
from experiments.trial import Params
from experiments.walk import Walk, walk
from workbench.peers.base import Constraint, Engine, RefusedError, quiet

REPEAT: Final = "repeat"
"""The parameter that tells one pass over the grid from another (`registry.repeated`); the first has none."""
SCHEMA: Final = ("file", "index")
"""The parameters that name a schema."""
METRICS: Final = (
    "request",
    "compile",
    "time to first mask",
    "mask",
    "mask, first visits",
    "mask, seen before",
    "accept",
    "mask + accept",
)
COUNTED: Final = (
    Column("valid refused", help="valid texts that it refused; blank where none was tried"),
    Column("invalid accepted", help="invalid texts that it accepted; blank where none was tried"),
    Column("unjudged", help="texts that were cut short, so that nothing is known of their end"),
    Column("engine errors", help="texts on which the engine failed while reading"),
    Column("mask too narrow", help="tokens that its mask forbids although it accepts them"),
    Column("mask too wide", help="tokens that its mask allows although it then refuses them"),
    Column("tokens", help="tokens that were taken"),
)
COUNTS: Final = tuple(column.key for column in COUNTED)
VERDICTS: Final = (
    ENGINE,
    Column("inputs", help="inputs that were tried"),
    Column("compiled", help="inputs that the engine took"),
    Column("refused", help="inputs that it refused by its own word"),
    Column("failed", help="crash, time limit or other error while compiling"),
    Column("not run", help="inputs that were not tried, because something is not installed or not built"),
    Column("wrong inputs", help="inputs with at least one wrong verdict on a text"),
    *COUNTED,
)
"""Of the table that `verdicts` gives."""
REFUSED: Final = Column("refused", help="inputs that it refused by its own word")
MISTAKES: Final = (
    Column("text", help="number of the text among those of its input"),
    Column("verdict", help="what the text is, and what the engine said"),
    Column("taken", help="tokens taken, of those of the text"),
)
"""Of the table that `mistakes` gives, behind the engine and the names of the input."""

T = TypeVar("T")
Times = npt.NDArray[np.int64]
Case = tuple[object, ...]


def rotate(engines: Sequence[T], number: int) -> list[T]:
    """The engines in the order of input `number`: none is always the first to run."""
    turn = number % max(len(engines), 1)
    return [*engines[turn:], *engines[:turn]]


def in_turns(key: str, names: Sequence[str], cases: Sequence[Params], shared: Params, turn: int = 1) -> list[Params]:
    """A trial for each case and each of `names`, which is its parameter `key`.  One name takes `turn` cases, then the
    next name takes the same cases; which name is first rotates."""
    return [
        {key: name, **case, **shared}
        for number, start in enumerate(range(0, len(cases), turn))
        for name in rotate(names, number)
        for case in cases[start : start + turn]
    ]


class Measured(TypedDict):
    """The metrics of one input in one engine; without `refusal` where it was taken, without what stands below it where
    it was not.  `cold`, `warm`: the two passes over all texts, in order.  `valid`: which texts the input allows."""

    version: str
    valid: list[bool]
    compiled: bool
    compile_ns: int
    refusal: NotRequired[str]
    first_mask_ns: NotRequired[int | None]
    cold: NotRequired[list[Walk]]
    warm: NotRequired[list[Walk]]


def measure(
    engine: Engine,
    compile_input: Callable[[], Constraint],
    texts: Sequence[tuple[str, bool]],
    *,
    max_tokens: int | None = None,
) -> Measured:
    """One input in one engine.

    texts: with whether the input allows them.  max_tokens: walk no more of each.
    """
    tokens = [engine.tokenizer.encode(text) for text, _ in texts]
    valid = [right for _, right in texts]
    with quiet():
        start = time.perf_counter_ns()
        try:
            constraint = compile_input()
        except RefusedError as error:
            spent = time.perf_counter_ns() - start
            refusal = str(error)[:300]
            return Measured(version=engine.version, valid=valid, compiled=False, compile_ns=spent, refusal=refusal)
        spent = time.perf_counter_ns() - start
        seen: set[int] = set()
        # Without texts the first mask is asked for all the same, for the time to it.
        cold, warm = (
            [walk(constraint, text, engine.stop_token_ids, seen=seen, limit=max_tokens) for text in pass_texts]
            for pass_texts in (tokens or [[]], tokens)
        )
    first = cold[0]["mask_ns"][:1]
    return Measured(
        version=engine.version,
        valid=valid,
        compiled=True,
        compile_ns=spent,
        first_mask_ns=first[0] if first else None,
        cold=cold if tokens else [],
        warm=warm,
    )


def measure_case(engine: Engine, params: Params) -> dict[str, object]:
    """The schema that a trial names (`file`, `index`), in one engine, with its `max_tokens`."""
    case = load_case(CaseName(params["file"], params["index"]))
    measured = measure(
        engine,
        lambda: engine.compile_source("json_schema", case.schema),
        case.instances,
        max_tokens=params["max_tokens"],
    )
    return {"id": case.id, **measured}


def first_valid(row: Measured) -> int | None:
    """The place of the first text that the input allows and the engine read to its end."""
    pairs = enumerate(zip(row["valid"], row["cold"], strict=bool(row["cold"])))
    return next((at for at, (valid, one) in pairs if valid and one["accepted"]), None)


def request_ns(row: Measured, text: int) -> int:
    """What a request costs that writes one text, cold: compiling, and all its masks and accepts."""
    one = row["cold"][text]
    return int(row["compile_ns"] + sum(one["mask_ns"]) + sum(one["accept_ns"]))


def samples(frame: pd.DataFrame, keys: Sequence[str], *, common: bool) -> dict[str, dict[str, Times]]:
    """Nanoseconds by metric and engine.

    keys: the columns that name an input.
    common: only inputs that every engine compiled, and of each text only the steps that every engine made: the same
    tokens for all.  Otherwise each engine counts all that it did.  Engines with no finished trial are left out.
    """
    if REPEAT in frame:
        frame = frame.assign(**{REPEAT: frame[REPEAT].fillna(0).astype(int)})
    rows = _compiled(frame, keys)
    engines = list(rows)
    if common and rows:
        shared = set.intersection(*(set(cases) for cases in rows.values()))
        rows = {engine: {case: row for case, row in cases.items() if case in shared} for engine, cases in rows.items()}
    found: dict[str, dict[str, list[int]]] = {metric: {engine: [] for engine in engines} for metric in METRICS}
    for engine, cases in rows.items():
        for case, row in cases.items():
            found["compile"][engine].append(row["compile_ns"])
            at = first_valid(row)
            if at is not None and (not common or all(other[case]["cold"][at]["accepted"] for other in rows.values())):
                found["request"][engine].append(request_ns(row, at))
            if row["first_mask_ns"] is not None:
                found["time to first mask"][engine].append(row["compile_ns"] + row["first_mask_ns"])
            for number, (cold, warm) in enumerate(zip(row["cold"], row["warm"], strict=True)):
                walks = [other[case]["cold"][number] for other in rows.values()] if common else [cold]
                masks = min(len(other["mask_ns"]) for other in walks)
                accepts = min(len(other["accept_ns"]) for other in walks)
                times = cold["mask_ns"][:masks]
                found["mask"][engine] += times
                # `fresh` is empty where an engine names no states, and longer than what is shared.
                found["mask, first visits"][engine] += (
                    spent for spent, mark in zip(times, cold["fresh"], strict=False) if mark == "1"
                )
                found["mask, seen before"][engine] += warm["mask_ns"][:masks]
                found["accept"][engine] += cold["accept_ns"][:accepts]
                # All that a token costs, whichever of the two an engine does its work in.
                both = zip(times[:accepts], cold["accept_ns"], strict=False)
                found["mask + accept"][engine] += (mask + accept for mask, accept in both)
    return {
        metric: {engine: np.asarray(times, dtype=np.int64) for engine, times in by_engine.items() if times}
        for metric, by_engine in found.items()
    }


def verdicts(frame: pd.DataFrame) -> pd.DataFrame:
    """One row an engine, by the keys of `VERDICTS`: what it took, what it refused, and where it was wrong.

    Mask and accept disagree as `walk.py` says.
    """
    rows = []
    for engine, group in frame.groupby("engine", sort=False):
        done = finished(group).to_dict("records")
        compiled = [row for row in done if row["compiled"]]
        counts = pd.DataFrame([_count(row["valid"], row["cold"]) for row in compiled], columns=list(COUNTS))
        by_status = {
            "inputs": len(group),
            "compiled": len(compiled),
            "refused": len(done) - len(compiled),
            "failed": int((group["status"] == "error").sum()),
            "not run": int((group["status"] == "not run").sum()),
            "wrong inputs": int(((counts["valid refused"] + counts["invalid accepted"]) > 0).sum()),
        }
        told: dict[str, int | None] = {name: int(counts[name].sum()) for name in COUNTS}
        for name, kind in (("valid refused", True), ("invalid accepted", False)):
            if not any(kind in row["valid"] for row in compiled):
                told[name] = None
        rows.append({"engine": engine} | by_status | told)
    return pd.DataFrame(rows)


def verdicts_by(compared: Column = ENGINE) -> Table:
    """The table of `verdicts`; compared: the head of its rows."""
    return Table("Verdicts", (compared, *VERDICTS[1:]), rows=verdicts, unfinished=True)


def mistakes(frame: pd.DataFrame, keys: Sequence[str], most: int = 20) -> pd.DataFrame:
    """The first `most` wrong verdicts: engine, input, number of the text, what it is, how many tokens were taken."""
    rows: list[dict[str, object]] = []
    done = finished(frame)
    for row in done.to_dict("records"):
        if not row["compiled"]:
            continue
        for number, (right, one) in enumerate(zip(row["valid"], row["cold"], strict=True)):
            if _is_judged(one) and right != one["accepted"]:
                where = {key: row[key] for key in ("engine", *keys)}
                what = "valid, refused" if right else "invalid, accepted"
                rows.append(where | {"text": number, "verdict": what, "taken": f"{one['taken']} of {one['tokens']}"})
    return pd.DataFrame(rows[:most], columns=["engine", *keys, "text", "verdict", "taken"])


def judged(row: Measured) -> list[tuple[bool, bool]]:
    """Of each text that the engine judged to its end: whether the input allows it, and whether the engine took it."""
    texts = zip(row["valid"], row["cold"], strict=True)
    return [(right, one["accepted"]) for right, one in texts if _is_judged(one)]


def _is_judged(one: Walk) -> bool:
    return not one["cut"] and one["failure"] is None


def _count(valid: Sequence[bool], cold: Sequence[Walk]) -> dict[str, int]:
    count = dict.fromkeys(COUNTS, 0)
    for right, one in zip(valid, cold, strict=True):
        was_judged = _is_judged(one)
        count["valid refused"] += was_judged and right and not one["accepted"]
        count["invalid accepted"] += was_judged and not right and one["accepted"]
        count["unjudged"] += one["cut"]
        count["engine errors"] += one["failure"] is not None
        count["mask too narrow"] += one["hidden"]
        count["mask too wide"] += one["false_hope"]
        count["tokens"] += one["taken"]
    return count


def _compiled(frame: pd.DataFrame, keys: Sequence[str]) -> dict[str, dict[Case, Measured]]:
    """Rows of compiled inputs by engine and input."""
    found: dict[str, dict[Case, Measured]] = {}
    done = finished(frame)
    for row in done.to_dict("records"):
        cases = found.setdefault(str(row["engine"]), {})
        if row["compiled"] is True:
            cases[tuple(row.get(key, 0) for key in (*keys, REPEAT))] = _whole(row)
    return found


def _whole(row: Measured) -> Measured:
    """A row as it was recorded: a column with gaps turns whole numbers into floating ones, and None into NaN."""
    first = row["first_mask_ns"]
    return {**row, "compile_ns": int(row["compile_ns"]), "first_mask_ns": None if pd.isna(first) else int(first or 0)}
