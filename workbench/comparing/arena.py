"""Several engines at one place of one text, asked for their masks and for what they take.

Read on: `workbench/comparing/hunting.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random

import numpy as np

from workbench.comparing.finding import FindingKind
from workbench.comparing.sides import Bits, Common, guarded, unpacked
from workbench.next.probes import short_end
from workbench.peers.base import Constraint
from workbench.peers.ours import OurConstraint
from workbench.tokenizers import Tokenizer


@dataclass
class Contestant:
    """An engine that takes the grammar.  `may_end`: whether its mask last filled allows a stop token."""

    label: str
    constraint: Constraint
    canonical_masks: bool = False
    may_end: bool = False

    def takes(self, token: int) -> bool:
        return bool(guarded(self.constraint.takes, token))


class Arena:
    """All contestants stand after the same tokens.  What an engine raises comes out as `EngineFailure`."""

    def __init__(self, contestants: Sequence[Contestant], common: Common, tokenizer: Tokenizer) -> None:
        self.contestants = list(contestants)
        self.common = common
        self.tokenizer = tokenizer

    def start(self) -> None:
        for one in self.contestants:
            guarded(one.constraint.reset)

    def accept(self, token: int) -> bool:
        """Move all; False where one does not take it."""
        return all(guarded(one.constraint.accept, token) for one in self.contestants)

    def read(self, tokens: Sequence[int]) -> bool:
        """From the beginning."""
        self.start()
        return all(self.accept(token) for token in tokens)

    def masks(self) -> list[Bits]:
        """One mask for each contestant; `may_end` is set by the way."""
        return [self.mask(one) for one in self.contestants]

    def mask(self, one: Contestant) -> Bits:
        guarded(one.constraint.fill)
        bits = unpacked(one.constraint, self.common)
        one.may_end = bool(bits[list(self.common.stops)].any())
        return bits

    def reads(self, one: Contestant, tokens: Sequence[int]) -> bool:
        """Move one of them alone, from the beginning."""
        guarded(one.constraint.reset)
        return all(guarded(one.constraint.accept, token) for token in tokens)

    def parts(
        self, kind: FindingKind, tokens: Sequence[int], token: int | None, goes_on: Contestant, refuses: Contestant
    ) -> bool:
        """Whether the two part in this way after `tokens`, which both must take."""
        if not (self.reads(goes_on, tokens) and self.reads(refuses, tokens)):
            return False
        if kind == "end":
            self.mask(goes_on)
            self.mask(refuses)
            return goes_on.may_end and not refuses.may_end
        assert token is not None
        if kind == "refused":
            return goes_on.takes(token) and not refuses.takes(token)
        allowed = bool(self.mask(goes_on)[token])
        if kind == "false hope":
            return allowed and not goes_on.takes(token)
        return allowed and goes_on.takes(token) and not self.mask(refuses)[token] and refuses.takes(token)

    def accepts(self, one: Contestant, tokens: Sequence[int]) -> bool:
        """Whether one takes the tokens and may end then."""
        if not self.reads(one, tokens):
            return False
        self.mask(one)
        return one.may_end

    def ended(
        self,
        one: Contestant,
        begun: Sequence[int],
        attempt: int,
        limit: int,
        ids: Mapping[bytes, int],
        closing: Sequence[bytes],
    ) -> list[int] | None:
        """`begun` continued by the mask of one of them to where it may end, at most `limit` tokens further.

        At the first attempt our own engine takes a shortest way; else tokens that close something are preferred, then
        plain ones.
        """
        if not self.reads(one, begun):
            return None
        if attempt == 0 and isinstance(one.constraint, OurConstraint):
            way = short_end(one.constraint.matcher)
            return None if way is None else [*begun, *self.tokenizer.encode(way)]
        vocabulary = self.tokenizer.info.decoded_vocab
        tokens = list(begun)
        random = Random(attempt)
        chance = (1.0, 0.95, 0.8, 0.6)[attempt % 4]
        preferred = [ids[data] for data in closing if data in ids]
        for _ in range(limit):
            allowed = self.mask(one)
            if one.may_end:
                return tokens
            likely = [token for token in preferred if allowed[token]]
            if likely and random.random() < chance:
                token = likely[0]
            else:
                found = np.flatnonzero(allowed & self.common.ids)
                if not len(found):
                    return None
                some = [int(found[random.randrange(len(found))]) for _ in range(8)]
                token = min(some, key=lambda one: (not vocabulary[one].strip(), len(vocabulary[one])))
            if not guarded(one.constraint.accept, token):
                return None
            tokens.append(token)
        return None
