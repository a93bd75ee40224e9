"""The cross-grammar cache as a file: a new process starts warm, and nothing but a good file is taken."""

from __future__ import annotations

import io
import os
import random
import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels_core import Grammar, GrammarCompiler, GrammarMatcher, Options, PoolFileError
from kernels_core.masks.pool import LAYOUT, digest_of
from tests.engine.driver import mask, tokenizer
from tests.engine.test_against_reference import Oracle
from tests.strategies import World, texts, worlds

ROOT = Path(__file__).resolve().parents[2]
WORDS = [b"[", b"]", b",", b"a", b"ab", b"a]", b'"', b'"]', b'","', b"12", b"1", "é".encode(), b"]]", b"{", b"}", b":"]
NESTED = r"""
root ::= value
value ::= "[" (value ("," value)*)? "]" | string | [0-9]{1,40}
string ::= "\"" [^"\\]* "\""
"""
OTHER = r"""
root ::= "{" string ":" (string | [0-9]{1,40}) "}"
string ::= "\"" [^"\\]* "\""
"""
TEXTS = {NESTED: '["a12é",12,["ab"]]'.encode(), OTHER: b'{"ab":"12"}'}
OPTIONS = {
    "default": Options.laboratory(direct_limit=0, differential_from=0),
    "states by rule": Options.laboratory(inline_limit=0, unroll_limit=0, direct_limit=0, differential_from=0),
    "lookahead": Options.laboratory(inline_limit=0, lookahead=True, direct_limit=0, differential_from=0),
}


def compiler_of(options: Options, words: list[bytes] | None = None) -> GrammarCompiler:
    return GrammarCompiler(tokenizer(WORDS if words is None else words), options=options)


def parts_of(data: bytes) -> dict[str, Any]:
    """What the archive of a file holds."""
    with np.load(io.BytesIO(data[:-16])) as archive:
        return {name: archive[name] for name in archive.files}


def file_of(parts: dict[str, Any]) -> bytes:
    """A file whose digest fits."""
    archive = io.BytesIO()
    np.savez(archive, **parts)
    return archive.getvalue() + digest_of(archive.getvalue())


def walk(compiler: GrammarCompiler, source: str) -> tuple[list[set[int]], int]:
    """The masks along a text, and how many token sets had to be computed for them."""
    compiled = compiler.compile_grammar(source)
    matcher, masks = GrammarMatcher(compiled), []
    for byte in TEXTS[source]:
        masks.append(mask(matcher))
        assert matcher.accept_string(bytes((byte,)))
    return [*masks, mask(matcher)], compiled.cache_stats().token_set_misses


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS.keys())
def test_a_loaded_pool_is_warm_and_gives_the_same_masks(options: Options, tmp_path: Path) -> None:
    file = tmp_path / "pool.bin"
    first = compiler_of(options)
    expected = {source: walk(first, source) for source in TEXTS}
    assert all(made for _, made in expected.values())
    assert first.pool is not None
    assert first.save_pool(file) == len(first.pool)
    assert file.stat().st_mode & 0o777 == 0o600
    assert list(tmp_path.iterdir()) == [file]

    second = compiler_of(options)
    assert second.load_pool(file) == len(first.pool)
    assert second.pool is not None
    assert second.pool.nbytes <= first.pool.nbytes  # what was filtered is laid out anew
    for source, (masks, _) in expected.items():
        assert walk(second, source) == (masks, 0)
    assert second.pool.misses == 0
    again = tmp_path / "again.bin"
    second.save_pool(again)
    assert again.stat().st_size == file.stat().st_size


def test_another_process_starts_warm(tmp_path: Path) -> None:
    """Identities do not depend on anything of a process but the key in the file."""
    script = textwrap.dedent(f"""
        import sys
        from tests.engine.test_pool_file import OPTIONS, TEXTS, compiler_of, walk
        for name, options in OPTIONS.items():
            compiler = compiler_of(options)
            file = f"{tmp_path}/{{name}}.bin"
            if sys.argv[1] == "load":
                assert compiler.load_pool(file) > 5
            print(name, [walk(compiler, source)[1] for source in reversed(TEXTS)])
            compiler.save_pool(file)
    """)

    def run(word: str, seed: str) -> list[str]:
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(
            [sys.executable, "-c", script, word], capture_output=True, text=True, cwd=ROOT, env=environment, timeout=120
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    cold, warm = run("save", "1"), run("load", "2")
    assert all("[0, 0]" not in line for line in cold)
    assert warm == [f"{name} [0, 0]" for name in OPTIONS]


@given(
    st.lists(worlds(max_rules=3, max_size=8), min_size=1, max_size=3),
    st.sampled_from(list(OPTIONS.values())),
    st.data(),
)
def test_loaded_token_sets_against_the_reference(
    tmp_path_factory: pytest.TempPathFactory, worlds_: list[World], options: Options, data: st.DataObject
) -> None:
    vocab = [token for _, words in worlds_ for token in words]
    plans = [data.draw(texts(Oracle(ir, vocab).recogniser, max_size=5)) for ir, _ in worlds_]
    file = tmp_path_factory.mktemp("pool") / "pool.bin"
    for warm in (False, True):
        compiler = GrammarCompiler(tokenizer(vocab), options=options)
        if warm:
            compiler.load_pool(file)
        for (ir, _), plan in zip(worlds_, plans, strict=True):
            compiled, oracle = compiler.compile_grammar(Grammar(ir)), Oracle(ir, vocab)
            matcher = GrammarMatcher(compiled)
            for at in range(len(plan) + 1):
                if not oracle.state(plan[:at]).alive:
                    break
                assert at == 0 or matcher.accept_string(plan[at - 1 : at])
                assert mask(matcher) == oracle.mask(plan[:at])
            assert not warm or compiled.cache_stats().token_set_misses == 0
        compiler.save_pool(file)


def test_a_file_comes_before_the_first_grammar(tmp_path: Path) -> None:
    file = tmp_path / "pool.bin"
    first = compiler_of(Options())
    walk(first, NESTED)
    saved = first.save_pool(file)
    late = compiler_of(Options())
    walk(late, OTHER)
    assert late.pool is not None
    before = len(late.pool)
    with pytest.raises(PoolFileError, match="before the first grammar"):
        late.load_pool(file)
    assert len(late.pool) == before
    assert walk(late, NESTED)[0] == walk(first, NESTED)[0]
    # Its own file may come back at any time, and what is there already is not taken twice.
    assert first.load_pool(file) == 0
    first.pool.clear()  # type: ignore[union-attr]
    assert first.load_pool(file) == saved


def test_files_that_are_not_taken(tmp_path: Path) -> None:
    file = tmp_path / "pool.bin"
    first = compiler_of(Options())
    walk(first, NESTED)
    first.save_pool(file)
    good = file.read_bytes()
    compiler = compiler_of(Options())

    def refuse(data: bytes, reason: str, by: GrammarCompiler = compiler) -> None:
        file.write_bytes(data)
        with pytest.raises(PoolFileError, match=reason) as caught:
            by.load_pool(file)
        assert str(file) in str(caught.value)
        assert len(by.pool) == 0  # type: ignore[arg-type]

    for damaged in (b"", good[:100], good[:-1], good + b"\0", good[:-40] + bytes([good[-40] ^ 1]) + good[-39:]):
        refuse(damaged, "damaged")
    refuse(b"nothing" + digest_of(b"nothing"), "no file of token sets")
    parts = parts_of(good)
    refuse(file_of({**parts, "layout": np.array(LAYOUT + 1)}), "another version")
    for name in ("layout", "fingerprint"):
        refuse(file_of({known: part for known, part in parts.items() if known != name}), "no file of token sets")
    for wrong in (
        {"secret": parts["secret"][:15]},
        {"sets": parts["sets"].astype(np.int64)},
        {"keys": parts["keys"][1:]},
    ):
        refuse(file_of({**parts, **wrong}), "damaged")
    refuse(file_of({**parts, "sets": np.append(parts["sets"], np.int32(0))}), "damaged")
    refuse(good, "another vocabulary", compiler_of(Options(), WORDS[:-1]))
    with pytest.raises(FileNotFoundError):
        compiler.load_pool(tmp_path / "absent")
    with pytest.raises(ValueError, match="cross_grammar_cache"):
        compiler_of(Options(cross_grammar_cache=False)).load_pool(file)
    file.write_bytes(good)
    assert compiler.load_pool(file) > 0  # nothing of all that is left


def test_no_body_can_hurt(tmp_path: Path) -> None:
    """Bytes changed at random in all but what says whose file it is: refused, or harmless when asked for masks."""
    file = tmp_path / "pool.bin"
    first = compiler_of(OPTIONS["states by rule"])
    walk(first, NESTED)
    first.save_pool(file)
    parts = parts_of(file.read_bytes())
    names = ["keys", "numbers", "sets", "sets", "sets", "sets"]
    rng, refused = random.Random(0), 0
    for _ in range(150):
        changed = {name: part.copy() for name, part in parts.items()}
        for _ in range(rng.choice((1, 1, 4))):
            part = changed[rng.choice(names)].view(np.uint8)
            place = rng.randrange(len(part))
            part[place] = rng.choice((0, 1, 255, int(part[place]) ^ (1 << rng.randrange(8))))
        file.write_bytes(file_of(changed))
        compiler = compiler_of(OPTIONS["states by rule"])
        try:
            compiler.load_pool(file)
        except PoolFileError:
            refused += 1
            assert len(compiler.pool) == 0  # type: ignore[arg-type]
        matcher = GrammarMatcher(compiler.compile_grammar(NESTED))
        for byte in TEXTS[NESTED]:
            mask(matcher)
            assert matcher.accept_string(bytes((byte,)))
    assert refused > 35


def test_a_pool_smaller_than_its_file_keeps_what_was_used_last(tmp_path: Path) -> None:
    file = tmp_path / "pool.bin"
    first = compiler_of(OPTIONS["default"])
    for source in TEXTS:
        walk(first, source)
    assert first.pool is not None
    saved = first.save_pool(file)
    small = compiler_of(replace(OPTIONS["default"], pool_bytes=first.pool.nbytes * 2 // 3))
    assert small.pool is not None
    assert 0 < small.load_pool(file) == len(small.pool) < saved
    assert small.pool.nbytes <= small.pool.max_bytes
    walk(small, list(TEXTS)[-1])
    assert small.pool.hits > 0


def test_what_cannot_be_written_leaves_no_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiler = compiler_of(Options())
    with pytest.raises(OSError):
        compiler.save_pool(tmp_path / "nowhere" / "pool.bin")
    file = tmp_path / "pool.bin"
    compiler.save_pool(file)
    before = file.read_bytes()
    walk(compiler, NESTED)

    def fail(*_: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="no space"):
        compiler.save_pool(file)
    assert file.read_bytes() == before
    assert list(tmp_path.iterdir()) == [file]
