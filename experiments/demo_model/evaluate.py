"""How often the demo model's answers can be run: `python -m experiments.demo_model.evaluate`.

Each prompt is answered twice with the same seed: sampled freely, and under `tool_calls.ebnf`.  Claim: free answers are
often wrong, constrained ones never; a single wrong constrained answer refutes it and makes the command fail.
Prompts come from the generator with a seed that training did not use.  `--model` takes any model that
`workbench.generation.load_model` does.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from rich.console import Console
from rich.progress import track
from rich.table import Table

from experiments.demo_model.dialogues import Dialogue, dialogues
from experiments.demo_model.tools import grammar_text, judge
from kernels_core import CompiledGrammar, GrammarMatcher
from workbench.generation import Generation, LanguageModel, generate, load_model

__all__ = ["LONGEST_ANSWER", "Score", "evaluate", "main"]

PROMPT_SEED = 1_000

# Bytes of the longest text of the grammar: two messages of two texts each, all characters of four bytes.
# A token has at least one byte, so this budget never cuts a constrained answer short.
LONGEST_ANSWER = 720


@dataclass
class Score:
    """What came of one way of sampling, over all prompts."""

    answers: int = 0
    valid: int = 0
    in_grammar: int = 0
    as_asked: int = 0
    tokens: int = 0
    log_feasible_mass: float = 0.0
    faults: Counter[str] = field(default_factory=Counter)

    def add(self, generation: Generation, dialogue: Dialogue, compiled: CompiledGrammar) -> None:
        """Judge one answer: as an application (`judge`), by the grammar, and against the calls that were asked for."""
        fault = judge(generation.text)
        self.answers += 1
        self.valid += fault is None
        self.in_grammar += _in_language(compiled, generation.text_bytes)
        self.as_asked += generation.text == dialogue.answer
        self.tokens += len(generation)
        self.log_feasible_mass += generation.log_feasible_mass
        if fault is not None:
            self.faults[fault] += 1


def evaluate(
    model: LanguageModel, prompts: Sequence[Dialogue], *, temperature: float = 1.0, seed: int = 0
) -> tuple[Score, Score]:
    """Answer each prompt freely and constrained; returns (free, constrained).  Ctrl-C raises KeyboardInterrupt."""
    compiled = model.compiler.compile_grammar(grammar_text())
    free, constrained = Score(), Score()
    for number, dialogue in enumerate(track(prompts, description="answering", transient=True)):
        for score, grammar in ((free, None), (constrained, compiled)):
            generation = generate(
                model,
                dialogue.request,
                grammar,
                max_tokens=LONGEST_ANSWER if grammar else 300,
                temperature=temperature,
                seed=seed + number,
                alternatives=0,
            )
            if generation.finish_reason == "interrupted":
                raise KeyboardInterrupt
            score.add(generation, dialogue, compiled)
    return free, constrained


def _in_language(compiled: CompiledGrammar, text: bytes) -> bool:
    matcher = GrammarMatcher(compiled)
    return bool(text) and matcher.accept_string(text) and matcher.is_completed()


def _report(free: Score, constrained: Score) -> Table:
    table = Table(title=f"{free.answers} prompts, each answered twice")
    table.add_column("")
    table.add_column("free", justify="right")
    table.add_column("constrained", justify="right")

    def share(count: int, score: Score) -> str:
        low, high = _interval(count, score.answers)
        return f"{count / score.answers:.1%}  ({low:.0%} to {high:.0%})"

    for label, name in (("can be run", "valid"), ("in the grammar", "in_grammar"), ("the calls asked for", "as_asked")):
        table.add_row(label, *(share(getattr(score, name), score) for score in (free, constrained)))
    table.add_row("tokens", *(f"{score.tokens:,}" for score in (free, constrained)))
    table.add_row("mean log feasible mass", "", f"{constrained.log_feasible_mass / constrained.answers:.2f} nats")
    table.add_section()
    for fault, _ in (free.faults + constrained.faults).most_common():
        table.add_row(f"fault: {fault}", str(free.faults[fault]), str(constrained.faults[fault]))
    return table


def _interval(count: int, total: int, z: float = 1.96) -> tuple[float, float]:
    """Wilson's 95 % interval of a share."""
    share = count / total
    centre = share + z * z / (2 * total)
    spread = z * math.sqrt(share * (1 - share) / total + z * z / (4 * total * total))
    scale = 1 + z * z / total
    return max(0.0, (centre - spread) / scale), min(1.0, (centre + spread) / scale)


def main(arguments: list[str] | None = None) -> int:
    """The command line; 1 when a constrained answer was wrong."""
    parser = argparse.ArgumentParser(prog="python -m experiments.demo_model.evaluate", description=__doc__)
    parser.add_argument("--prompts", type=int, default=100, help="how many (default: %(default)s)")
    parser.add_argument("--model", default="demo", help="name or folder (default: %(default)s)")
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda (default: %(default)s)")
    parser.add_argument("--temperature", type=float, default=1.0, help="default: %(default)s")
    parser.add_argument("--seed", type=int, default=0, help="of the draws (default: %(default)s)")
    options = parser.parse_args(arguments)
    if options.prompts < 1:
        parser.error("--prompts must be at least 1")
    console = Console()
    model = load_model(options.model, options.device)
    console.print(model, highlight=False, soft_wrap=True)
    prompts = list(dialogues(options.prompts, seed=PROMPT_SEED, sloppiness=0))
    free, constrained = evaluate(model, prompts, temperature=options.temperature, seed=options.seed)
    console.print(_report(free, constrained))
    if constrained.valid < constrained.answers or constrained.in_grammar < constrained.answers:
        console.print("[bold red]A constrained answer is wrong: the engine has a defect.[/]")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
