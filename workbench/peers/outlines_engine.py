"""outlines-core: a schema becomes one regular expression, that a finite automaton, that a mask for each state.

Everything is done when compiling, over the whole vocabulary: seconds to minutes for schemas with bounded strings.  It
is measured when asked for (`--engines ours,outlines`), not by default.  Recursion is unrolled and whitespace limited,
as its own defaults say; what its regular expressions get wrong shows in the verdicts.
"""

from __future__ import annotations

from functools import partial

import outlines_core

from workbench.peers.base import Constraint, Engine, Language
from workbench.tokenizers import Tokenizer


class OutlinesConstraint(Constraint):
    """`outlines_core.Guide`.  It raises on a refused token, so `accept` has a `try` of ours around it: some 0.1 us."""

    def __init__(self, engine: Engine, index: object) -> None:
        self._guide = outlines_core.Guide(index)
        self._row = engine.new_bitmask()
        self.bitmask = self._row[0]
        self.fill = partial(self._guide.write_mask_into, self._row.ctypes.data, self._row.size, self._row.itemsize)
        advance = self._guide.advance

        def accept(token: int) -> bool:
            try:
                advance(token, return_tokens=False)
            except ValueError:
                return False
            return True

        self.accept = accept

    def reset(self) -> None:
        self._guide.reset()

    def takes(self, token: int) -> bool:
        return bool(self._guide.accepts_tokens([token]))


class OutlinesCore(Engine):
    """One `Vocabulary`; nothing is shared between schemas."""

    name = "outlines"
    package = "outlines-core"
    languages = ("regex", "json_schema")
    settings = "its own regular expression for a schema: recursion unrolled, white space limited"

    def __init__(self, tokenizer: Tokenizer) -> None:
        super().__init__(tokenizer)
        control = self.control_ids()
        ids: dict[bytes, list[int]] = {}
        for token, data in enumerate(tokenizer.info.decoded_vocab):
            if token not in control:
                ids.setdefault(data, []).append(token)
        self.vocabulary = outlines_core.Vocabulary(self.stop_token_ids[0], ids)

    def _compile(self, language: Language, text: str) -> Constraint:
        pattern = text if language == "regex" else outlines_core.json_schema.build_regex_from_schema(text)
        return OutlinesConstraint(self, outlines_core.Index(pattern, self.vocabulary))
