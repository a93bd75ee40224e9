"""What becomes of a hostile request at each door: the engine, the explorer, the command line, the drop-in, the server.

Every door has the options that everybody has and the vocabulary that everybody has.  A bystander is there before: a
matcher of the same compiler (or a request to the same server), whose masks have to be the same behind it.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final, NoReturn

import numpy as np

from kernels_core import (
    CompiledGrammar,
    GrammarCompiler,
    GrammarMatcher,
    MaskscopeError,
    allocate_token_bitmask,
)
from tests.hostile.cases import VALUES, Case

__all__ = ["DOORS", "Outcome", "address_space", "meet", "meet_all"]

ROOT: Final = Path(__file__).resolve().parents[2]
SECONDS: Final = 60  # of processor time: some times the sum of all limits that one case may use up
BYTES: Final = 6 << 30  # of address space, of which libraries reserve much, beyond what the door itself has
BYSTANDER: Final = 'root ::= [a-z]+ ("," [a-z]+)* "!"'
COMPILE: Final = {
    "ebnf": "compile_grammar",
    "regex": "compile_regex",
    "lark": "compile_lark",
    "json_schema": "compile_json_schema",
    "structural_tag": "compile_structural_tag",
}


ORDINARY: Final = Case("an ordinary request", "ebnf", lambda: 'root ::= "a"+', "a", "done")


@dataclass(frozen=True)
class Outcome:
    """`said`: "done", or an error's class and message; `seconds` of processor time and `mib` of memory that it took
    beyond what the door itself takes."""

    said: str
    seconds: float
    mib: float


def meet(case: Case, door: str) -> Outcome:
    """Bring `case` to `door`, in this process."""
    ask, after = DOORS[door](case)
    before, began = _peak(), _spent()
    try:
        said = ask() or "done"
    except (MaskscopeError, TypeError, ValueError) as error:  # a value that is no JSON is a TypeError with its place
        said = _said(error)
    seconds, mib = _spent() - began, _peak() - before
    after()
    return Outcome(said, round(seconds, 3), round(max(mib, 0.0), 1))


def _said(error: BaseException) -> str:
    return f"{type(error).__name__} {' '.join(str(error).split())}"


def _spent() -> float:
    """Processor time of all threads, and of processes that have ended."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def _peak() -> float:
    """MiB, of this process or of one that it waited for."""
    return max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)) / 1024


def _follow(matcher: Any, text: str, rows: Any) -> None:
    """Every byte with its mask.  What fails has to leave the place as it was."""
    for byte in text.encode():
        before = matcher.position
        try:
            matcher.fill_next_token_bitmask(rows)
            assert matcher.accept_string(bytes((byte,))), before
        except MaskscopeError:
            assert matcher.position == before
            assert matcher.fork().text == matcher.text == text.encode()[:before]
            raise
    if not matcher.is_terminated():
        matcher.fill_next_token_bitmask(rows)


def _bystander(compiler: GrammarCompiler) -> Callable[[], None]:
    """A matcher that goes on behind the request, and what a new grammar of the same compiler does."""

    def mask(matcher: GrammarMatcher) -> Any:
        rows = allocate_token_bitmask(1, compiler.tokenizer_info.vocab_size)
        matcher.fill_next_token_bitmask(rows)
        return rows

    matcher = GrammarMatcher(compiler.compile_grammar(BYSTANDER))
    assert matcher.accept_string("ab")
    before = mask(matcher)

    def after() -> None:
        assert matcher.text == b"ab"
        assert np.array_equal(mask(matcher), before)
        assert np.array_equal(mask(matcher.fork()), before)
        fresh = GrammarMatcher(compiler.compile_grammar(BYSTANDER + " "))
        assert fresh.accept_string("ab")
        assert np.array_equal(mask(fresh), before)
        assert matcher.accept_string(",cd!")
        assert matcher.is_completed()

    return after


Door = Callable[["Case"], tuple[Callable[[], str | None], Callable[[], None]]]


def _engine(case: Case) -> tuple[Callable[[], str | None], Callable[[], None]]:
    from workbench.tokenizers import load_tokenizer

    info = load_tokenizer("tekken").info
    compiler = GrammarCompiler(info)
    rows = allocate_token_bitmask(1, info.vocab_size)

    def ask() -> None:
        compiled: CompiledGrammar = getattr(compiler, COMPILE[case.language])(case.request())
        matcher = GrammarMatcher(compiled)
        _follow(matcher, case.text, rows)
        matcher.explain("\x00")

    return ask, _bystander(compiler)


def _explorer(case: Case) -> tuple[Callable[[], str | None], Callable[[], None]]:
    import workbench as wb
    from workbench.languages import Source

    wb.explore().close()  # what a process does once

    def ask() -> str | None:
        with wb.explore(Source.of(case.request(), case.language)) as explorer:
            session = explorer.session
            if session.edits.draft is not None:
                return _said(session.edits.draft.error)
            reading = session.read(case.text)
            explorer.refresh()
            assert reading.ok, reading.message
            session.inspect.explain("\x00")
            return _said(explorer.last_error) if explorer.last_error else None

    return ask, lambda: None


def _check(case: Case) -> tuple[Callable[[], str | None], Callable[[], None]]:
    folder = Path(tempfile.mkdtemp())

    def ask(case: Case = case) -> str | None:
        request = case.request()
        (folder / "source").write_text(
            request if isinstance(request, str) else json.dumps(request), encoding="utf-8", errors="surrogatepass"
        )
        (folder / "text").write_text(case.text, encoding="utf-8")
        files = [str(folder / "source"), "--text-file", str(folder / "text")]
        line = ["-m", "workbench", "check", *files, "--exact", "--prefix"]
        done = subprocess.run(
            [sys.executable, *line, "--language", case.language], capture_output=True, text=True, cwd=ROOT, check=False
        )
        assert "Traceback" not in done.stderr, done.stderr[-2000:]
        return None if done.returncode == 0 else f"exit code {done.returncode}: {' '.join(done.stderr.split())}"

    def after() -> None:
        for file in folder.iterdir():
            file.unlink()
        folder.rmdir()

    assert ask(ORDINARY) is None  # so that the memory of a process is there before
    return ask, after


def _drop_in(case: Case) -> tuple[Callable[[], str | None], Callable[[], None]]:
    import warnings

    import workbench.compat.xgrammar as xgr
    from workbench.tokenizers import load_tokenizer

    warnings.simplefilter("ignore")
    info = xgr.TokenizerInfo.wrap(load_tokenizer("tekken").info)
    compiler = xgr.GrammarCompiler(info)
    rows = xgr.allocate_token_bitmask(1, info.vocab_size)

    def ask() -> str | None:
        request = case.request()
        try:
            matcher = xgr.GrammarMatcher(getattr(compiler, COMPILE[case.language])(request))
            for byte in case.text.encode():
                matcher.fill_next_token_bitmask(rows)
                if not matcher.accept_string(bytes((byte,))):
                    return "done: XGrammar reads this in another way"
        except (RuntimeError, ValueError) as error:
            return _said(error)
        return None

    return ask, _bystander(compiler.engine)


@cache
def _demo() -> Any:
    import torch

    from workbench.generation import load_model

    torch.set_num_threads(1)
    return load_model("demo", device="cpu")


def _around(form: str) -> bytes:
    asked = '{"model": "demo", "messages": [{"role": "user", "content": "hi"}], "max_tokens": 8, "seed": 1'
    return f'{asked}, "response_format": {form}}}'.encode(errors="replace")


def _server(case: Case) -> tuple[Callable[[], str | None], Callable[[], None]]:
    from tests.serve.conftest import Client
    from workbench.serving import Service

    service = Service(_demo())
    client = Client(service)
    ordinary: dict[str, Any] = {
        "response_format": {"type": "regex", "pattern": "a"},
        "max_tokens": 4,
        "seed": 1,
        "temperature": 0,
    }
    before = client.chat(**ordinary).json()["choices"]

    def body() -> bytes:
        request = case.request()
        form = {"ebnf": "grammar", "lark": "grammar", "json_schema": "json_schema"}.get(case.language, case.language)
        parts: dict[str, str] = {"type": json.dumps(form)}
        if case.language in ("ebnf", "lark"):
            parts |= {"grammar": json.dumps(request), "language": json.dumps(case.language)}
        elif case.language == "regex":
            parts["pattern"] = json.dumps(request)
        else:
            text = request if isinstance(request, str) else json.dumps(request)
            parts |= {"json_schema": f'{{"name": "x", "schema": {text}}}'}
            if case.language == "structural_tag":
                return _around(text)
        return _around("{" + ", ".join(f'"{name}": {value}' for name, value in parts.items()) + "}")

    def ask() -> str | None:
        answer = client.post(body())
        if answer.status_code == 200:
            return None
        assert answer.status_code < 500, answer.text
        return f"{answer.status_code} {' '.join(answer.json()['error']['message'].split())}"

    def after() -> None:
        assert client.chat(**ordinary).json()["choices"] == before
        service.close()

    return ask, after


DOORS: Final[dict[str, Door]] = {
    "engine": _engine,
    "explorer": _explorer,
    "check": _check,
    "drop-in": _drop_in,
    "server": _server,
}


def meet_all(door: str, cases: Iterable[Case]) -> Iterator[tuple[Case, Outcome]]:
    """Each case in a child of this process, which has done what a process does once, and has `SECONDS` and `BYTES`."""
    if door == "server":
        _demo()  # nothing is asked of it before a fork: what its threads hold would be held in the child
    else:
        DOORS[door](ORDINARY)[1]()
    for case in cases:
        if case.name in VALUES and door in ("check", "server"):
            continue
        ours, its = os.pipe()
        child = os.fork()
        if child == 0:
            _child(case, door, its)
        os.close(its)
        with open(ours, encoding="utf-8") as told:
            said = told.read()
        _, status = os.waitpid(child, 0)
        yield case, Outcome(**json.loads(said)) if said else Outcome(f"the process ended with {status}", 0.0, 0.0)


def address_space() -> int:
    """Bytes that this process has of it; threads of libraries, of which there are as many as cores, reserve much."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    return pages * resource.getpagesize()


def _child(case: Case, door: str, out: int) -> NoReturn:
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    limit = address_space() + BYTES
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    try:
        outcome = meet(case, door)
    except BaseException:
        outcome = Outcome("not an answer: " + traceback.format_exc()[-1500:], 0.0, 0.0)
    os.write(out, json.dumps(asdict(outcome)).encode())
    os._exit(0)


if __name__ == "__main__":
    from tests.hostile.cases import CASES

    named = sys.argv[2:] or list(CASES)
    for one, found in meet_all(sys.argv[1], [CASES[name] for name in named]):
        print(json.dumps([one.name, asdict(found)]), flush=True)
