"""Tokens in structural tags: by id, by the text of the one token that is spelt so, and as names in ordinary text.

Read on: `build.py` (who asks).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cached_property
from hashlib import sha256
from typing import Any, Final, Protocol
from weakref import WeakKeyDictionary

from ...errors import InvalidStructuralTagError
from .. import nodes
from ..ir import Node, TokenSet
from ..json_schema.exact_text import shown
from ..regular.prefixes import common_beginning


class Vocabulary(Protocol):
    """What is needed of a `TokenizerInfo`."""

    @property
    def vocab_size(self) -> int: ...

    @property
    def decoded_vocab(self) -> list[bytes]: ...

    @property
    def special_token_ids(self) -> list[int]: ...

    @property
    def stop_token_ids(self) -> list[int]: ...


class _Names:
    """The names of a vocabulary's control tokens, found once."""

    def __init__(self, vocabulary: Vocabulary | None) -> None:
        self.ids: dict[bytes, list[int]] = {}
        if vocabulary is not None:
            decoded = vocabulary.decoded_vocab
            for number in sorted({*vocabulary.special_token_ids, *vocabulary.stop_token_ids}):
                if decoded[number]:
                    self.ids.setdefault(decoded[number], []).append(number)
        self.without_nul = not any(b"\0" in name for name in self.ids)
        self.digest = sha256(repr(sorted(self.ids.items())).encode()).digest()
        self._begin = common_beginning(self.ids) if self.ids else b""

    @cached_property
    def _pattern(self) -> re.Pattern[bytes]:
        return re.compile(_longest_of(list(self.ids)))

    def found(self, data: bytes) -> Iterable[re.Match[bytes]]:
        """Where names stand in `data`, in order."""
        # Few texts hold even what all names begin with.
        return self._pattern.finditer(data) if self.ids and self._begin in data else ()


_DEEPEST: Final = 20  # groups within each other, far below what `re` can read


def _longest_of(names: list[bytes], depth: int = 0) -> bytes:
    """A pattern of different names that finds the longest one at a place, as tokenizers do.

    It is their trie: hundreds of reserved tokens are passed over with one look where a byte differs.
    """
    if depth == _DEEPEST:
        return b"(?:" + b"|".join(map(re.escape, sorted(names, key=len, reverse=True))) + b")"
    groups: dict[bytes, list[bytes]] = {}
    for name in filter(None, names):
        groups.setdefault(name[:1], []).append(name)
    ways = []
    for group in groups.values():
        begin = common_beginning(group)
        rests = [name[len(begin) :] for name in group]
        ways.append(re.escape(begin) + (b"" if len(rests) == 1 else _longest_of(rests, depth + 1)))
    if b"" in names:
        return b"(?:" + b"|".join(ways) + b")?"
    return b"(?:" + b"|".join(ways) + b")"


_NAMES: WeakKeyDictionary[Vocabulary, _Names] = WeakKeyDictionary()
_NO_NAMES = _Names(None)


def control_names(vocabulary: Vocabulary | None) -> _Names:
    """The names of a vocabulary's control tokens; none without a vocabulary."""
    if vocabulary is None:
        return _NO_NAMES
    try:
        found = _NAMES.get(vocabulary)
        if found is None:
            found = _NAMES[vocabulary] = _Names(vocabulary)
    except TypeError:  # no weak references to it, or no hash
        return _Names(vocabulary)
    return found


class Spellings:
    """Text of a structural tag as nodes.  A control token's name in it means that token, which bytes never match.

    Without a vocabulary all text is bytes.
    """

    def __init__(self, vocabulary: Vocabulary | None) -> None:
        self._names = control_names(vocabulary)

    @property
    def digest(self) -> bytes:
        """Bytes that stand for what the names of control tokens mean."""
        return self._names.digest

    def named(self, texts: list[str]) -> tuple[int, ...]:
        """The control tokens whose names occur in any of `texts`, ascending."""
        # All at once, with something in between that is in no name.
        searched = ["\0".join(texts)] if self._names.without_nul else texts
        names = {match.group() for text in searched for match in self._names.found(text.encode())}
        return tuple(sorted({number for name in names for number in self._names.ids[name]}))

    def parts(self, text: str) -> list[Node]:
        """`text` as literals and tokens, in order."""
        found: list[Node] = []
        at = 0
        data = text.encode()
        for match in self._names.found(data):
            found += [nodes.literal(data[at : match.start()]), TokenSet(tuple(self._names.ids[match.group()]))]
            at = match.end()
        found.append(nodes.literal(data[at:]))
        return [part for part in found if part != nodes.seq(())]

    def node(self, text: str) -> Node:
        """`text` as one node."""
        return nodes.seq(self.parts(text))


def token_id(token: Any, path: str, vocabulary: Vocabulary | None) -> int:
    """The id of `token`, a number or a token's text, which stands at `path`.

    Where several tokens are spelt alike, the one that is a control token is meant.
    """
    if isinstance(token, str):
        return _by_text(token, path, vocabulary)
    if not isinstance(token, int) or isinstance(token, bool):
        raise InvalidStructuralTagError(
            f"a token must be an integer, its id, or a token's text, not {shown(token)}", path
        )
    if token < 0 or (vocabulary is not None and token >= vocabulary.vocab_size):
        size = "" if vocabulary is None else f"; this vocabulary has ids 0..{vocabulary.vocab_size - 1}"
        raise InvalidStructuralTagError(f"there is no token {token}{size}", path)
    return token


def _by_text(token: str, path: str, vocabulary: Vocabulary | None) -> int:
    found = tokens_spelt(token, path, vocabulary)
    if len(found) > 1:
        raise InvalidStructuralTagError(f"{len(found)} tokens are spelt {token!r}", path)
    return found[0]


def tokens_spelt(token: str, path: str, vocabulary: Vocabulary | None) -> list[int]:
    """All ids that `token`, a token's text, may mean: where some of them are control tokens, those."""
    if vocabulary is None:
        reason = f"the token {token!r} is given by its text: compile the tag with a tokenizer, or give its id"
        raise InvalidStructuralTagError(reason, path, needs_vocabulary=True)
    found = _places(vocabulary.decoded_vocab, token.encode("utf-8", "surrogatepass")) if token else []
    if len(found) > 1:
        control = {*vocabulary.special_token_ids, *vocabulary.stop_token_ids}
        found = [number for number in found if number in control] or found
    if not found:
        raise InvalidStructuralTagError(f"no token is spelt {token!r}", path)
    return found


def _places(vocab: Sequence[bytes], text: bytes) -> list[int]:
    """All ids with these bytes; `index` runs over a vocabulary in a millisecond."""
    found: list[int] = []
    start = 0
    while True:
        try:
            start = vocab.index(text, start)
        except ValueError:
            return found
        found.append(start)
        start += 1
