"""The macro `Unordered` of EBNF: members in any order, as `ir.Unordered` defines them.

    Unordered((key, value), (key, value, required), ..., others=((key, value), ...), separator=(...), closing=(...),
              least=0, most=9)

Keys, values, separator and closing are any expressions; "required" behind a value says that the member is.  With
`needs=2`, which is a number of conditions that some member has to meet, a number behind a value says which it meets, a
bit for each; what stands side by side with one key are the values of one member.

Read on: `ebnf.py` (reads the expressions), `macros.py` (the other macros).
"""

from __future__ import annotations

from . import nodes
from .ir import Empty, Node, Span, Unordered
from .lexer import Tokens
from .needs import MAX_NEEDS, complaint

__all__ = ["Members"]

_NAMED = ("others", "separator", "closing", "least", "most", "needs")


class Members:
    """A call of `Unordered` that is being read; expressions are read by the parser between."""

    def __init__(self, tokens: Tokens, name: int) -> None:
        self._tokens = tokens
        self.start = tokens.starts[name]
        self._members: list[tuple[Node, Node, bool, int]] = []
        self._others: list[tuple[Node, Node, int]] = []
        self._meets: list[int] = []
        self._texts: dict[str, Node] = {}
        self._bounds: dict[str, int] = {}
        self._given: set[str] = set()
        self._key: Node | None = None
        self._at = ""  # what is read: "" a member, or the argument's name

    def first(self, i: int) -> tuple[int, bool]:
        """From the token after the call's parenthesis to the first expression or the end."""
        return (i + 1, False) if self._tokens.kinds[i] == ")" else self._arguments(i)

    def splits(self) -> bool:
        """Whether the expression that is being read may end at a comma."""
        return self._at in ("", "others")

    def content(self, node: Node, i: int) -> tuple[int, bool]:
        """Take an expression that ended at token `i`, and read on: (token, whether an expression begins there)."""
        tokens = self._tokens
        if self._at in ("separator", "closing"):
            self._texts[self._at] = node
            self._at = ""
            return self._next(i + 1)
        if self._key is None:
            if tokens.kinds[i] != ",":
                tokens.fail("a value is missing here: (key, value)", tokens.starts[i])
            self._key = node
            return i + 1, True
        required, meets = False, 0
        if tokens.kinds[i] == "," and tokens.kinds[i + 1] == "number":
            meets = self._number(i + 1, (1 << MAX_NEEDS) - 1)
            i += 2
        if tokens.kinds[i] == ",":
            required = not self._at and tokens.text(i + 1) == "required"
            if not required or tokens.kinds[i + 2] != ")":
                tokens.fail('expected ")" or ", required)" here', tokens.starts[i])
            i += 2
        self._meets.append(meets)
        if self._at:
            self._others.append((self._key, node, meets))
        else:
            self._members.append((self._key, node, required, meets))
        self._key = None
        return self._next(i + 1)

    def _next(self, i: int) -> tuple[int, bool]:
        tokens = self._tokens
        if self._at == "others":
            if tokens.kinds[i] == "," and tokens.kinds[i + 1] != ")":
                return self._pair(i + 1)
            i += tokens.kinds[i] == ","
            if tokens.kinds[i] != ")":
                tokens.fail('expected "," or ")" here', tokens.starts[i])
            self._at = ""
            i += 1
        if tokens.kinds[i] == ",":
            return self._arguments(i + 1)
        if tokens.kinds[i] == ")":
            return i + 1, False
        tokens.fail('expected "," or ")" here', tokens.starts[i])

    def _pair(self, i: int) -> tuple[int, bool]:
        if self._tokens.kinds[i] != "(":
            self._tokens.fail("expected (key, value) here", self._tokens.starts[i])
        return i + 1, True

    def _arguments(self, i: int) -> tuple[int, bool]:
        tokens, name = self._tokens, self._tokens.text(i)
        if tokens.kinds[i] == "(":
            if self._given:
                tokens.fail("members stand in front of named arguments", tokens.starts[i])
            return self._pair(i)
        if tokens.kinds[i] != "name" or tokens.kinds[i + 1] != "=":
            tokens.fail("expected (key, value) or a named argument, as in separator=(...)", tokens.starts[i])
        if name not in _NAMED:
            tokens.fail(f"there is no argument {name!r} here; there are {', '.join(_NAMED)}", tokens.starts[i])
        if name in self._given:
            tokens.fail(f"the argument {name!r} is given twice", tokens.starts[i])
        self._given.add(name)
        if name in ("least", "most", "needs"):
            self._bounds[name] = self._number(i + 2, MAX_NEEDS if name == "needs" else nodes.MAX_REPEAT)
            return self._next(i + 3)
        if tokens.kinds[i + 2] != "(":
            tokens.fail("parentheses are expected here", tokens.starts[i + 2])
        self._at = name
        return self._pair(i + 3) if name == "others" else (i + 3, True)

    def _number(self, i: int, most: int) -> int:
        tokens = self._tokens
        digits = tokens.text(i)
        if tokens.kinds[i] != "number" or len(digits) > 20 or int(digits) > most:
            tokens.fail(f"a number of at most {most:,} is expected here", tokens.starts[i])
        return int(digits)

    def node(self, end: int) -> Node:
        """The finished call; `end` is the offset behind it."""
        separator, closing = (self._texts.get(name, Empty()) for name in ("separator", "closing"))
        least, most = self._bounds.get("least", 0), self._bounds.get("most")
        span = Span(self.start, end)
        needs = self._bounds.get("needs", 0)
        if any(meets >> needs for meets in self._meets):
            self._tokens.fail(f"a member meets a need beyond the {needs} that there are", self.start)
        made = nodes.unordered(self._members, self._others, separator, closing, least, most, span, needs)
        if isinstance(made, Unordered) and (wrong := complaint(made)):
            self._tokens.fail(wrong, self.start)
        return made
