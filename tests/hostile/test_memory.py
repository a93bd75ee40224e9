"""Where no memory is left, a request fails or the process ends; nobody goes on with a mask that was half made."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MIB = [0, 1, 2, 4, 16, 400]  # of address space beyond what the parent has: from little to plenty

# A child for each: 0 if its masks are right, 3 if they are wrong, 2 if it says that there is no memory.
SCRIPT = """
import itertools, os, resource, sys
import numpy as np
from kernels_core import GrammarCompiler, GrammarMatcher, Options, TokenizerInfo, allocate_token_bitmask
from tests.hostile.doors import address_space

words = [bytes(word) for size in (1, 2, 3, 4) for word in itertools.product(b"ab", repeat=size)]
info = TokenizerInfo(words + [b"a" * size + b"b" * other for size in range(5, 200) for other in range(200)])
chain = "".join(f'r{i} ::= r{i + 1} | r{i} "a"\\n' for i in range(1, 400))
source = 'root ::= r1 | root "a"\\n' + chain + 'r400 ::= "b"'

def masks():
    compiler = GrammarCompiler(info, options=Options(max_fill_ms=0, max_compile_ms=0))
    matcher = GrammarMatcher(compiler.compile_grammar(source))
    rows = allocate_token_bitmask(2, info.vocab_size)
    matcher.fill_next_token_bitmask(rows, 0)
    assert matcher.accept_string("b")
    matcher.fill_next_token_bitmask(rows, 1)
    return rows

right = masks()
for mib in map(int, sys.argv[1:]):
    child = os.fork()
    if child == 0:
        limit = address_space() + (mib << 20)
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        try:
            os._exit(0 if np.array_equal(masks(), right) else 3)
        except MemoryError:
            os._exit(2)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


def test_no_mask_is_wrong_for_want_of_memory() -> None:
    command = [sys.executable, "-c", SCRIPT, *map(str, MIB)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False, timeout=600)
    assert done.returncode == 0, done.stderr[-2000:]
    ends = [int(line) for line in done.stdout.split()]
    assert len(ends) == len(MIB)
    assert set(ends) <= {0, 2, -signal.SIGABRT}, (ends, done.stderr[-2000:])
    assert ends[-1] == 0  # where there is plenty, all is well
    assert set(ends) & {2, -signal.SIGABRT}  # and some of the limits were too low
