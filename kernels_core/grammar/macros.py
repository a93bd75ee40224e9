r"""Macros of EBNF: `name(arguments)`, where `name` is not the name of a rule.

- `TagDispatch(("tag", content), ..., loop_after_dispatch=true, excludes=("s", ...), stops=("s", ...))`: free text with
  tags, as `ir.TagDispatch` defines it.  A content is a rule's name or any expression.
- `Token(id, ...)`, `ExcludeToken(id, ...)`: one token out of the list, or one that is not in it.
- `TokenTagDispatch((id, content), ..., loop_after_dispatch=true, excludes=(id, ...))`: free tokens, none of those
  listed; a tag's token switches to its content.
- `Regex("pattern", flags="", json_string=false)`: what the pattern matches as a whole; the dialect of
  `regular/reader.py`.  The pattern stands in a string, so a backslash is written twice.  `json_string=true`: only texts
  that can stand between the quotes of a JSON string as they are, without quotes, backslashes and control characters.
- `Substring("c1", "c2", ...)`: any run of neighbouring chunks, the empty one too.
- `Unordered((key, value), (key, value, required), ..., others=((key, value), ...), separator=(...), closing=(...),
  least=0, most=9)`: members in any order, as `ir.Unordered` defines them.  Keys, values, separator and closing are any
  expressions; "required" behind a value says that the member is.  With `needs=2`, which is a number of conditions that
  some member has to meet, a number behind a value says which it meets, a bit for each; what stands side by side with
  one key are the values of one member.

Arguments in parentheses may end with a comma, calls may not; named arguments come last.

Read on: `ebnf.py` (who calls this), `substring.py`.
"""

from __future__ import annotations

from ..errors import GrammarError
from . import charset, nodes
from .ir import Empty, Node, RuleRef, Span, Unordered
from .lexer import Tokens
from .names import fresh
from .needs import MAX_NEEDS, complaint
from .regex import parse_regex
from .substring import substring_rules

_MAX_TOKEN = 2**31 - 1
_OF_MEMBERS = ("others", "separator", "closing", "least", "most", "needs")
_IN_JSON = charset.complement(((0x00, 0x1F), (0x22, 0x22), (0x5C, 0x5C)))


class Dispatch:
    """A call of `TagDispatch` or `TokenTagDispatch` that is being read; contents are read by the parser between."""

    def __init__(self, tokens: Tokens, name: int) -> None:
        self._tokens = tokens
        self._by_token = tokens.text(name) == "TokenTagDispatch"
        self.start = tokens.starts[name]
        self._tags: list[tuple[bytes | int, int]] = []  # with their offsets
        self._contents: list[Node] = []
        self._named: dict[str, bool | list[tuple[bytes | int, int]]] = {}

    def splits(self) -> bool:
        """Whether a content may end at a comma."""
        return False

    def first(self, i: int) -> tuple[int, bool]:
        """From the token after the call's parenthesis to the first content or the end; see `arguments`."""
        return (i + 1, False) if self._tokens.kinds[i] == ")" else self.arguments(i)

    def content(self, node: Node, i: int) -> tuple[int, bool]:
        """Take a content, whose tuple is closed by the parenthesis at `i`, and read on; see `arguments`."""
        self._contents.append(node)
        return self._next(i + 1)

    def arguments(self, i: int) -> tuple[int, bool]:
        """Read arguments from token `i` to the next content (its first token, True) or behind the call (False)."""
        tokens = self._tokens
        if tokens.kinds[i] == "(":
            if self._named:
                tokens.fail("tags stand in front of named arguments", tokens.starts[i])
            self._tags.append(self._key(i + 1, "tag"))
            if tokens.kinds[i + 2] != ",":
                tokens.fail('a "," and the tag\'s content are missing here', tokens.starts[i + 2])
            return i + 3, True
        if tokens.kinds[i] == "name" and tokens.kinds[i + 1] == "=":
            return self._next(self._named_argument(i))
        tag = "id" if self._by_token else '"tag"'
        tokens.fail(f"expected ({tag}, content) or a named argument, as in excludes=(...)", tokens.starts[i])

    def _next(self, i: int) -> tuple[int, bool]:
        match self._tokens.kinds[i]:
            case ",":
                return self.arguments(i + 1)
            case ")":
                return i + 1, False
        self._tokens.fail('expected "," or ")" here', self._tokens.starts[i])

    def _named_argument(self, i: int) -> int:
        tokens = self._tokens
        name, at = tokens.text(i), i + 2
        known = ("loop_after_dispatch", "excludes") if self._by_token else ("loop_after_dispatch", "excludes", "stops")
        if name not in known:
            macro = "TokenTagDispatch" if self._by_token else "TagDispatch"
            tokens.fail(f"{macro} has no argument {name!r}; it has {', '.join(known)}", tokens.starts[i])
        if name in self._named:
            tokens.fail(f"the argument {name!r} is given twice", tokens.starts[i])
        if name == "loop_after_dispatch":
            if tokens.text(at) not in ("true", "false"):
                tokens.fail(f"{name} is true or false", tokens.starts[at])
            self._named[name] = tokens.text(at) == "true"
            return at + 1
        if tokens.kinds[at] != "(":
            tokens.fail(f"{name} is a list in parentheses", tokens.starts[at])
        found: list[tuple[bytes | int, int]] = []
        at += 1
        while tokens.kinds[at] != ")":
            found.append(self._key(at, name))
            at += 1
            if tokens.kinds[at] == ",":
                at += 1
            elif tokens.kinds[at] != ")":
                tokens.fail('expected "," or ")" here', tokens.starts[at])
        self._named[name] = found
        return at + 1

    def _key(self, i: int, what: str) -> tuple[bytes | int, int]:
        tokens, offset = self._tokens, self._tokens.starts[i]
        if self._by_token:
            return _token_id(tokens, i, "a trigger of TokenTagDispatch"), offset
        if tokens.kinds[i] not in ("string", "bytes"):
            tokens.fail("a string is expected here", offset)
        value = tokens.string(i)
        if not value:
            tokens.fail(f"an empty string in {what}" if what != "tag" else "a tag is empty", offset)
        return value, offset

    def _keys(self, name: str) -> list[tuple[bytes | int, int]]:
        found = self._named.get(name, [])
        assert isinstance(found, list)
        return found

    def node(self, end: int) -> Node:
        """The finished call; `end` is the offset behind it."""
        span = Span(self.start, end)
        loop = self._named.get("loop_after_dispatch", True) is True
        if self._by_token:
            return self._token_node(loop, span)

        def strings(found: list[tuple[bytes | int, int]]) -> tuple[bytes, ...]:
            return tuple(value for value, _ in found if isinstance(value, bytes))

        return nodes.tag_dispatch(
            strings(self._tags),
            tuple(self._contents),
            loop,
            strings(self._keys("excludes")),
            span,
            stops=strings(self._keys("stops")),
        )

    def _token_node(self, loop: bool, span: Span) -> Node:
        tags = {value for value, _ in self._tags}
        for value, offset in self._keys("excludes"):
            if value in tags:
                raise GrammarError(f"the token {value!r} is a tag and excluded", self._tokens.source, offset)
        switches = [
            nodes.seq((nodes.token_set((value,)), content))
            for (value, _), content in zip(self._tags, self._contents, strict=True)
            if isinstance(value, int)
        ]
        return nodes.token_dispatch(
            switches,
            tuple(value for value, _ in (*self._tags, *self._keys("excludes")) if isinstance(value, int)),
            loop,
            span,
        )


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
        if name not in _OF_MEMBERS:
            tokens.fail(f"there is no argument {name!r} here; there are {', '.join(_OF_MEMBERS)}", tokens.starts[i])
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


def call(tokens: Tokens, i: int, taken: set[str]) -> tuple[Node, int, list[tuple[str, Node]]]:
    """The macro whose name is token `i`, none of the dispatches: its node, the token behind it, and rules it adds.

    New names are added to `taken`.
    """
    name, at = tokens.text(i), i + 2
    positional: list[int] = []
    named: dict[str, int] = {}
    while tokens.kinds[at] != ")" or positional or named:
        if tokens.kinds[at] == "name" and tokens.kinds[at + 1] == "=":
            key = tokens.text(at)
            if key in named:
                tokens.fail(f"the argument {key!r} is given twice", tokens.starts[at])
            if name != "Regex" or key not in ("flags", "json_string"):
                tokens.fail(f"{name} does not support the named argument {key}", tokens.starts[at])
            named[key] = at + 2
            at += 3
        elif named:
            tokens.fail("arguments without a name stand in front of named ones", tokens.starts[at])
        else:
            positional.append(at)
            at += 1
        if tokens.kinds[at] == ")":
            break
        if tokens.kinds[at] != ",":
            tokens.fail('expected "," or ")" here', tokens.starts[at])
        at += 1
    span = Span(tokens.starts[i], tokens.ends[at])
    rules: list[tuple[str, Node]] = []
    match name:
        case "Token" | "ExcludeToken":
            ids = tuple(_token_id(tokens, argument, f"an argument of {name}") for argument in positional)
            if name == "Token" and not ids:
                tokens.fail("Token needs at least one id", tokens.ends[at - 1])
            node: Node = nodes.token_set(ids, name == "ExcludeToken", span)
        case "Regex":
            node, rules = _regex(tokens, positional, named, span, taken)
        case _:
            prefix, number = f"Substring.{len(taken)}", 0
            while any(other == prefix or other.startswith(prefix + ".") for other in taken):
                number += 1
                prefix = f"Substring.{len(taken) + number}"
            rules = substring_rules(
                [_string(tokens, argument, "an argument of Substring is a string") for argument in positional], prefix
            )
            taken.update(rule for rule, _ in rules)
            node = RuleRef(prefix, span=span)
    return node, at + 1, rules


def _regex(
    tokens: Tokens, positional: list[int], named: dict[str, int], span: Span, taken: set[str]
) -> tuple[Node, list[tuple[str, Node]]]:
    """The pattern's node, and the rules of its automaton where it has assertions."""
    if len(positional) != 1:
        tokens.fail(f"Regex expects exactly one string argument, the pattern; here are {len(positional)}", span.start)
    pattern = _string(tokens, positional[0], "Regex pattern must be a string literal")
    offset = tokens.starts[positional[0]]
    flags = _string(tokens, named["flags"], "flags must be a string") if "flags" in named else b""
    within = charset.ALL
    if "json_string" in named:
        place = named["json_string"]
        if tokens.text(place) not in ("true", "false"):
            tokens.fail("json_string must be a boolean: true or false", tokens.starts[place])
        within = _IN_JSON if tokens.text(place) == "true" else charset.ALL
    try:
        ir = parse_regex(pattern.decode(), flags.decode(), within=within)
    except UnicodeDecodeError:
        tokens.fail("a pattern is text, not raw bytes", offset)
    except GrammarError as error:
        where = f" (column {error.column} of the pattern)" if error.column is not None else ""
        raise type(error)(error.reason + where, tokens.source, offset) from None
    names: dict[str, str] = {}
    for name in ir.rules:
        if name != ir.root:
            names[name] = fresh(f"Regex.{name}", taken)
            taken.add(names[name])

    def moved(node: Node, below: list[Node]) -> Node:
        if isinstance(node, RuleRef):
            return RuleRef(names[node.name])
        return nodes.rebuild(node.with_span(None), below)

    bodies = {name: nodes.fold(rule.body, moved) for name, rule in ir.rules.items()}
    root = bodies.pop(ir.root).with_span(span)
    return root, [(names[name], body) for name, body in bodies.items()]


def _string(tokens: Tokens, i: int, reason: str = "a string is expected here") -> bytes:
    if tokens.kinds[i] not in ("string", "bytes"):
        tokens.fail(reason, tokens.starts[i])
    return tokens.string(i)


def _token_id(tokens: Tokens, i: int, what: str) -> int:
    digits = tokens.text(i).lstrip("0") or "0"
    if tokens.kinds[i] != "number":
        tokens.fail(f"{what} is a token's id, a whole number", tokens.starts[i])
    if len(digits) > 10 or int(digits) > _MAX_TOKEN:
        tokens.fail(f"a token's id is at most {_MAX_TOKEN:,}", tokens.starts[i])
    return int(digits)
