"""Targets: files that strangers may send, of tokenizers, sessions and pools, with anything in them."""

from __future__ import annotations

import json
import pickle
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Final

from kernels_core import GrammarCompiler, GrammarMatcher, TokenizerInfo
from tests.fuzz.rules import LIMITS, Canary, Finding, attempt, small_vocabulary
from workbench.session import Session
from workbench.tokenizers import Tokenizer, load_tokenizer

__all__ = ["FILES"]

_MOST_STEPS: Final = 12
_ENDINGS: Final = {ord("r"): ".tiktoken", ord("t"): ".json", ord("j"): ".json", ord("m"): ".model"}


@cache
def _folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="maskscope-fuzz-"))


def tokenizer(data: bytes) -> None:
    """A tokenizer's file, its kind by the first byte (r: ranks, t: Tekken, j: tokenizer.json, m: SentencePiece)."""
    path = _folder() / f"vocabulary{_ENDINGS.get(data[0] if data else 0, '.json')}"
    path.write_bytes(data[1:])
    loaded = attempt("a tokenizer", 2_000, lambda: load_tokenizer(path), located=False)
    if loaded is not None:
        _use(loaded)


def _use(loaded: Tokenizer) -> None:
    """What was read as a vocabulary works as one."""
    info = loaded.info
    again = pickle.loads(pickle.dumps(info))
    if again.decoded_vocab != info.decoded_vocab or again.fingerprint != info.fingerprint:
        raise Finding("a vocabulary is another one when it was written and read")
    compiled = attempt("a compile", LIMITS.max_compile_ms, lambda: _compile_any(info))
    if compiled is None:
        return
    matcher = GrammarMatcher(compiled)
    control = {*info.special_token_ids, *info.stop_token_ids}
    for token, text in enumerate(info.decoded_vocab[:300]):
        taken = matcher.accept_token(token)
        if taken and token not in control and not text:
            raise Finding(f"token {token} has no text, and is taken as text")
        if taken:
            matcher.rollback(1)


def _compile_any(info: TokenizerInfo) -> Any:
    return GrammarCompiler(info, options=LIMITS).compile_grammar("root ::= [^x]*")


@cache
def _kept() -> str:
    """A session as it is kept, as JSON text."""
    session = Session('root ::= "a"* "b"', _tokenizer(), options=LIMITS)
    session.step("aa")
    return json.dumps(session.to_json())


@cache
def _tokenizer() -> Tokenizer:
    return Tokenizer(small_vocabulary(), name="small")


def session(data: bytes) -> None:
    """A kept session whose parts are replaced by those of `data`, a JSON object; no object: a file of these bytes."""
    try:
        changes = json.loads(data)
    except (ValueError, RecursionError):
        changes = None
    if isinstance(changes, dict):
        kept: dict[str, Any] = json.loads(_kept())
        for name in ("grammar", "language"):
            if name in changes:
                part = {"grammar": "text", "language": "language"}[name]
                kept["grammar"][part] = changes.pop(name)
        if isinstance(changes.get("steps"), list):
            changes["steps"] = [
                {"bytes": one} if isinstance(one, str) else {"bytes": "", "token": one} for one in changes["steps"]
            ][:_MOST_STEPS]
        if isinstance(changes.get("options"), dict):
            changes["options"] = {**kept["options"], **changes["options"]}
        data = json.dumps({**kept, **changes}).encode()
    path = _folder() / "session.json"
    path.write_bytes(data)
    opened = attempt(
        "a session",
        LIMITS.max_compile_ms + (_MOST_STEPS + 2) * LIMITS.max_fill_ms,
        lambda: Session.load(path, tokenizer=_tokenizer()),
        located=False,
    )
    if opened is not None:
        opened.to_json()


@cache
def _pool() -> tuple[GrammarCompiler, Canary, bytes]:
    compiler = GrammarCompiler(small_vocabulary(), options=LIMITS)
    canary = Canary(compiler)
    path = _folder() / "pool.bin"
    compiler.save_pool(path)
    return compiler, canary, path.read_bytes()


def pool(data: bytes) -> None:
    """A good pool file with single bytes replaced: three bytes of `data` say where, one with what."""
    compiler, canary, good = _pool()
    changed = bytearray(good)
    for start in range(0, len(data) - 3, 4):
        changed[int.from_bytes(data[start : start + 3], "big") % len(changed)] = data[start + 3]
    if len(data) % 4 == 1:
        del changed[int.from_bytes(data, "big") % len(changed) :]
    path = _folder() / "changed.bin"
    path.write_bytes(changed)
    loaded = attempt("a pool", 1_000, lambda: compiler.load_pool(path))
    if loaded is not None and bytes(changed) != good:
        raise Finding("a damaged pool file is taken")
    canary.look(every=10)


FILES: Final[dict[str, Callable[[bytes], None]]] = {"tokenizer": tokenizer, "session": session, "pool": pool}
