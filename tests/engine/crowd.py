"""`python -m tests.engine.crowd SECONDS`: eight threads at shared grammars, for the thread sanitizer.

The engine alone is imported, and caches are so small that grammars and token sets come and go.  Read on:
`tools/sanitize.sh`; `tests/fuzz`, target `threads`, for other grammars.
"""

from __future__ import annotations

import sys
import threading
import time
from random import Random
from typing import Any, Final

from kernels_core import (
    GrammarCompiler,
    GrammarMatcher,
    MaskscopeError,
    Options,
    TokenizerInfo,
    allocate_token_bitmask,
)

THREADS: Final = 8
WORDS: Final = [
    b'{"',
    b'":',
    b'", "',
    b"true",
    b"null",
    b"12",
    b"ab",
    b"abc",
    b"  ",
    b'"}',
    b": ",
    b", ",
    b"[]",
    b"a" * 20,
]
SCHEMAS: Final[list[Any]] = [
    {
        "properties": {"a": {"type": "string"}, "b": {"type": "integer", "minimum": 3, "maximum": 7000}},
        "required": ["a"],
    },
    {"type": "array", "items": {"type": "string", "pattern": "^(ab|ba){1,20}$"}, "minItems": 2},
    {"type": "string", "minLength": 3, "maxLength": 90},
    {"enum": [f"x{number}" for number in range(60)]},
    {"not": {"enum": ["ab", "x"]}},
    {"patternProperties": {"^a": {"type": "number"}}, "additionalProperties": False},
    {"$defs": {"t": {"properties": {"k": {"$ref": "#/$defs/t"}, "v": {"maxLength": 40}}}}, "$ref": "#/$defs/t"},
    {"oneOf": [{"required": ["p"]}, {"required": ["q"]}]},
    {"type": "string", "format": "date"},
]


def crowd(seconds: float) -> int:
    """How many tokens were taken; raises where a mask allowed a token that was then refused."""
    words = [*(bytes((byte,)) for byte in range(256)), *WORDS]
    info = TokenizerInfo([*words, b"<stop>"], stop_token_ids=[len(words)])
    options = Options.laboratory(pool_bytes=1 << 18, max_bytes=1 << 20, warm_start=False, direct_limit=8)
    compiler = GrammarCompiler(info, options=options, cache_bytes=3 << 20)
    end = time.monotonic() + seconds
    taken = [0] * THREADS
    failures: list[BaseException] = []

    def work(number: int) -> None:
        try:
            taken[number] = _follow(compiler, Random(number), end)
        except BaseException as error:
            failures.append(error)

    sys.setswitchinterval(1e-4)
    threads = [threading.Thread(target=work, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    return sum(taken)


def _follow(compiler: GrammarCompiler, random: Random, end: float) -> int:
    row = allocate_token_bitmask(1, compiler.tokenizer_info.vocab_size)
    count = 0
    while time.monotonic() < end:
        schema = random.choice(SCHEMAS)
        if random.random() < 0.3:
            schema = {**schema, "title": str(random.randrange(30))}
        matcher = GrammarMatcher(compiler.compile_json_schema(schema))
        try:
            for _ in range(40):
                matcher.fill_next_token_bitmask(row)
                token = random.choice(matcher.allowed_token_ids())
                if not matcher.accept_token(token):
                    raise AssertionError(f"token {token} was allowed after {matcher.text!r}, and refused")
                count += 1
                if random.random() < 0.05:
                    matcher.fork().fill_next_token_bitmask(row)
                if random.random() < 0.05 and matcher.num_steps > 2:
                    matcher.rollback(2)
                if matcher.is_terminated():
                    break
        except MaskscopeError:
            pass  # a limit, of bytes mostly: they are small here
    return count


if __name__ == "__main__":
    print(f"{crowd(float(sys.argv[1])):,} tokens")
