"""Judge the JSON Schema front-end: schemas with instances, and texts that follow the masks.

    python -m tests.json_schema.judge_schemas                          # every MaskBench schema of the data folder
    python -m tests.json_schema.judge_schemas --sample 50              # 50 of each file, drawn by --seed
    python -m tests.json_schema.judge_schemas maskbench/Github_easy.jsonl.gz --out verdicts.jsonl
    python -m tests.json_schema.judge_schemas --walks 5 --sample 70    # write 5 texts for each, and have them validated

A schema is *right* when every instance is judged right (`json_judge.py`: some order of the keys, end of text checked),
and when every text that a walk brings to an end is valid (`json_walks.py`, judged by
`workbench/comparing/referee.py`).  A schema that is refused for having no instance is right, too, if the data has no
valid instance either.

Read on: `json_judge.py`, `json_suite.py` (the official test suite), `tests/json_schema/test_maskbench.py`.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, as_completed
from dataclasses import asdict, dataclass, field
from itertools import groupby
from pathlib import Path
from random import Random
from typing import Any

import pandas as pd
from rich.console import Console

from experiments.datasets import Case, CaseName, DataError, default_schemas, find_cases, load_case
from experiments.report import print_tables
from experiments.workers import TrialTimeoutError, WorkerDiedError, WorkerExecutor
from kernels_core import BudgetExceededError, CompiledGrammar, Grammar, Options, UnsupportedSchemaError
from kernels_core.grammar.json_schema.steps import Order
from tests.json_schema.json_judge import Judge, byte_vocabulary
from tests.json_schema.json_walks import mentioned, piece_vocabulary, write_text
from workbench.comparing.referee import Referee, Unjudged

__all__ = [
    "OUTCOMES",
    "CaseVerdict",
    "Judging",
    "by_folder",
    "chosen_cases",
    "folder_of",
    "judge_case",
    "main",
    "reasons",
    "texts",
]

OUTCOMES = (
    "right",
    "refused",
    "wrongly rejected",
    "wrongly accepted",
    "wrong text",
    "too large",
    "too slow",
    "died",
)
_MEMORY_GB = 4.0
_PROGRESS_SECONDS = 10.0


@dataclass(frozen=True)
class Judging:
    """What is asked of each schema.  walks: texts to write; with `instances` False only these count."""

    lenient: bool = False
    order: Order = "any"
    instances: bool = True
    walks: int = 0


@dataclass
class CaseVerdict:
    """One schema.  `outcome` is one of `OUTCOMES`: "too large" went past an engine budget, "died" lost its process.

    reasons: (pointer, keyword, reason) of a refusal, or what is wrong.  wrong: numbers of instances that are misjudged.
    cut_short: searches for an order of keys that were given up (as "not accepted").  texts: written texts by what the
    referee said: valid, wrong, unfinished, or why they could not be judged.  Times are in milliseconds.
    """

    id: str
    file: str
    index: int
    outcome: str = "right"
    reasons: list[tuple[str, str, str]] = field(default_factory=list)
    wrong: list[int] = field(default_factory=list)
    cut_short: int = 0
    texts: dict[str, int] = field(default_factory=dict)
    rules: int = 0
    grammar_ms: float = 0.0
    lowering_ms: float = 0.0


# -- one schema -------------------------------------------------------------------------------------------------------


def judge_case(name: CaseName, judging: Judging = Judging()) -> CaseVerdict:
    """Compile one schema, judge its instances, and write texts."""
    case = load_case(name)
    verdict = CaseVerdict(case.id, name.file, name.index)
    try:
        started = time.perf_counter()
        grammar = Grammar.from_json_schema(case.schema, lenient=judging.lenient, order=judging.order)
        verdict.grammar_ms = (time.perf_counter() - started) * 1e3
        verdict.rules = len(grammar.lazy_ir.rules)  # others are made when a text needs them
        if judging.instances:
            _judge_instances(case, grammar, verdict)
        if judging.walks and verdict.outcome == "right":
            _judge_walks(case, grammar, judging.walks, verdict)
    except UnsupportedSchemaError as error:
        hopeless = all("no instance" in problem.lenient for problem in error.problems)
        if not (hopeless and not any(one.valid for one in case.instances)):
            verdict.outcome = "refused"
        verdict.reasons = [(problem.pointer, problem.keyword, problem.reason) for problem in error.problems]
    except BudgetExceededError as error:
        verdict.outcome, verdict.reasons = "too large", [("", "", str(error))]
    return verdict


def _judge_instances(case: Case, grammar: Grammar, verdict: CaseVerdict) -> None:
    started = time.perf_counter()
    judge = Judge(json.loads(case.schema), CompiledGrammar(grammar, byte_vocabulary(), Options()))
    verdict.lowering_ms = (time.perf_counter() - started) * 1e3
    wrong: dict[bool, list[int]] = {True: [], False: []}
    for number, instance in enumerate(case.instances):
        accepted = judge.accepts(json.loads(instance.text))
        if accepted != instance.valid:
            wrong[accepted].append(number)
    verdict.cut_short = judge.cut_short
    for accepted, outcome in ((True, "wrongly accepted"), (False, "wrongly rejected")):
        if wrong[accepted]:
            verdict.outcome, verdict.wrong = outcome, wrong[accepted]
            return


def _judge_walks(case: Case, grammar: Grammar, walks: int, verdict: CaseVerdict) -> None:
    compiled = CompiledGrammar(grammar, piece_vocabulary(), Options())
    said: Counter[str] = Counter()
    words = mentioned(json.loads(case.schema))
    try:
        referee = Referee(json.loads(case.schema))
    except Unjudged as error:
        referee = None
        verdict.reasons.append(("#", "", f"unjudged: {error}"))
    for number in range(walks):
        text = write_text(compiled, Random(f"{case.id} {number}"), words=words)
        if text is None:
            said["unfinished"] += 1
            continue
        try:
            complaint = referee.complaint(text) if referee else _parses(text)
        except Unjudged as error:
            said[f"unjudged: {error}"] += 1
            continue
        said["wrong" if complaint else "valid" if referee else "unjudged: it is JSON"] += 1
        if complaint:
            verdict.outcome = "wrong text"
            verdict.reasons.append(("#", text[:500], complaint[:500]))
    verdict.texts = dict(said)


def _parses(text: str) -> str | None:
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        return f"not JSON: {error}"
    return None


# -- many schemas -----------------------------------------------------------------------------------------------------


def chosen_cases(names: Sequence[str], sample: int | None = None, seed: int = 0) -> list[CaseName]:
    """All cases of files, folders and `synthetic:SEED`s; with `sample`, at most so many of each file, drawn by `seed`.

    Raises `DataError` where there is nothing.
    """
    found: list[CaseName] = []
    for file, group in groupby(find_cases(names), lambda name: name.file):
        cases = list(group)
        if sample is not None and sample < len(cases):
            cases = sorted(Random(f"{seed} {Path(file).name}").sample(cases, sample), key=lambda name: name.index)
        found += cases
    return found


def _judged(cases: Sequence[CaseName], judging: Judging, jobs: int, seconds: float) -> Iterator[CaseVerdict]:
    """Verdicts as they come, from processes that are stopped after `seconds` of one schema."""
    executor = WorkerExecutor(jobs, timeout_s=seconds, memory_gb=_MEMORY_GB)
    try:
        running: dict[Future[CaseVerdict], CaseName] = {
            executor.submit(judge_case, name, judging): name for name in cases
        }
        for future in as_completed(running):
            name = running.pop(future)
            try:
                yield future.result()
            except TrialTimeoutError as error:
                yield CaseVerdict(f"{name.index}", name.file, name.index, "too slow", [("", "", str(error))])
            except (WorkerDiedError, MemoryError) as error:
                yield CaseVerdict(f"{name.index}", name.file, name.index, "died", [("", "", str(error) or "memory")])
    finally:
        executor.kill()


def by_folder(verdicts: Sequence[CaseVerdict]) -> pd.DataFrame:
    """Counts of outcomes by file, and their sum.  Outcomes besides the usual ones have a column if they occur."""
    usual = OUTCOMES[:4]
    rows: list[dict[str, Any]] = []
    for name, inside in _by_file(verdicts):
        counts = Counter(verdict.outcome for verdict in inside)
        row: dict[str, Any] = {"file": name, "schemas": len(inside)}
        row |= {outcome: counts[outcome] for outcome in usual}
        row |= {outcome: counts[outcome] for outcome in OUTCOMES[4:] if any(v.outcome == outcome for v in verdicts)}
        row["right %"] = round(100 * counts["right"] / max(1, len(inside)), 2)
        row["cut short"] = sum(verdict.cut_short for verdict in inside)
        rows.append(row)
    return pd.DataFrame(rows)


def texts(verdicts: Sequence[CaseVerdict]) -> pd.DataFrame:
    """What became of the texts that were written, by file; "unjudged" sums up all reasons."""
    rows: list[dict[str, Any]] = []
    for name, inside in _by_file(verdicts):
        said = sum((Counter(verdict.texts) for verdict in inside), Counter())
        row: dict[str, Any] = {"file": name, "schemas": sum(bool(verdict.texts) for verdict in inside)}
        row["texts"] = said.total()
        row |= {what: said[what] for what in ("valid", "wrong", "unfinished")}
        row["unjudged"] = said.total() - said["valid"] - said["wrong"] - said["unfinished"]
        rows.append(row)
    return pd.DataFrame(rows)


def folder_of(verdict: CaseVerdict) -> str:
    """The name of a data file without its endings."""
    return Path(verdict.file).name.split(".")[0]


def _by_file(verdicts: Sequence[CaseVerdict]) -> Iterator[tuple[str, list[CaseVerdict]]]:
    for name in sorted({folder_of(verdict) for verdict in verdicts}):
        yield name, [verdict for verdict in verdicts if folder_of(verdict) == name]
    yield "all", list(verdicts)


def _fallen(verdicts: Sequence[CaseVerdict], ratchet: Path) -> list[str]:
    """The files that have fewer right than the table `maskbench` of a TOML file says, of those that were judged."""
    expected: dict[str, int] = tomllib.loads(ratchet.read_text())["maskbench"]
    right = Counter(folder_of(verdict) for verdict in verdicts if verdict.outcome == "right")
    judged = {folder_of(verdict) for verdict in verdicts}
    return [
        f"{name}: {right[name]} right, {least} expected"
        for name, least in expected.items()
        if name in judged and right[name] < least
    ]


def reasons(verdicts: Sequence[CaseVerdict]) -> pd.DataFrame:
    """Why schemas are refused, most frequent first; `located` counts those whose every reason has a pointer."""
    refused = [verdict for verdict in verdicts if verdict.outcome == "refused"]
    counts: Counter[tuple[str, str]] = Counter()
    located: Counter[tuple[str, str]] = Counter()
    for verdict in refused:
        for keyword, reason in {(keyword, reason) for _, keyword, reason in verdict.reasons}:
            counts[keyword, reason] += 1
            located[keyword, reason] += all(
                pointer.startswith("#") or "#" in pointer for pointer, _, _ in verdict.reasons
            )
    return pd.DataFrame(
        [
            {"keyword": keyword, "reason": reason, "schemas": count, "located": located[keyword, reason]}
            for (keyword, reason), count in counts.most_common(40)
        ]
    )


def _times(verdicts: Sequence[CaseVerdict]) -> pd.DataFrame:
    rows = []
    for title, attribute in (("schema to grammar", "grammar_ms"), ("grammar to automata", "lowering_ms")):
        spent = pd.Series([getattr(verdict, attribute) for verdict in verdicts if verdict.rules], dtype=float)
        shares = spent.quantile([0.5, 0.9, 0.99]).round(2)
        rows.append({"step, ms": title, "mean": round(spent.mean(), 2), "p50": shares[0.5], "p90": shares[0.9]})
        rows[-1]["p99"] = shares[0.99]
    return pd.DataFrame(rows)


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns 1 if anything was wrongly accepted, a text is wrong or a count fell, 2 if there is no data."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.json_schema.judge_schemas", description=__doc__.split("\n\n")[0]
    )
    parser.add_argument("files", nargs="*", help="data files (default: all of MaskBench in the data folder)")
    parser.add_argument("--sample", type=int, help="so many schemas of each file")
    parser.add_argument("--seed", type=int, default=0, help="draws the sample")
    parser.add_argument("--walks", type=int, default=0, help="texts to write for each schema, and to validate")
    parser.add_argument("--no-instances", action="store_true", help="only write texts")
    parser.add_argument("--jobs", type=int, default=max(1, (os.cpu_count() or 1) // 2), help="worker processes")
    parser.add_argument("--seconds", type=float, default=60, help="time for one schema")
    parser.add_argument("--lenient", action="store_true", help="approximate what cannot be exact")
    parser.add_argument("--order", choices=("any", "declared"), default="any", help="of members")
    parser.add_argument("--out", type=Path, help="write verdicts there as they come, one JSON object a line")
    parser.add_argument("--ratchet", type=Path, help="a TOML file with the counts that must be right")
    parser.add_argument("--json", action="store_true", help="print the tables as one JSON object")
    chosen = parser.parse_args(arguments)
    try:
        cases = chosen_cases(chosen.files or default_schemas(), chosen.sample, chosen.seed)
    except DataError as error:
        print(error, file=sys.stderr)
        return 2
    judging = Judging(chosen.lenient, chosen.order, not chosen.no_instances, chosen.walks)
    verdicts: list[CaseVerdict] = []
    shown = time.monotonic()
    # In random order, so that what an interrupted run has written stands for the whole.
    shuffled = Random(chosen.seed).sample(cases, len(cases))
    out = chosen.out.open("w") if chosen.out else None
    for verdict in _judged(shuffled, judging, chosen.jobs, chosen.seconds):
        verdicts.append(verdict)
        if out:
            print(json.dumps(asdict(verdict)), file=out, flush=True)
        if verdict.outcome not in ("right", "refused"):
            what = f"{verdict.file} {verdict.index}: {verdict.outcome} {verdict.wrong or ''} {verdict.reasons[:1]}"
            print(what, file=sys.stderr, flush=True)
        if time.monotonic() - shown > _PROGRESS_SECONDS:
            shown = time.monotonic()
            print(f"{len(verdicts):,} of {len(cases):,} schemas", file=sys.stderr, flush=True)
    verdicts.sort(key=lambda verdict: (verdict.file, verdict.index))
    if out:
        out.close()
    tables = {"Schemas": by_folder(verdicts), "Refused": reasons(verdicts), "Time": _times(verdicts)}
    if chosen.walks:
        tables["Written texts"] = texts(verdicts)
    if chosen.json:
        print(json.dumps({name: frame.to_dict("records") for name, frame in tables.items()}, indent=1))
    else:
        print_tables(tables, Console())
    fallen = _fallen(verdicts, chosen.ratchet) if chosen.ratchet else []
    print("".join(f"{line}\n" for line in fallen), end="", file=sys.stderr)
    return 1 if fallen or any(verdict.outcome in ("wrongly accepted", "wrong text") for verdict in verdicts) else 0


if __name__ == "__main__":
    sys.exit(main())
