"""Names of control tokens in ordinary text: where they stand, and which."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kernels_core import TokenizerInfo
from kernels_core.grammar import nodes
from kernels_core.grammar.ir import Node, TokenSet
from kernels_core.grammar.structural_tag.tokens import Spellings

letters = st.text("ab<|é", min_size=1, max_size=5)
names = st.one_of(
    st.sets(letters, min_size=1, max_size=8),
    st.sets(letters.map("<|".__add__), min_size=1, max_size=8),
    st.sets(letters.map("<|".__add__), max_size=4).map(lambda some: {"<|", *some}),
    st.sets(st.integers(1, 80).map("a".__mul__), min_size=30, max_size=60),  # each the beginning of the next
)


def spelt(text: bytes, ids: dict[bytes, int]) -> list[Node]:
    """By the definition: from left to right, the longest name that stands at a place."""
    found: list[Node] = []
    plain = b""
    while text:
        here = max((name for name in ids if text.startswith(name)), key=len, default=b"")
        if not here:
            plain, text = plain + text[:1], text[1:]
            continue
        found += [nodes.literal(plain)] if plain else []
        found.append(TokenSet((ids[here],)))
        plain, text = b"", text[len(here) :]
    return [*found, nodes.literal(plain)] if plain else found


@given(names, st.lists(st.text("ab<|é", max_size=12) | st.integers(0, 99).map("a".__mul__), max_size=3))
def test_the_longest_name_at_a_place_is_meant(names: set[str], texts: list[str]) -> None:
    vocabulary = [name.encode() for name in sorted(names)]
    ids = {name: number for number, name in enumerate(vocabulary)}
    spellings = Spellings(TokenizerInfo(vocabulary, special_token_ids=list(ids.values()), stop_token_ids=[]))
    meant: set[int] = set()
    for text in texts:
        parts = spelt(text.encode(), ids)
        assert spellings.parts(text) == parts
        meant.update(number for part in parts if isinstance(part, TokenSet) for number in part.ids)
    assert spellings.named(texts) == tuple(sorted(meant))
