"""Time the engine on this machine: `python tools/bench.py [--repeat 5]`.

For each grammar: compiling, the first visit of every parser state a text passes through, the same states when they have
been seen, and taking a token.  One thread, Python's call overhead included, the vocabulary's trie built beforehand.
Texts are made here and tokenized; the same text is walked by a fresh compiled grammar (first visits) and then again
(seen states).  Medians and tails over all steps of all repetitions, not averages alone: a first visit can cost a
thousand times a seen state.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table

import kernels_core
from experiments.demo_model import GRAMMAR_FILE
from kernels_core import Grammar, GrammarCompiler, GrammarMatcher, TokenizerInfo, allocate_token_bitmask
from workbench.tokenizers import load_tokenizer

JSON_TEXT = json.dumps(
    {"name": "Ada Lövelace", "tags": ["a", "b\n", ""], "numbers": [0, -1.5e-3, 12345], "deep": [[[{"x": None}]]]}
    | {f"key {i}": {"value": i, "text": "the quick brown fox " * (i % 4)} for i in range(20)},
    ensure_ascii=False,
)
TOOL_TEXT = '<tool_call>{"name": "get_weather", "arguments": {"city": "Lund"}}</tool_call>'
COUNTED = 'root ::= "[" item{1,400} "]"\nitem ::= [a-z0-9 ]{2,200} ";"'
COUNTED_TEXT = "[" + "".join(f"record number {i} with some words;" for i in range(60)) + "]"


@dataclass
class Times:
    """Nanoseconds by what was timed."""

    compile: list[int] = field(default_factory=list)
    first: list[int] = field(default_factory=list)
    seen: list[int] = field(default_factory=list)
    accept: list[int] = field(default_factory=list)


def main() -> None:
    parser = argparse.ArgumentParser(description="Time the engine on this machine.")
    parser.add_argument("--repeat", type=int, default=5, help="fresh compilations of each grammar (default: 5)")
    repeat = max(1, parser.parse_args().repeat)
    tokenizer = load_tokenizer("tekken")
    cases = {
        "any JSON": (Grammar.builtin_json_grammar(), JSON_TEXT),
        "tool calls": (Grammar.from_ebnf(GRAMMAR_FILE.read_text()), TOOL_TEXT),
        "counted": (Grammar.from_ebnf(COUNTED), COUNTED_TEXT),
    }
    # Kept alive: compilers of one vocabulary share its trie for as long as one of them uses it.
    warm = GrammarCompiler(tokenizer.info).compile_grammar('root ::= "a"')
    title = f"Microseconds; {tokenizer.info.vocab_size:,} tokens, {repeat} repetitions, one thread"
    table = Table(title=title, title_justify="left", box=box.SIMPLE)
    for column in ("grammar", "what", "n", "median", "mean", "p99", "max"):
        table.add_column(column, no_wrap=True, justify="left" if column in {"grammar", "what"} else "right")
    for name, (grammar, text) in cases.items():
        times = measure(grammar, tokenizer.info, tokenizer.encode(text), repeat)
        labels = ("compile", "first visit", "seen state", "accept a token")
        for label, values in zip(labels, vars(times).values(), strict=True):
            table.add_row(name, label, *statistics(values))
        table.add_section()
    console = Console()
    console.print(table)
    console.print(
        f"maskscope {kernels_core.__version__}, Python {platform.python_version()}, numpy {np.__version__}, "
        f"{os.cpu_count()} x {processor()}; load {os.getloadavg()[0]:.1f}"
    )
    del warm


def measure(grammar: Grammar, info: TokenizerInfo, tokens: Sequence[int], repeat: int) -> Times:
    """Walk the tokens `repeat` times through fresh compiled grammars; every token must be taken."""
    times = Times()
    bitmask = allocate_token_bitmask(1, info.vocab_size)
    clock = time.perf_counter_ns
    for _ in range(repeat):
        compiler = GrammarCompiler(info, cache_enabled=False)
        start = clock()
        compiled = compiler.compile_grammar(grammar)
        times.compile.append(clock() - start)
        for walk in (times.first, times.seen):
            matcher = GrammarMatcher(compiled)
            for token in tokens:
                known = compiled.cache_stats().mask_misses
                start = clock()
                matcher.fill_next_token_bitmask(bitmask)
                spent = clock() - start
                # In the first walk too a text comes back to states it has seen: those count as seen.
                fresh = compiled.cache_stats().mask_misses > known
                (times.first if fresh else times.seen).append(spent)
                start = clock()
                taken = matcher.accept_token(token)
                if walk is times.seen:
                    times.accept.append(clock() - start)
                if not taken:
                    raise SystemExit(f"the grammar refused token {token} after {matcher.text!r}: the text is wrong")
    return times


def statistics(values: list[int]) -> list[str]:
    us = np.array(values) / 1000
    figures = (float(np.median(us)), float(us.mean()), float(np.quantile(us, 0.99)), float(us.max()))
    return [f"{len(values):,}", *(f"{value:,.2f}" if value < 100 else f"{value:,.0f}" for value in figures)]


def processor() -> str:
    try:
        with open("/proc/cpuinfo") as file:
            return next(line.split(":", 1)[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.machine()


if __name__ == "__main__":
    main()
