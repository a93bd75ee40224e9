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
  expressions; "required" behind a value says that the member is.  `needs=2` declares two conditions, each of which some
  member of a text must meet, and bit i of the number in `(key, value, number)` says that this value meets condition i;
  entries in a row with one key are then values of one member.

A list in parentheses may end with a comma, a call may not.  Named arguments come last.

Read on: `ebnf.py` (who calls this), `substring.py`.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, NoReturn

from ..errors import GrammarError
from . import charset, nodes
from .embedding import embedded
from .escapes import whole_number
from .ir import Empty, Node, Span, Unordered
from .lexer import Tokens
from .needs import MAX_NEEDS, complaint
from .regex import parse_regex
from .rulebook import RuleBook
from .substring import substring_grammar

_MAX_TOKEN = 2**31 - 1
_IN_JSON = charset.complement(((0x00, 0x1F), (0x22, 0x22), (0x5C, 0x5C)))
# The arguments of each macro: the form of those without a name, and the kinds of those with one.
MACROS: dict[str, tuple[str, dict[str, str]]] = {
    "TagDispatch": ('("tag", content)', {"loop_after_dispatch": "flag", "excludes": "texts", "stops": "texts"}),
    "TokenTagDispatch": ("(id, content)", {"loop_after_dispatch": "flag", "excludes": "ids"}),
    "Unordered": (
        "(key, value)",
        {"others": "members", "separator": "expression", "closing": "expression"}
        | {"least": "number", "most": "number", "needs": "number"},
    ),
    "Token": ("id", {}),
    "ExcludeToken": ("id", {}),
    "Regex": ("text", {"flags": "text", "json_string": "flag"}),
    "Substring": ("text", {}),
}
_Reading = Generator[int, Any, Any]


class Call:
    """The call of the macro whose name is token `i`, while it is parsed; rules that it needs are added to `book`.

    `reading` is a coroutine.  For each expression in the call it yields the first token and is sent the expression's
    node and the token behind it; it returns the node of the call and the token behind that.
    """

    def __init__(self, tokens: Tokens, i: int, book: RuleBook) -> None:
        self.start = tokens.starts[i]
        self.comma_ends = False  # whether a comma ends the expression that is read
        self.reading = self._read(i + 2)
        self._tokens = tokens
        self._book = book
        self._name = tokens.text(i)
        self._form, self._keywords = MACROS[self._name]
        self._positional: list[tuple[Any, ...]] = []  # a value and its offset, or what stands in parentheses
        self._named: dict[str, Any] = {}

    # -- arguments ------------------------------------------------------------------------------------------------

    def _fail(self, reason: str, i: int) -> NoReturn:
        self._tokens.fail(reason, self._tokens.starts[i])

    def _read(self, i: int) -> _Reading:
        kinds = self._tokens.kinds
        more = kinds[i] != ")"
        while more:
            i = yield from self._argument(i)
            more = kinds[i] == ","
            i += more
        if kinds[i] != ")":
            self._fail('expected "," or ")" here', i)
        return self._node(self._tokens.ends[i]), i + 1

    def _argument(self, i: int) -> _Reading:
        kinds = self._tokens.kinds
        if kinds[i] == "name" and kinds[i + 1] == "=":
            return (yield from self._named_argument(i))
        is_pair = self._form.startswith("(")
        if is_pair and kinds[i] != "(":
            example = "excludes" if "excludes" in self._keywords else "separator"
            self._fail(f"expected {self._form} or a named argument, as in {example}=(...)", i)
        if self._named:
            self._fail("arguments without a name stand in front of named ones", i)
        given, i = (yield from self._pair(i)) if is_pair else ((self._value(i), self._tokens.starts[i]), i + 1)
        self._positional.append(given)
        return i

    def _pair(self, i: int, *, may_require: bool = True) -> _Reading:
        """The tag or the member whose parenthesis is token `i`, and the token behind it.

        `may_require`: a member may be "required", and it is told whether it is.
        """
        tokens = self._tokens
        kinds = tokens.kinds
        if kinds[i] != "(":
            self._fail(f"expected {self._form} here", i)
        if self._form != "(key, value)":
            tag = self._watched(i + 1, "tag"), tokens.starts[i + 1]
            if kinds[i + 2] != ",":
                self._fail('a "," and the tag\'s content are missing here', i + 2)
            content, i = yield i + 3
            return (*tag, content), i + 1
        self.comma_ends = True
        key, i = yield i + 1
        if kinds[i] != ",":
            self._fail("a value is missing here: (key, value)", i)
        value, i = yield i + 1
        mask = 0
        if kinds[i] == "," and kinds[i + 1] == "number":
            mask = self._number(i + 1, (1 << MAX_NEEDS) - 1)
            i += 2
        is_required = may_require and kinds[i] == "," and tokens.text(i + 1) == "required"
        i += 2 * is_required
        if kinds[i] != ")":
            form = "(key, value, number, required)" if may_require else "(key, value, number)"
            self._fail(f'expected ")" here: a member is {form}, and what follows the value may be left out', i)
        return (key, value, is_required, mask) if may_require else (key, value, mask), i + 1

    def _named_argument(self, i: int) -> _Reading:
        tokens, name, at = self._tokens, self._tokens.text(i), i + 2
        kind = self._keywords.get(name)
        if kind is None and not self._form.startswith("("):
            self._fail(f"{self._name} does not support the named argument {name}", i)
        if kind is None:
            self._fail(f"{self._name} has no argument {name!r}; it has {', '.join(self._keywords)}", i)
        if name in self._named:
            self._fail(f"the argument {name!r} is given twice", i)
        self._named[name] = []
        if kind in ("members", "texts", "ids"):
            return (yield from self._list(name, at))
        if kind == "expression":
            if tokens.kinds[at] != "(":
                self._fail("parentheses are expected here", at)
            self.comma_ends = False
            self._named[name], at = yield at + 1
        elif kind == "flag":
            if tokens.text(at) not in ("true", "false"):
                self._fail(f"{name} must be a boolean: true or false", at)
            self._named[name] = tokens.text(at) == "true"
        elif kind == "number":
            self._named[name] = self._number(at, MAX_NEEDS if name == "needs" else nodes.MAX_REPEAT)
        elif tokens.kinds[at] != "string":
            self._fail(f"{name} must be a string", at)
        else:
            self._named[name] = tokens.string(at).decode()
        return at + 1

    def _list(self, name: str, i: int) -> _Reading:
        """The list in parentheses that begins at token `i`: of members, or of what free text is searched for."""
        kinds = self._tokens.kinds
        if kinds[i] != "(":
            self._fail(f"{name} is a list in parentheses", i)
        i += 1
        while kinds[i] != ")":
            if self._keywords[name] == "members":
                item, i = yield from self._pair(i, may_require=False)
            else:
                item, i = (self._watched(i, name), self._tokens.starts[i]), i + 1
            self._named[name].append(item)
            if kinds[i] == ",":
                i += 1
            elif kinds[i] != ")":
                self._fail('expected "," or ")" here', i)
        return i + 1

    def _watched(self, i: int, what: str) -> bytes | int:
        """What free text is searched for, or a token in place of that."""
        if self._name == "TokenTagDispatch":
            return _token_id(self._tokens, i, "a trigger of TokenTagDispatch")
        value = self._text(i, "a string is expected here")
        if not value:
            self._fail("a tag is empty" if what == "tag" else f"an empty string in {what}", i)
        return value

    def _value(self, i: int) -> bytes | int:
        """An argument without a name and without parentheses."""
        if self._form == "id":
            return _token_id(self._tokens, i, f"an argument of {self._name}")
        is_pattern = self._name == "Regex"
        reason = "Regex pattern must be a string literal" if is_pattern else "an argument of Substring is a string"
        return self._text(i, reason)

    def _text(self, i: int, reason: str) -> bytes:
        if self._tokens.kinds[i] not in ("string", "bytes"):
            self._fail(reason, i)
        return self._tokens.string(i)

    def _number(self, i: int, most: int) -> int:
        number = whole_number(self._tokens.text(i), most)
        if number is None:
            self._fail(f"a number of at most {most:,} is expected here", i)
        return number

    # -- meaning --------------------------------------------------------------------------------------------------

    def _node(self, end: int) -> Node:
        """The finished call, which ends at the offset `end`."""
        span = Span(self.start, end)
        values = [given[0] for given in self._positional]
        match self._name:
            case "Regex":
                return self._regex(span)
            case "Substring":
                return embedded(substring_grammar(values), self._book, "Substring.rule", span)
            case "Unordered":
                return self._members(span)
            case "TokenTagDispatch":
                return self._token_dispatch(span)
            case "TagDispatch":
                contents = tuple(content for _, _, content in self._positional)
                excludes, stops = (tuple(text for text, _ in self._named.get(key, ())) for key in ("excludes", "stops"))
                loop = self._named.get("loop_after_dispatch", True)
                return nodes.tag_dispatch(tuple(values), contents, loop, excludes, span, stops=stops)
        if self._name == "Token" and not values:
            self._tokens.fail("Token needs at least one id", end - 1)
        return nodes.token_set(values, self._name == "ExcludeToken", span)

    def _token_dispatch(self, span: Span) -> Node:
        tags = [tag for tag, _, _ in self._positional]
        excluded = self._named.get("excludes", ())
        for value, offset in excluded:
            if value in tags:
                raise GrammarError(f"the token {value!r} is a tag and excluded", self._tokens.source, offset)
        switches = [nodes.seq((nodes.token_set((tag,)), content)) for tag, _, content in self._positional]
        watched = (*tags, *(value for value, _ in excluded))
        return nodes.token_dispatch(switches, watched, self._named.get("loop_after_dispatch", True), span)

    def _members(self, span: Span) -> Node:
        others, needs = self._named.get("others", ()), self._named.get("needs", 0)
        if any(member[-1] >> needs for member in (*self._positional, *others)):
            self._tokens.fail(f"a member meets a need beyond the {needs} that there are", self.start)
        separator, closing = (self._named.get(name, Empty()) for name in ("separator", "closing"))
        least, most = self._named.get("least", 0), self._named.get("most")
        made = nodes.unordered(self._positional, others, separator, closing, least, most, span, needs)
        if isinstance(made, Unordered) and (wrong := complaint(made)):
            self._tokens.fail(wrong, self.start)
        return made

    def _regex(self, span: Span) -> Node:
        """The pattern's node, and the rules of its automaton where it has assertions."""
        tokens = self._tokens
        if len(self._positional) != 1:
            reason = f"Regex expects exactly one string argument, the pattern; here are {len(self._positional)}"
            tokens.fail(reason, span.start)
        pattern, offset = self._positional[0]
        within = _IN_JSON if self._named.get("json_string", False) else charset.ALL
        try:
            ir = parse_regex(pattern.decode(), self._named.get("flags", ""), within=within)
        except UnicodeDecodeError:
            tokens.fail("a pattern is text, not raw bytes", offset)
        except GrammarError as error:
            where = f" (column {error.column} of the pattern)" if error.column is not None else ""
            raise type(error)(error.reason + where, tokens.source, offset) from None
        return embedded(ir, self._book, "Regex.rule", span)


def _token_id(tokens: Tokens, i: int, what: str) -> int:
    number = whole_number(tokens.text(i), _MAX_TOKEN)
    if tokens.kinds[i] != "number":
        tokens.fail(f"{what} is a token's id, a whole number", tokens.starts[i])
    if number is None:
        tokens.fail(f"a token's id is at most {_MAX_TOKEN:,}", tokens.starts[i])
    return number
