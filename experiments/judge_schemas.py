"""Judge the JSON Schema front-end by schemas with instances: wrong acceptances, wrong rejections, refusals, time.

    python -m experiments.judge_schemas                    # every MaskBench schema of the data folder
    python -m experiments.judge_schemas --limit 400 maskbench/Github_easy.jsonl.gz

A schema is *right* when every instance is judged right (`json_judge.py`: `json.dumps` text, keys in some order, end of
text checked).  A schema refused for having no instance is right, too, if the data has no valid instance either.

Read on: `json_judge.py`, `json_suite.py` (the official test suite), `tests/json_schema/test_maskbench.py`.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from kernels_core import (
    BudgetExceededError,
    CompiledGrammar,
    Grammar,
    Options,
    UnsupportedSchemaError,
)

from .datasets import CaseName, DataError, default_schemas, find_cases, load_case
from .json_judge import Judge, byte_vocabulary

__all__ = ["Verdict", "judge_case", "main", "summary"]


@dataclass
class Verdict:
    """One schema.  Times are in milliseconds; `outcome` is one of

    right, refused, too large (an engine budget), too slow, wrongly accepted, wrongly rejected.
    """

    id: str
    file: str
    index: int
    outcome: str = "right"
    reasons: list[str] = field(default_factory=list)
    instances: list[int] = field(default_factory=list)
    grammar_ms: float = 0.0
    lowering_ms: float = 0.0
    rules: int = 0


class _TooSlow(Exception):
    pass


def _ring(*_: object) -> None:
    raise _TooSlow


def judge_case(name: CaseName, *, seconds: int = 60, lenient: bool = False, any_order: bool = False) -> Verdict:
    """Compile one schema and judge its instances; `seconds` bounds the whole (0: no bound, and no signal)."""
    case = load_case(name)
    verdict = Verdict(case.id, name.file, name.index)
    if seconds:
        signal.signal(signal.SIGALRM, _ring)
        signal.alarm(seconds)
    try:
        _judge(case.schema, [(json.loads(one.text), one.valid) for one in case.instances], verdict, lenient, any_order)
    except UnsupportedSchemaError as error:
        hopeless = all("no instance" in problem.lenient for problem in error.problems)
        if not (hopeless and not any(one.valid for one in case.instances)):
            verdict.outcome = "refused"
        verdict.reasons = sorted({f"{problem.keyword}: {problem.reason}" for problem in error.problems})
    except BudgetExceededError as error:
        verdict.outcome, verdict.reasons = "too large", [str(error)]
    except _TooSlow:
        verdict.outcome = "too slow"
    finally:
        if seconds:
            signal.alarm(0)
    return verdict


def _judge(
    schema: str, instances: Iterable[tuple[Any, bool]], verdict: Verdict, lenient: bool, any_order: bool
) -> None:
    started = time.perf_counter()
    grammar = Grammar.from_json_schema(schema, lenient=lenient, any_order=any_order)
    verdict.grammar_ms = (time.perf_counter() - started) * 1e3
    verdict.rules = len(grammar.ir.rules)
    started = time.perf_counter()
    judge = Judge(json.loads(schema), CompiledGrammar(grammar, byte_vocabulary(), Options()))
    verdict.lowering_ms = (time.perf_counter() - started) * 1e3
    wrong: dict[bool, list[int]] = {True: [], False: []}
    for number, (instance, valid) in enumerate(instances):
        accepted = judge.accepts(instance)
        if accepted != valid:
            wrong[accepted].append(number)
    if wrong[True]:
        verdict.outcome, verdict.instances = "wrongly accepted", wrong[True]
    elif wrong[False]:
        verdict.outcome, verdict.instances = "wrongly rejected", wrong[False]


def summary(verdicts: Sequence[Verdict]) -> str:
    """Counts by outcome and by reason, and times."""
    outcomes = Counter(verdict.outcome for verdict in verdicts)
    lines = [f"{len(verdicts):,} schemas: " + ", ".join(f"{count:,} {name}" for name, count in outcomes.most_common())]
    lines.append(f"right: {100 * outcomes['right'] / max(1, len(verdicts)):.2f} %")
    reasons = Counter(reason for verdict in verdicts if verdict.outcome == "refused" for reason in verdict.reasons)
    lines += [f"  refused {count:4}  {reason}" for reason, count in reasons.most_common(25)]
    for verdict in verdicts:
        if verdict.outcome not in ("right", "refused"):
            lines.append(
                f"  {verdict.outcome}: {verdict.file} {verdict.index} {verdict.instances} {verdict.reasons[:1]}"
            )
    for title, times in (
        ("schema to grammar", sorted(verdict.grammar_ms for verdict in verdicts if verdict.rules)),
        ("grammar to automata", sorted(verdict.lowering_ms for verdict in verdicts if verdict.rules)),
    ):
        if times:
            shown = (times[len(times) * share // 100] for share in (50, 90, 99))
            mean = sum(times) / len(times)
            lines.append(f"{title}, ms: mean {mean:.2f}, p50/p90/p99 " + "/".join(f"{value:.2f}" for value in shown))
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns 1 if anything was wrongly accepted."""
    parser = argparse.ArgumentParser(prog="python -m experiments.judge_schemas", description=__doc__.split("\n\n")[0])
    parser.add_argument("files", nargs="*", help="data files (default: all of MaskBench in the data folder)")
    parser.add_argument("--limit", type=int, help="so many schemas, evenly spread")
    parser.add_argument("--jobs", type=int, default=1, help="worker processes")
    parser.add_argument("--seconds", type=int, default=60, help="time for one schema with its instances")
    parser.add_argument("--lenient", action="store_true", help="approximate what cannot be exact")
    parser.add_argument("--any-order", action="store_true", help="members in any order")
    parser.add_argument("--out", type=Path, help="write verdicts there, one JSON object a line")
    chosen = parser.parse_args(arguments)
    try:
        cases = find_cases(chosen.files or default_schemas(), chosen.limit)
    except DataError as error:
        print(error, file=sys.stderr)
        return 2
    judge = partial(judge_case, seconds=chosen.seconds, lenient=chosen.lenient, any_order=chosen.any_order)
    if chosen.jobs > 1:
        with ProcessPoolExecutor(chosen.jobs) as pool:
            verdicts = list(pool.map(judge, cases, chunksize=20))
    else:
        verdicts = [judge(case) for case in cases]
    if chosen.out:
        chosen.out.write_text("".join(json.dumps(asdict(verdict)) + "\n" for verdict in verdicts))
    print(summary(verdicts))
    return 1 if any(verdict.outcome == "wrongly accepted" for verdict in verdicts) else 0


if __name__ == "__main__":
    sys.exit(main())
