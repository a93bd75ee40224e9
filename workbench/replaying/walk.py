"""`wb.replay`: a grammar along an answer that others have logged, without a model.

The masks are those of a grammar compiled for the purpose, so their times are those of a first answer.  What is only
asked (would it take this token, why not, would a guess hold) is asked of a second one, compiled apart, so that asking
makes no mask cheaper.
Read on: `formats.py` (what was logged), `replayed.py` (the result).
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

from kernels_core import CompiledGrammar, Grammar, GrammarCompiler, GrammarMatcher, allocate_token_bitmask
from kernels_core.errors import DeadEndError
from kernels_core.inspect.classic import in_common
from kernels_core.inspect.trace import Fill
from workbench.generation.lookup import Lookup
from workbench.languages import Source, compile_output
from workbench.replaying.formats import Logged, LoggedToken, ReplayError, read_logged
from workbench.replaying.replayed import Guess, Replayed, ReplayedStep
from workbench.session.matching import why_not
from workbench.tokenizers import Tokenizer, load_tokenizer
from workbench.tokenizers.lexicon import lexicon

ENDED = "the text has ended"


def replay(
    trace: object,
    grammar: object,
    tokenizer: object = "tekken",
    *,
    choice: int = 0,
    begin: str | None = None,
    guesses: int = 4,
    language: str | None = None,
) -> Replayed:
    """Read a logged answer again under `grammar`: where it would have refused the token or the model's favourite, what
    is left of the probability, what its masks cost, which guessed tokens it would have cut.

    Parameters
    ----------
    trace
        Log probabilities as OpenAI's API, vLLM or SGLang send them (parsed JSON, its text, a stream's lines, a client's
        object, or a path to it); a `Generation`; or the text of an answer, as bytes where that looks like a path.
        `formats.py` has the list.
    grammar
        What `Source.of` takes, a `Grammar`, or a `CompiledGrammar` for the tokenizer's vocabulary.
    tokenizer
        The model's own, by name, path or object, or a `LanguageModel`.  With another one, tokens that were logged as
        text are read by their bytes, and ids are refused that it does not have.
    choice
        Which of several answers.
    begin
        A text with which the grammar begins: what the model said before it first appears is not read.
    guesses
        How many tokens a draft guesses ahead, from what followed the last two before; 0 guesses nothing.
    language
        Of the grammar, where its text could be taken for another.

    Raises
    ------
    ReplayError
        The log is not as its format says (with the location), has no log probabilities, or has no such choice.
    GrammarError, TokenizerError
        The grammar or the tokenizer is at fault.
    """
    loaded = _tokenizer(tokenizer)
    answers = read_logged(trace, loaded.info, loaded.encode)
    if not 0 <= choice < len(answers):
        raise ReplayError(f"#/choices: there is no choice {choice}: {len(answers)} were logged")
    if guesses < 0:
        raise ValueError(f"guesses must be 0 or more, not {guesses!r}")
    lexicon(loaded.info)  # the vocabulary is sorted once, and no part of what a grammar costs
    began = time.perf_counter_ns()
    compiled, shown = _compiled(grammar, loaded, language)
    compile_ms = (time.perf_counter_ns() - began) / 1e6
    return _Walk(answers[choice], compiled, guesses).run(begin, compile_ms, shown)


def _tokenizer(given: object) -> Tokenizer:
    """The `Tokenizer` that is meant; that of a model is its own."""
    if isinstance(given, Tokenizer):
        return given
    own = getattr(given, "tokenizer", None)
    return own if isinstance(own, Tokenizer) else load_tokenizer(given)


def _compiled(grammar: object, tokenizer: Tokenizer, language: str | None) -> tuple[CompiledGrammar, str]:
    """The grammar, which nobody else uses, and its text where it was given as something to read."""
    compiler = GrammarCompiler(tokenizer.info)
    if isinstance(grammar, CompiledGrammar | Grammar):
        made = compile_output(grammar, compiler)
        return made.apart() if made is grammar else made, ""
    source = Source.of(grammar, language)
    return source.compile(compiler), source.text


class _Walk:
    def __init__(self, logged: Logged, compiled: CompiledGrammar, guesses: int) -> None:
        self._logged, self._guesses = logged, guesses
        self._matcher = GrammarMatcher(compiled)
        self._asked = GrammarMatcher(compiled.apart())  # at the same place
        self._bits = allocate_token_bitmask(1, compiled.tokenizer_info.vocab_size)
        self._stops = frozenset(self._matcher.stop_token_ids)
        self._words = lexicon(compiled.tokenizer_info)
        self._lookup = Lookup[bytes](())

    def run(self, begin: str | None, compile_ms: float, shown: str) -> Replayed:
        tokens, skipped = self._behind(begin)
        steps: list[ReplayedStep] = []
        offset = 0
        foreign = sum(self._id(one) is None for one in tokens if not one.special)
        for index, one in enumerate(tokens):
            step = self._step(index, one, tokens[index:], offset)
            steps.append(step)
            if step.refused:
                break
            offset += 0 if one.special else len(one.token)
        whole = not (steps and steps[-1].refused) and (self._matcher.is_completed() or self._matcher.is_terminated())
        return Replayed(
            tuple(steps),
            len(self._logged.tokens),
            skipped,
            bool(whole),
            compile_ms,
            self._logged.kind,
            self._logged.has_logprobs,
            foreign,
            shown,
        )

    def _behind(self, begin: str | None) -> tuple[Sequence[LoggedToken], int]:
        """The tokens from where the grammar begins; one that holds this place in its middle is cut there."""
        tokens = self._logged.tokens
        if begin is None:
            return tokens, 0
        place = self._logged.text.find(begin.encode())
        if place < 0:
            raise ReplayError(f"the answer has no {begin!r}, with which the grammar was to begin")
        for number, one in enumerate(tokens):
            size = 0 if one.special else len(one.token)
            if place < size:
                cut = LoggedToken(one.token[place:]) if place else one  # nobody knows the probability of its end
                return (cut, *tokens[number + 1 :]), number
            place -= size
        return tokens[len(tokens) :], len(tokens)

    def _step(self, index: int, one: LoggedToken, ahead: Sequence[LoggedToken], offset: int) -> ReplayedStep:
        allowed_count, mask_us, kind = self._mask()
        reason = self._why_not(one)
        top = one.top if any(other.token == one.token for other in one.top) else (*one.top, one)
        known = [(other, self._why_not(other)) for other in top if other.logprob is not None]
        taken = math.fsum(math.exp(other.logprob or 0.0) for other, why in known if not why)
        lost = math.fsum(math.exp(other.logprob or 0.0) for other, why in known if why)
        favourite = max(one.top, key=lambda other: -math.inf if other.logprob is None else other.logprob, default=None)
        against = "" if favourite is None else self._why_not(favourite)
        guess = self._guess(ahead)
        accept_us = 0.0
        if not reason:
            began = time.perf_counter_ns()
            self._take(self._matcher, one)
            accept_us = (time.perf_counter_ns() - began) / 1e3
            self._take(self._asked, one)
            self._lookup.add(one.token)
        return ReplayedStep(
            index=index,
            token=one.token,
            token_id=one.token_id,
            offset=offset,
            logprob=one.logprob,
            refused=bool(reason),
            reason=reason,
            favourite=None if favourite is None else favourite.token,
            favourite_refused=bool(against),
            favourite_reason=against,
            least_mass=min(1.0, taken),
            most_mass=max(min(1.0, taken), 1.0 - min(1.0, lost)),
            allowed_count=allowed_count,
            mask_us=mask_us,
            mask_kind=kind,
            accept_us=accept_us,
            guess=guess,
        )

    def _mask(self) -> tuple[int, float, str]:
        """How many tokens the mask allows, what it took, and how it was found."""
        if self._matcher.is_terminated():
            return 0, 0.0, "ended"
        with Fill(self._matcher) as fill:
            try:
                self._matcher.fill_next_token_bitmask(self._bits)
            except DeadEndError:
                return 0, 0.0, "dead end"
        event = fill.event
        allowed = len(self._matcher.allowed_token_ids())
        return (allowed, 0.0, "all") if event is None else (allowed, event.nanoseconds / 1e3, event.kind)

    def _why_not(self, one: LoggedToken) -> str:
        """Why the grammar does not take a token here; "" where it does."""
        if self._asked.is_terminated():
            return "" if one.special else ENDED
        token = one.token_id if one.special else None  # by its id alone a control token is asked about
        if token is not None:
            return "" if self._asked.fork().accept_token(token) else why_not(self._asked, token)
        if one.special:  # an end that is no token of the vocabulary
            return "" if self._asked.is_completed() else why_not(self._asked, min(self._stops, default=-1))
        return "" if self._asked.fork().accept_string(one.token) else why_not(self._asked, one.token)

    def _id(self, one: LoggedToken) -> int | None:
        """The id of a token of text; None where the vocabulary has none with its bytes."""
        if one.token_id is not None:
            return one.token_id
        first, last = self._words.spelling(one.token)
        return int(self._words.ids[first]) if first < last else None

    def _take(self, matcher: GrammarMatcher, one: LoggedToken) -> None:
        if matcher.is_terminated() or (one.special and one.token_id is None):
            return
        token = self._id(one)
        if not (matcher.accept_string(one.token) if token is None else matcher.accept_token(token)):
            raise RuntimeError(f"the grammar refuses {one.token!r}, which it takes as text")

    def _guess(self, ahead: Sequence[LoggedToken]) -> Guess | None:
        """What a draft would guess here, and how far the grammar and the answer go along."""
        drafts = self._lookup.drafts(self._guesses)
        if not drafts:
            return None
        tokens = tuple(drafts[0])
        held = in_common(tokens, tuple(one.token for one in ahead[: len(tokens)]))
        probe, allowed = self._asked.fork(), 0
        while allowed < len(tokens) and not probe.is_terminated() and probe.accept_string(tokens[allowed]):
            allowed += 1
        return Guess(tokens, held, allowed)
