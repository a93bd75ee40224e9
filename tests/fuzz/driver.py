"""Runs a target: over inputs of a seeded generator, or guided by coverage with atheris.

What broke a rule is kept beside the corpus, and said how to see it again; an input that does not come back within
`HANG_S` seconds ends the process, after a traceback, and is what the file `last` holds.
"""

from __future__ import annotations

import faulthandler
import os
import resource
import sys
import time
import traceback
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Final

from tests.fuzz import rules
from tests.fuzz.calls import CALLS
from tests.fuzz.files import FILES
from tests.fuzz.languages import LANGUAGES
from tests.fuzz.seeds import WORDS, changed, make_seed

__all__ = ["HANG_S", "ROOT", "TARGETS", "Result", "limit_memory", "make_input", "run_guided", "run_seeded", "try_input"]

ROOT: Final = Path(__file__).resolve().parents[2] / "build" / "fuzz"
HANG_S: Final = 60
MOST_BYTES: Final = 4 << 30
"""Of address space, for the whole process."""
TARGETS: Final = {**LANGUAGES, **FILES, **CALLS}
_FRESH: Final = 0.4  # of the inputs are as the generator made them
_SEEDS: Final = 200  # that a guided run begins with


@dataclass(slots=True)
class Result:
    """What a run did: inputs, processor seconds of the slowest, and where findings lie."""

    inputs: int = 0
    slowest: float = 0.0
    findings: list[Path] = field(default_factory=list)


def try_input(target: str, data: bytes, folder: Path) -> Path | None:
    """Run one input; None, or where a finding lies, which is then also on stderr."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "last").write_bytes(data)
    faulthandler.dump_traceback_later(HANG_S, exit=True, file=sys.__stderr__)
    try:
        TARGETS[target](data)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # whatever comes through is a finding, a panic of a library too
        path = folder / f"finding-{sha256(data).hexdigest()[:12]}"
        path.write_bytes(data)
        traceback.print_exc()
        print(f"{target}: {data[:2000]!r}\npython -m tests.fuzz {target} --input {path}\n", file=sys.stderr, flush=True)
        return path
    finally:
        faulthandler.cancel_dump_traceback_later()
    return None


def run_seeded(target: str, seed: int, *, inputs: int | None, seconds: float, folder: Path | None = None) -> Result:
    """Inputs 0, 1, ... of `seed` (none of them depends on the others) until there are enough, or the time is over."""
    place, result, began = folder or ROOT / target, Result(), time.monotonic()
    while time.monotonic() - began < seconds and (inputs is None or result.inputs < inputs):
        data = make_input(target, seed, result.inputs)
        started = time.process_time()
        found = try_input(target, data, place)
        result.inputs += 1
        result.slowest = max(result.slowest, time.process_time() - started)
        if found is not None:
            result.findings.append(found)
    return result


def make_input(target: str, seed: int, number: int) -> bytes:
    """Input `number` of a seeded run."""
    random = Random(f"{target} {seed} {number}")
    data = make_seed(target, random)
    return data if random.random() < _FRESH else changed(target, data, random)


def run_guided(target: str, seed: int, seconds: float, corpus: Path | None = None) -> None:
    """Hunt with atheris; does not return: libFuzzer ends the process, with 0 if nothing was found."""
    import atheris

    rules.SLACK_MS *= 5  # code that is watched takes several times as long
    place = ROOT / target
    corpus = corpus or place / "corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    for number in range(_SEEDS):
        data = make_seed(target, Random(f"{target} {seed} {number}"))
        (corpus / sha256(data).hexdigest()).write_bytes(data)
    words = place / "words"
    _write_words(target, words)
    atheris.Setup(
        [
            f"tests.fuzz {target}",
            f"-max_total_time={int(seconds)}",
            f"-seed={seed + 1}",
            f"-artifact_prefix={place}/finding-",
            f"-timeout={HANG_S}",
            f"-rss_limit_mb={MOST_BYTES >> 21}",
            "-max_len=16384",
            *([f"-dict={words}"] if WORDS[target] else []),
            str(corpus),
        ],
        TARGETS[target],
    )
    atheris.Fuzz()


def _write_words(target: str, path: Path) -> None:
    """The target's words as libFuzzer's dictionary."""
    lines = ('"' + "".join(f"\\x{byte:02x}" for byte in word.encode()) + '"\n' for word in WORDS[target])
    path.write_text("".join(lines))


def limit_memory() -> None:
    """Let a loop that eats memory end in a `MemoryError`, which is a finding, and not in a stuck machine.

    The address sanitizer takes terabytes of address space, and has a limit of its own.
    """
    if "libasan" in os.environ.get("LD_PRELOAD", ""):
        return
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES if hard < 0 else min(MOST_BYTES, hard), hard))
