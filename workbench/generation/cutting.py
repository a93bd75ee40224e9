"""Where tokens are cut: a prompt's end that is taken back (healing), texts cut as the tokenizer cuts them (canonical),
and text that the grammar leaves no choice about.

A grammar says which bytes may come, not in which tokens: `{"na` can be cut in many ways, and a model is trained on one.

*Healing.*  A prompt that ends in the middle of what the tokenizer would make one token leaves the model a cut that it
has hardly seen.  `heal` takes the prompt's last tokens back, and their bytes become the beginning that the text must
have: a token is allowed if these bytes begin with it, or it goes on from them into what the grammar allows.  Exact:
every token that leads to an allowed text is allowed, and no other.

*Canonical.*  A token is allowed only if an end of the text was found such that the tokenizer cuts the whole, beginning
and end, into just these tokens and those of the end.  What is promised: a text that ends by a stop token, or because
the grammar has no more, has the tokens that the tokenizer gives for it, alone and without its prompt; one that is cut
by its budget is a beginning of such a text; and there is always a token that goes on, since the end that was found is
kept.  What is not: one end is looked for behind each kind of next byte, the shortest, so that a token is refused as
well of which every canonical text ends otherwise.  Control tokens divide a text into parts, of which each is cut alone.
Asked of tokens that were drawn, one by one, and not of the vocabulary: a refused one is drawn again from what is left,
which gives the distribution over the allowed ones.

*Forced spans.*  Where the grammar forces `{"name": "`, its mask still allows several tokens (`{`, `{"`, ...).  Cut as
the tokenizer would cut it, the text costs one pass of the model instead of one a token.  A token is taken only while
every token that the mask allows stays inside the forced text: where one reaches beyond it, the model has to choose, so
the end of a span is left to it.  The span is the same as without; only the cut was chosen.

Read on: `engine.py`, which draws so, and takes forced tokens, or guesses them, when it is told to (`jump`); `cuts.py`,
for the probability of the other cuts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from time import perf_counter_ns
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from kernels_core import GrammarMatcher, TokenizerInfo
from kernels_core.errors import DeadEndError, TokenizerError, TooFewTokensError
from workbench.tokenizers.lexicon import lexicon

Cut: TypeAlias = Callable[[bytes], Sequence[int] | None]
"""The tokenizer's own tokens of a text; None where it has none that spell it."""
Encode: TypeAlias = Callable[[bytes], Sequence[int]]
"""Cuts bytes into token ids, as the tokenizer would, without control tokens."""
AFTER: Final = (b"", b" ", b"a", b"0", b".", b"\n")  # how a text without a grammar may go on
KINDS: Final = b' \n"aA0.,:}])_'  # bytes before which texts are cut differently
FEW: Final = 16
CONTINUATION: Final = range(0x80, 0xC0)
TAIL: Final = 24  # bytes of text before a forced span, so that it is cut as it would be in its place
FEWEST: Final = 2  # bytes of forced text worth a look


def heal(info: TokenizerInfo, prompt: Sequence[int]) -> tuple[list[int], bytes]:
    """The prompt without its last tokens, and their bytes: the longest end that some token could have gone on from.

    Nothing is taken back where no token goes on from the prompt's end; a control token, and the first token, stay.
    """
    words = lexicon(info)
    silent = frozenset(info.special_token_ids) | frozenset(info.stop_token_ids)
    healed, end = len(prompt), b""
    for place in range(len(prompt) - 1, 0, -1):
        token = prompt[place]
        end = info.decoded_vocab[token] + end
        if token in silent or len(end) >= words.longest:
            break
        first, last = words.beginning(end)
        if last > words.spelling(end)[1] and last > first:
            healed = place
    return list(prompt[:healed]), b"".join(info.decoded_vocab[token] for token in prompt[healed:])


class Cutting:
    """How the tokens of one text may be cut, beside what its grammar allows; it moves the text's matcher.

    Parameters
    ----------
    info
        The vocabulary.
    healed
        Bytes that the text must begin with; the matcher reads what comes behind them.
    cut
        Cuts as the tokenizer does: only canonical texts are written.  None: any cut will do.
    within
        In how many tokens the text must be whole; None: no matter.  Where nothing is healed and any cut will do,
        `GrammarMatcher.complete_within` says so instead.
    """

    def __init__(
        self, info: TokenizerInfo, *, healed: bytes = b"", cut: Cut | None = None, within: int | None = None
    ) -> None:
        self.rest = healed
        """Of the healed bytes those that are to be written yet."""
        self.hidden = 0
        """How many bytes of the token that was taken last are healed ones, and no text."""
        self.listed_ns = 0
        """How long the last list of `ids` took."""
        self._info = info
        self._vocabulary = info.decoded_vocab
        self._silent = frozenset(info.special_token_ids) | frozenset(info.stop_token_ids)
        self._cut = cut
        self._left = within
        self._tokens: list[int] = []  # since the last control token
        self._text = b""
        self._whole: list[int] = []  # a canonical text that begins with these tokens
        self._wholes_behind: dict[int, list[int] | None] = {}  # by the tokens that were asked about here
        self._listed: tuple[bytes, npt.NDArray[np.int64]] | None = None
        self._going: dict[tuple[int, int], bool] = {}  # of the healed bytes: by how many are left, and tokens spent

    @property
    def canonical(self) -> bool:
        """Whether only canonical texts are written."""
        return self._cut is not None

    def begin(self, matcher: GrammarMatcher | None) -> None:
        """See that there is a text at all, in time; `DeadEndError` or `TooFewTokensError` where there is none."""
        if self._cut is not None:
            wholes = self._wholes(b"", [], self.rest, matcher)
            found = next(wholes, None)
            if found is None:
                raise DeadEndError("no text was found that the grammar allows and the tokenizer cuts into tokens")
            self._whole = found if self._left is None else min([found, *wholes], key=len)
            if self._left is not None and len(self._whole) > self._left:
                raise TooFewTokensError(len(self._whole), self._left)
        elif self.rest and self._left is not None and matcher is not None:
            with suppress(TooFewTokensError):  # which would not count the healed bytes
                matcher.fork().complete_within(self._left)
            if not self._can_go_on(self.rest, matcher, 0):
                most = self._left
                while not self._can_go_on(self.rest, matcher, 0):  # each byte alone is a token at worst
                    self._left += 1
                    self._going = {}
                    if self._left > len(self.rest) + (matcher.tokens_to_end() or 0):
                        raise DeadEndError(f"no tokens write the prompt's end, {self.rest!r}, that was taken back")
                raise TooFewTokensError(self._left, most)
        else:
            self._hand_over(matcher)

    # -- which tokens -----------------------------------------------------------------------------------------------

    def ids(self, matcher: GrammarMatcher | None) -> npt.NDArray[np.int64] | None:
        """The ids that may come, ascending, while there is something to heal; None: those of the matcher's mask."""
        if not self.rest:
            return None
        if self._listed is None or self._listed[0] != self.rest:
            began = perf_counter_ns()
            self._listed = self.rest, self._list(matcher)
            self.listed_ns = perf_counter_ns() - began
        return self._listed[1]

    def _list(self, matcher: GrammarMatcher | None) -> npt.NDArray[np.int64]:
        words, rest = lexicon(self._info), self.rest
        found: list[int] = []
        for length in range(1, len(rest) + 1):
            first, last = words.spelling(rest[:length])
            if first < last and self._can_go_on(rest[length:], matcher, 1):
                found += words.ids[first:last].tolist()
        first, last = words.spelling(rest)[1], words.beginning(rest)[1]
        found += [
            int(words.ids[place])
            for place in range(first, last)
            if self._runs(words.tokens[place][len(rest) :], matcher, 1)
        ]
        return np.array(sorted(found), dtype=np.int64)

    def _can_go_on(self, rest: bytes, matcher: GrammarMatcher | None, spent: int) -> bool:
        """Whether what is left of the healed bytes can be written behind so many tokens, and the text behind it."""
        if (len(rest), spent) not in self._going:
            self._going[len(rest), spent] = self._goes(rest, matcher, spent)
        return self._going[len(rest), spent]

    def _goes(self, rest: bytes, matcher: GrammarMatcher | None, spent: int) -> bool:
        if not rest:
            return matcher is None or self._ends(matcher, spent)
        words = lexicon(self._info)
        for length in range(len(rest), 0, -1):
            first, last = words.spelling(rest[:length])
            if first < last and self._can_go_on(rest[length:], matcher, spent + 1):
                return True
        first, last = words.spelling(rest)[1], words.beginning(rest)[1]
        return any(self._runs(words.tokens[place][len(rest) :], matcher, spent + 1) for place in range(first, last))

    def _runs(self, over: bytes, matcher: GrammarMatcher | None, spent: int) -> bool:
        """Whether a token that runs past the healed bytes leads into what the grammar allows, and an end in time."""
        if matcher is None:
            return True
        probe = matcher.fork()
        return bool(probe.accept_string(over)) and self._ends(probe, spent)

    def _ends(self, matcher: GrammarMatcher, spent: int) -> bool:
        """Whether a text can end in time behind so many tokens more."""
        if self._left is None or self._cut is not None:
            return True
        needed = matcher.tokens_to_end()
        return needed is not None and needed <= self._left - spent

    def allows(self, token: int, matcher: GrammarMatcher | None) -> bool:
        """Whether a token that may come otherwise is cut as the tokenizer cuts."""
        if self._cut is None:
            return True
        if token in self._silent:
            return not self.rest and self._is_canonical()
        return self._whole_behind(token, matcher) is not None

    def _is_canonical(self) -> bool:
        assert self._cut is not None
        return list(self._cut(self._text) or ()) == self._tokens

    def _whole_behind(self, token: int, matcher: GrammarMatcher | None) -> list[int] | None:
        """A canonical text that begins with the tokens so far and this one, if one was found."""
        if token not in self._wholes_behind:
            kept = self._whole[: len(self._tokens) + 1] == [*self._tokens, token]
            self._wholes_behind[token] = self._whole if kept else self._look_behind(token, matcher)
        return self._wholes_behind[token]

    def _look_behind(self, token: int, matcher: GrammarMatcher | None) -> list[int] | None:
        written = self._vocabulary[token]
        rest, over = self.rest[len(written) :], written[len(self.rest) :]
        probe = None if matcher is None else matcher.fork()
        if probe is not None and over:
            taken = probe.accept_string(over) if self.rest else probe.accept_token(token)
            if not taken:
                return None
        left = None if self._left is None else self._left - 1
        return self._find_whole(self._text + written, [*self._tokens, token], rest, probe, left)

    def _find_whole(
        self, text: bytes, tokens: list[int], rest: bytes, matcher: GrammarMatcher | None, left: int | None
    ) -> list[int] | None:
        """The first of `_wholes` that needs at most `left` tokens more."""
        wholes = self._wholes(text, tokens, rest, matcher)
        return next((whole for whole in wholes if left is None or len(whole) - len(tokens) <= left), None)

    def _wholes(
        self, text: bytes, tokens: list[int], rest: bytes, matcher: GrammarMatcher | None
    ) -> Iterator[list[int]]:
        """The tokens of texts that begin with `text`, cut into `tokens`, and `rest`."""
        assert self._cut is not None
        for end in _ends_of(text + rest, matcher, whole=self._left is not None):
            whole = self._cut(text + rest + end)
            if whole is not None and list(whole[: len(tokens)]) == tokens:
                yield list(whole)

    # -- taking -----------------------------------------------------------------------------------------------------

    def take(self, token: int, matcher: GrammarMatcher | None) -> bool:
        """Take a token, in the matcher too; False, and nothing changed, where that refuses it, or it is not allowed."""
        rest, written = self.rest, self._vocabulary[token]
        if (ids := self.ids(matcher)) is not None and token not in ids:
            return False
        if not self.allows(token, matcher):
            return False
        whole = self._whole_behind(token, matcher) if self._cut is not None and token not in self._silent else None
        if matcher is not None and not rest and not matcher.accept_token(token):
            return False
        if self._left is not None and (self._cut is not None or rest):
            self._left -= 1
        self.hidden = min(len(rest), len(written))
        self.rest = rest[self.hidden :]
        if matcher is not None and rest and len(written) > self.hidden:
            matcher.accept_string(written[self.hidden :])
        self._going, self._wholes_behind = {}, {}
        if rest:
            self._hand_over(matcher)
        if token in self._silent:
            self._tokens, self._text, self._whole = [], b"", []
        elif whole is not None:
            self._tokens, self._text, self._whole = [*self._tokens, token], self._text + written, whole
        return True

    def _hand_over(self, matcher: GrammarMatcher | None) -> None:
        """Where there is nothing to heal any more, the matcher minds the budget."""
        if matcher is not None and self._left is not None and self._cut is None and not self.rest:
            matcher.complete_within(self._left, redraws=True)
            self._left = None


def canonical_cut(cut: Cut | None, name: str) -> Cut:
    """`cut`, or `TokenizerError` where there is no tokenizer behind a vocabulary."""
    if cut is None:
        raise TokenizerError(
            f"{name} is a vocabulary without a tokenizer behind it: nobody says which cut of a text is canonical"
        )
    return cut


def _ends_of(text: bytes, matcher: GrammarMatcher | None, *, whole: bool) -> Iterator[bytes]:
    """Ends that a text may have: the shortest, then the shortest behind next bytes of each kind.

    whole: only those with which the grammar's text is whole; else nothing, or one byte, where none is known.
    """
    if matcher is None:
        yield from _ends_of_characters(text)
        return
    for begun, place in _places(matcher, inside=bool(_missing(text))):
        end = b"" if place.is_completed() else place.shortest_end()
        if end is not None or not whole:
            yield begun + (end or b"")


def _places(matcher: GrammarMatcher, *, inside: bool) -> Iterator[tuple[bytes, GrammarMatcher]]:
    """Where the matcher is, and where it is behind bytes that may come: all if they are few or `inside` a character,
    else the first of each range and some of each kind."""
    yield b"", matcher
    ranges = matcher.possible_bytes()
    few = inside or sum(high - low + 1 for low, high in ranges) <= FEW
    for low, high in ranges:
        for byte in range(low, high + 1):
            if few or byte == low or byte in KINDS:
                probe = matcher.fork()
                if probe.accept_string(bytes((byte,))):
                    yield bytes((byte,)), probe


def _ends_of_characters(text: bytes) -> Iterator[bytes]:
    """Ends of a text without a grammar: anything behind whole characters, or what makes the last one whole."""
    missing = _missing(text)
    if not missing:
        yield from AFTER
        return
    for first in CONTINUATION:
        for last in (0x80, 0x90, 0xA0, 0xB0) if missing > 1 else (0x80,):
            end = bytes((first, *[last] * (missing - 1)))
            try:
                (text[-3:].lstrip(bytes(CONTINUATION)) + end).decode()
            except UnicodeDecodeError:
                continue
            yield end


def _missing(text: bytes) -> int:
    """How many bytes the character at the end of a text lacks."""
    for back in range(1, min(3, len(text)) + 1):
        byte = text[-back]
        if byte >= 0xC0:
            return max(0, (2 if byte < 0xE0 else 3 if byte < 0xF0 else 4) - back)
        if byte < 0x80:
            break
    return 0


# -- text without a choice ------------------------------------------------------------------------------------------


def forced_tokens(
    matcher: GrammarMatcher, encode: Encode, vocabulary: Sequence[bytes], before: bytes = b"", *, limit: int = 256
) -> list[int]:
    """The tokens that write the forced text here, at most `limit`; [] where the model has to choose.

    `vocabulary`: tokens' bytes by id.  `before`: the end of the text so far.  The matcher stays where it is.
    """
    if matcher.is_terminated():
        return []
    span = matcher.find_jump_forward_string().encode()
    if len(span) < FEWEST:
        return []
    probe = matcher.fork()
    taken: list[int] = []
    for token in _cut_behind(span, encode, vocabulary, before):
        if len(taken) == limit or _longest(probe, vocabulary) > len(span):
            break
        if not probe.accept_token(token):
            break
        taken.append(token)
        span = span[len(vocabulary[token]) :]
    return taken


def nothing_follows(matcher: GrammarMatcher) -> bool:
    """Whether the text is whole, and nothing but a stop token may come."""
    return matcher.is_completed() and not matcher.possible_bytes() and not matcher.reads_tokens


def _longest(matcher: GrammarMatcher, vocabulary: Sequence[bytes]) -> int:
    """Bytes of the longest token that may come next."""
    number = matcher.mask_number()
    ids = None if number is None else matcher.masks.mask(number).ids
    # Of forced text only its own beginnings are allowed: a handful of tokens.
    return 1 << 30 if ids is None else max((len(vocabulary[token]) for token in ids), default=0)


def _cut_behind(span: bytes, encode: Encode, vocabulary: Sequence[bytes], before: bytes) -> list[int]:
    """`span` as the tokenizer cuts it behind `before`; cut alone if there is no cut between the two."""
    tail = before[-TAIL:]
    while tail and tail[0] & 0xC0 == 0x80:
        tail = tail[1:]
    if tail:
        tokens, place = list(encode(tail + span)), 0
        for number, token in enumerate(tokens):
            if place == len(tail):
                return tokens[number:]
            place += len(vocabulary[token])
    return list(encode(span))
