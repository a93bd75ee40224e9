"""Formats to grammar nodes: one method for each type, which reads its keys and builds what they say.

Each method gets the end of the tag around it, if its text comes last in that tag, and builds itself *and* that end:
only the last format knows how to stop at it (`ends.py`).  What is repeated, or followed by something else, is built
without; free text there leaves out the end strings of the tag.  That holds for each text by itself: two of them side by
side may hold an end string across their border.  Free tokens leave out end tokens, and end strings stop them anywhere.

Read on: `../ir.py` (TagDispatch), `../json_schema` (schemas), `../ebnf.py`, `../regex.py`.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, cast

from ...clock import look
from ...errors import (
    GrammarError,
    GrammarNote,
    InvalidStructuralTagError,
    SchemaProblem,
    UnsupportedFeatureError,
    UnsupportedSchemaError,
)
from .. import nodes
from ..analysis import matches_something
from ..canonical_json import CanonicalText
from ..ebnf import parse_ebnf
from ..embedding import called
from ..ir import GrammarIR, Node, RuleRef, TokenSet
from ..json_schema import TAG_OPTIONS, SchemaOptions, schema_text
from ..json_schema.caps import Caps, caps_of
from ..json_schema.compile import read_again, schema_rules
from ..json_schema.emit import Emitter
from ..json_schema.problems import child
from ..json_schema.quick_writer import QuickWriter
from ..json_schema.steps import ORDERS, Order
from ..regex import parse_regex
from ..regular.dfa import TooManyStates
from ..rulebook import RuleBook
from .bounded_text import limited_text
from .elements import ElementEmitter
from .ends import End, FreeText, crosses
from .fields import Fields, checked
from .gemma_arguments import BareEmitter
from .json_excluding import CarefulEmitter
from .styles import STYLES
from .tag_lists import ReadTag, TagList
from .tokens import Spellings, Vocabulary, token_id

_MAX_DEPTH = 100  # formats in formats
FORMATS: dict[str, str] = {
    "const_string": "value",
    "json_schema": " ".join(("json_schema", "style", *TAG_OPTIONS, "excludes")),
    "any_text": "excludes max_tokens max_chars",
    "grammar": "grammar",
    "regex": "pattern",
    "sequence": "elements",
    "or": "elements",
    "optional": "content",
    "plus": "content",
    "star": "content",
    "repeat": "min max content",
    "tag": "begin content end",
    "triggered_tags": "triggers tags at_least_one stop_after_first excludes",
    "tags_with_separator": "tags separator at_least_one stop_after_first",
    "dispatch": "rules loop excludes",
    "token": "token",
    "exclude_token": "exclude_tokens",
    "any_tokens": "exclude_tokens max_tokens",
    "token_triggered_tags": "trigger_tokens tags exclude_tokens at_least_one stop_after_first",
    "token_dispatch": "rules loop exclude_tokens",
}
"""The keys of each format; the method of `Builder` that reads it has its name."""
_TOO_LONG = (
    "to count so many characters while watching for strings takes too many states; use a smaller number, or ends and "
    "excludes none of which can begin inside another"
)
_MAX_EXCLUDED = 1_000  # characters of what no string of a schema may hold: as many states for each kind of string

Way = tuple[SchemaOptions, tuple[str, tuple[str, ...]], Callable[..., Emitter]]
"""How values of a schema are written: options, (style, what strings must not hold), and what makes the emitter."""


def _moved(problems: Sequence[SchemaProblem], place: str) -> tuple[SchemaProblem, ...]:
    """Problems of a schema that stands at `place`."""
    return tuple(replace(problem, pointer=place + problem.pointer[1:]) for problem in problems)


class Builder:
    """Builds the rules of one structural tag.

    vocabulary: needed where tokens are given by their text.
    written: the tag as text, which allows for putting deferrable calls off; None if everything is to be done at once.
    lenient: schemas are read so.  `warnings` is what is to be said, in the order of reading.
    """

    def __init__(
        self, vocabulary: Vocabulary | None, written: CanonicalText | None = None, *, lenient: bool = False
    ) -> None:
        self.warnings: list[SchemaProblem | GrammarNote] = []
        self._lenient = lenient
        self._vocabulary = vocabulary
        self._written = written
        self._spellings = Spellings(vocabulary)
        self._book = RuleBook()
        self._imported: dict[object, Node] = {}
        self._writers: dict[object, QuickWriter] = {}
        self._ways: dict[str, Way] = {}
        self._ends: dict[str, End] = {}
        self._late = False  # what is read is what waited, as it was written, and nobody else has it
        self._depth = 0
        self._around: End | None = None  # the end of the innermost tag that is being read

    def grammar(self, value: Any, path: str, source: str) -> GrammarIR:
        """The rules of the format `value`; the root is called "root"."""
        root = self._book.reserve("root")
        self._book.define(root, self.node(value, path, None))
        self._written, self._late = None, True  # it knows the parts of a value that may change now
        return self._book.grammar(root, source)

    def node(self, value: Any, path: str, end: End | None) -> Node:
        """The format at `path`, then `end`."""
        if not isinstance(value, Mapping):
            raise InvalidStructuralTagError("Format must be an object with a type", path)
        kind = value.get("type")
        if not isinstance(kind, str) or kind not in FORMATS:
            what = "the key 'type' is missing" if kind is None else f"Format type not recognized: {kind}"
            raise InvalidStructuralTagError(f"{what}; the types are {', '.join(FORMATS)}", path)
        build: Callable[[Fields, End | None], Node] = getattr(self, f"_{kind}")
        if self._depth == _MAX_DEPTH:
            raise InvalidStructuralTagError(f"formats are nested deeper than {_MAX_DEPTH}", path)
        self._depth += 1
        try:
            return build(Fields(value, path, FORMATS[kind].split()), end)
        finally:
            self._depth -= 1

    # -- texts ----------------------------------------------------------------------------------------------------

    def _const_string(self, fields: Fields, end: End | None) -> Node:
        return _ended(self._spellings.node(fields.text("value")), end)

    def _any_text(self, fields: Fields, end: End | None) -> Node:
        if fields.has("max_tokens"):
            return self._limited_text(fields, self._limit(fields, "max_tokens"), end)
        if not fields.has("max_chars"):
            return self._free(fields, (), True, end)
        try:
            excludes = (*fields.texts("excludes"), *(text.decode() for text in self._left_out(end)))
            return limited_text(self._book, self._limit(fields, "max_chars"), excludes, end)
        except TooManyStates:
            fields.refuse(_TOO_LONG, "max_chars")

    def _limited_text(self, fields: Fields, most: int, end: End | None) -> Node:
        """Text in which so many tokens may begin, in a rule of its own, and the end."""
        strings = () if end is None else end.strings
        around = (*fields.texts("excludes"), *(text.decode() for text in (*strings, *self._left_out(end))))
        crossing = crosses(around, strings)
        if crossing is not None:
            reason = "{0!r} could begin in this text and end in {1!r}, where text that counts its tokens has ended"
            fields.refuse(reason.format(*crossing), "max_tokens")
        if most == 0:
            return _ended(nodes.seq(()), end)
        if fields.has("max_chars"):
            try:
                body = limited_text(self._book, self._limit(fields, "max_chars"), around, None)
            except TooManyStates:
                fields.refuse(_TOO_LONG, "max_chars")
        else:
            body = FreeText((), True, tuple(text.encode() for text in around)).node(None)
        return _ended(self._book.define(self._book.free_name("text"), body, (("max_tokens", most),)), end)

    def _limit(self, fields: Fields, key: str) -> int:
        most = fields.number(key)
        if not 0 <= most <= nodes.MAX_REPEAT:
            fields.fail(f"{most} is not within 0..{nodes.MAX_REPEAT:,}", key)
        return most

    def _free(self, fields: Fields, tags: Sequence[tuple[bytes | Node, Node]], loop: bool, end: End | None) -> Node:
        excludes = fields.texts("excludes")
        if loop and end is not None and end.is_nothing and not excludes:
            fields.fail(
                "When the content is unlimited, at least one end string must be non-empty: "
                "free text in a tag whose end is empty never ends; give it an end or excludes"
            )
        free = FreeText(tags, loop, (*(text.encode() for text in excludes), *self._left_out(end)))
        clash = free.clash(end)
        if clash is not None:
            fields.fail("{1!r} can end inside {0!r}, which a control token follows in a trigger".format(*clash))
        return free.node(end)

    def _left_out(self, end: End | None) -> tuple[bytes, ...]:
        """End strings of the tag around that free text leaves out; none where it stops at `end` itself."""
        return () if end is not None or self._around is None else self._around.strings

    def _switch(self, text: str) -> tuple[bytes | Node, Node]:
        """What free text watches for to find `text`, bytes or a node with a control token, and what follows then."""
        parts = self._spellings.parts(text)
        for index, part in enumerate(parts):
            if isinstance(part, TokenSet):
                return nodes.seq(parts[: index + 1]), nodes.seq(parts[index + 1 :])
        return text.encode(), nodes.seq(())

    @staticmethod
    def _caps(fields: Fields) -> Caps:
        caps = fields.any("caps") if fields.has("caps") else {}
        if not isinstance(caps, dict):
            fields.fail("caps are an object", "caps")
        try:
            return caps_of(caps)
        except ValueError as error:
            fields.fail(str(error), "caps")

    def _way(self, fields: Fields) -> Way:
        """How values of a schema are written; of what waited, which is JSON, each way that is said is read once."""
        if not self._late:
            return self._read_way(fields)
        said = repr([member for member in fields.value.items() if member[0] != "json_schema"])
        if said not in self._ways:
            self._ways[said] = self._read_way(fields)
        return self._ways[said]

    def _read_way(self, fields: Fields) -> Way:
        style = fields.text("style", "json")
        if style not in ("json", "gemma", *STYLES):
            fields.fail(f"there is no style {style!r}; there are json, {', '.join(STYLES)}, gemma", "style")
        order = fields.text("order", "any")
        if order not in ORDERS:
            fields.fail(f"there is no order {order!r}; there are {', '.join(ORDERS)}", "order")
        options = SchemaOptions(
            order=cast(Order, order),
            strict_mode=fields.flag("strict_mode", False),
            plain_integers=fields.flag("plain_integers", False),
            canonical_numbers=fields.flag("canonical_numbers", False),
            whitespace_before_separators=fields.flag("whitespace_before_separators", True),
            max_whitespace_cnt=self._limit(fields, "max_whitespace_cnt") if fields.has("max_whitespace_cnt") else None,
            lenient=self._lenient,
            caps=self._caps(fields),
        )
        excludes = fields.texts("excludes")
        if sum(map(len, excludes)) > _MAX_EXCLUDED:
            fields.refuse(f"more than {_MAX_EXCLUDED:,} characters to exclude from strings", "excludes")
        write: Callable[..., Emitter] = partial(CarefulEmitter, excludes) if excludes else Emitter
        if style == "gemma":
            write = partial(BareEmitter, excludes, self._spellings.node)
        elif style != "json":
            write = partial(ElementEmitter, STYLES[style], excludes, self._spellings.node)
        return options, (style, excludes), write

    def _json_schema(self, fields: Fields, end: End | None) -> Node:
        options, way, write = self._way(fields)
        schema = fields.any("json_schema")
        if not isinstance(schema, dict | bool):
            fields.fail("a schema is an object or a boolean", "json_schema")
        place = fields.at("json_schema")
        try:
            text = schema_text(schema)
        except (TypeError, ValueError, RecursionError) as error:
            raise InvalidStructuralTagError(f"the schema is not JSON: {error}", place) from None

        def compiled() -> Node:
            mine = schema if self._late else read_again(text)  # the caller's object may change
            try:
                made = schema_rules(mine, text, options, self._book, self._writers, write, way)
            except UnsupportedSchemaError as error:
                raise UnsupportedSchemaError(_moved(error.problems, place)) from None
            self.warnings += _moved(made.warnings, place)
            return RuleRef(made.ir.root)

        return _ended(self._import((text, options, way), place, compiled), end)

    def _grammar(self, fields: Fields, end: End | None) -> Node:
        text = fields.text("grammar")
        place = fields.at("grammar")

        def parsed() -> Node:
            return self._called(parse_ebnf(text), "grammar", place)

        return _ended(self._import(("ebnf", text), place, parsed), end)

    def _regex(self, fields: Fields, end: End | None) -> Node:
        pattern = fields.text("pattern")
        place = fields.at("pattern")

        def parsed() -> Node:
            return self._called(parse_regex(pattern), "regex", place)

        return _ended(self._import(("regex", pattern), place, parsed), end)

    def _called(self, ir: GrammarIR, hint: str, place: str) -> Node:
        """A call of `ir`, a grammar inside the tag, and in `warnings` what is to be said about it."""
        from ..notes import control_texts

        if not matches_something(ir):
            raise InvalidStructuralTagError("this matches no text at all", place)
        if self._vocabulary is not None:
            self.warnings += control_texts(ir, self._vocabulary, "structural_tag", place)
        return called(ir, self._book, hint)

    def _import(self, key: object, path: str, make: Callable[[], Node]) -> Node:
        """A call of another grammar, whose rules `make` adds unless they are here already."""
        if key not in self._imported:
            try:
                self._imported[key] = make()
            except InvalidStructuralTagError:
                raise
            except UnsupportedFeatureError as error:
                raise UnsupportedFeatureError(f"{path}: {error}", language="structural tag") from error
            except GrammarError as error:
                raise InvalidStructuralTagError(str(error), path) from error
        return self._imported[key]

    # -- combinations ---------------------------------------------------------------------------------------------

    def _sequence(self, fields: Fields, end: End | None) -> Node:
        *front, (last, place) = self._elements(fields)
        items = [self.node(value, path, None) for value, path in front]
        return nodes.seq((*items, self.node(last, place, end)))

    def _or(self, fields: Fields, end: End | None) -> Node:
        return nodes.choice(self.node(value, path, end) for value, path in self._elements(fields))

    def _elements(self, fields: Fields) -> list[tuple[Any, str]]:
        found = fields.list("elements")
        if not found:
            fields.fail("there must be at least one element: the list is empty", "elements")
        return [(value, fields.at("elements", index)) for index, value in enumerate(found)]

    def _optional(self, fields: Fields, end: End | None) -> Node:
        content = self.node(fields.any("content"), fields.at("content"), end)
        return nodes.choice((content, nodes.seq(()) if end is None else end.node))

    def _star(self, fields: Fields, end: End | None) -> Node:
        return self._repeated(fields, 0, None, end)

    def _plus(self, fields: Fields, end: End | None) -> Node:
        return self._repeated(fields, 1, None, end)

    def _repeat(self, fields: Fields, end: End | None) -> Node:
        low, high = fields.number("min"), fields.number("max")
        if not 0 <= low <= nodes.MAX_REPEAT:
            fields.fail(f"Repeat min must be >= 0: {low} is not within 0..{nodes.MAX_REPEAT:,}", "min")
        if high != -1 and not low <= high <= nodes.MAX_REPEAT:
            rule = "Repeat max must be -1 (unbounded) or >= 0" if high < 0 else "Repeat min must be <= max"
            fields.fail(f"{rule}: {high} is neither -1 (no bound) nor within {low}..{nodes.MAX_REPEAT:,}", "max")
        return self._repeated(fields, low, None if high == -1 else high, end)

    def _repeated(self, fields: Fields, low: int, high: int | None, end: End | None) -> Node:
        value, path = fields.any("content"), fields.at("content")
        if high != 0 and _is_free(value):  # it may be empty and goes on by itself: several are one
            return self.node(value, path, end)
        return _ended(nodes.repeat(self.node(value, path, None), low, high), end)

    # -- tags -----------------------------------------------------------------------------------------------------

    def _tag(self, fields: Fields, end: End | None) -> Node:
        begin = self._begin(fields)
        first = self._spellings.node(begin) if isinstance(begin, str) else begin
        return _ended(nodes.seq((first, self._inside(fields))), end)

    def _begin(self, fields: Fields) -> str | Node:
        """How a tag begins: text, or a token."""
        begin = fields.any("begin")
        if isinstance(begin, str):
            return fields.text("begin")
        return nodes.token_set((self._token_format(begin, fields.at("begin")),))

    def _inside(self, fields: Fields) -> Node:
        """A tag's content and end."""
        outer, self._around = self._around, self._end(fields)
        try:
            return self.node(fields.any("content"), fields.at("content"), self._around)
        finally:
            self._around = outer

    def _end(self, fields: Fields) -> End:
        end = fields.any("end")
        if isinstance(end, Mapping):
            return End.of_token(self._token_format(end, fields.at("end")))
        if isinstance(end, str):
            if end not in self._ends:  # most tags end alike
                self._ends[end] = End.of_texts([fields.text("end")], self._spellings)
            return self._ends[end]
        texts = fields.list("end")
        if not texts:
            fields.fail("the list is empty", "end")
        checked_texts = [checked(text, fields.at("end", index)) for index, text in enumerate(texts)]
        return End.of_texts(checked_texts, self._spellings)

    def _tags(self, fields: Fields, triggers: tuple[str, ...]) -> tuple[TagList, list[tuple[int, Fields]]]:
        """The entries of `tags`, which must be tags, and those that are to be read; an empty list is refused."""
        found = fields.list("tags")
        if not found:
            fields.fail("tags must be non-empty: the list is empty", "tags")
        book, place = self._book, fields.at("tags")
        tags = TagList(found, place, triggers, self._written, self._spellings, book, self._inside)
        return tags, [(at, self._checked_tag(found[at], child(place, at))) for at in tags.others]

    def _checked_tag(self, value: Any, path: str) -> Fields:
        if not isinstance(value, Mapping) or value.get("type", "tag") != "tag":
            raise InvalidStructuralTagError("a format of type 'tag' is expected here", path)
        return Fields(value, path, FORMATS["tag"].split())

    def _read_tag(self, tag: Fields, begin: str | Node, hint: str) -> ReadTag:
        """A tag of a list.  Schemas without instances are refused, so that arguments can be written."""
        inside = self._book.add(hint, self._inside(tag))
        content, end = tag.value["content"], tag.value.get("end")
        # Arguments in another style than JSON may be no text at all.
        written = content.get("style", "json") == "json" or all(end if isinstance(end, list) else [end])
        return ReadTag(begin, inside, sure=content["type"] == "json_schema" and written)

    def _triggered_tags(self, fields: Fields, end: End | None) -> Node:
        triggers = tuple(dict.fromkeys(fields.texts("triggers", required=True)))
        once = fields.flag("stop_after_first", False)
        first = fields.flag("at_least_one", False)
        tags, others = self._tags(fields, triggers)
        by_trigger = {trigger: tags.deferrable_by_trigger(number) for number, trigger in enumerate(triggers)}
        reading = dict(others)
        lengths = sorted({len(trigger) for trigger in by_trigger})
        plain = {at: trigger for trigger, places in by_trigger.items() for at in places} if tags.tokens_around else {}
        for at in sorted((*reading, *plain)):
            if at in plain:
                self._check_cut(plain[at], tags.begin(at), child(child(fields.at("tags"), at), "begin"))
                continue
            tag = reading[at]
            if not isinstance(tag.any("begin"), str):
                tag.fail("a tag in triggered_tags must have a string begin; see token_triggered_tags", "begin")
            begin = tag.text("begin")
            look(1_000 + 4 * len(lengths))
            fitting = [begin[:size] for size in lengths if size <= len(begin) and begin[:size] in by_trigger]
            if len(fitting) != 1:
                several = ", ".join(repr(trigger) for trigger in triggers if trigger in fitting)
                how = f"with several triggers: {several}" if fitting else "with no trigger"
                tag.fail(f"{begin!r} begins {how}", "begin")
            self._check_cut(fitting[0], begin, tag.at("begin"))
            tags.read[at] = self._read_tag(tag, begin, begin)
            insort(by_trigger[fitting[0]], at)
        for index, trigger in enumerate(fields.list("triggers")):
            if not by_trigger[trigger]:
                raise InvalidStructuralTagError(f"no tag begins with {trigger!r}", fields.at("triggers", index))
        whole = tags.alternatives("tag", range(len(tags))) if first else nodes.seq(())
        if once and first:
            return _ended(whole, end)
        switches = []
        for trigger in triggers:
            watched, rest = self._switch(trigger)
            switches.append((watched, nodes.seq((rest, tags.alternatives(trigger, by_trigger[trigger], trigger)))))
        return nodes.seq((whole, self._free(fields, switches, not once, end)))

    def _check_cut(self, trigger: str, begin: str | Node, place: str) -> None:
        assert isinstance(begin, str)
        pieces = (self._spellings.node(trigger), self._spellings.node(begin.removeprefix(trigger)))
        if nodes.seq(pieces) != self._spellings.node(begin):
            raise InvalidStructuralTagError(f"the trigger {trigger!r} cuts a control token's name in {begin!r}", place)

    def _tags_with_separator(self, fields: Fields, end: End | None) -> Node:
        separator = self._spellings.node(fields.text("separator"))
        tags, others = self._tags(fields, ("",))
        for at, tag in others:
            begin = self._begin(tag)
            tags.read[at] = self._read_tag(tag, begin, begin if isinstance(begin, str) else "inside")
        one = tags.alternatives("tag", range(len(tags)))
        listed: Node = one
        if not fields.flag("stop_after_first", False):
            listed = nodes.seq((one, nodes.repeat(nodes.seq((separator, one)), 0, None)))
        if not fields.flag("at_least_one", False):
            listed = nodes.repeat(listed, 0, 1)
        return _ended(listed, end)

    def _dispatch(self, fields: Fields, end: End | None) -> Node:
        switches = []
        for index, (key, value) in enumerate(self._rules(fields)):
            path = fields.at("rules", index)
            if not isinstance(key, str) or not key:
                raise InvalidStructuralTagError("a pattern is a non-empty string", child(path, 0))
            watched, rest = self._switch(checked(key, child(path, 0)))
            content = self._book.add(key, self.node(value, child(path, 1), None))
            switches.append((watched, nodes.seq((rest, content))))
        return self._free(fields, switches, fields.flag("loop", True), end)

    def _rules(self, fields: Fields) -> list[tuple[Any, Any]]:
        found = []
        for index, rule in enumerate(fields.list("rules")):
            if not isinstance(rule, list | tuple) or len(rule) != 2:
                raise InvalidStructuralTagError(
                    "a rule is a list of two: what it waits for, and a format", fields.at("rules", index)
                )
            found.append((rule[0], rule[1]))
        if not found:
            fields.fail("the list is empty", "rules")
        return found

    # -- tokens ---------------------------------------------------------------------------------------------------

    def _token_format(self, value: Any, path: str) -> int:
        """The id in a format of type `token`, where only a string or that may stand."""
        if not isinstance(value, Mapping) or value.get("type") != "token":
            raise InvalidStructuralTagError("a string or a format of type 'token' is expected here", path)
        return self._one_token(Fields(value, path, ("token",)))

    def _one_token(self, fields: Fields) -> int:
        return token_id(fields.any("token"), fields.at("token"), self._vocabulary)

    @property
    def _end_tokens(self) -> tuple[int, ...]:
        """What the end of the tag around begins with, which free tokens leave out."""
        return () if self._around is None else self._around.tokens

    def _token_ids(self, fields: Fields, key: str, *, required: bool = False) -> tuple[int, ...]:
        found = fields.list(key, None if required else ())
        if required and not found:
            fields.fail("the list is empty", key)
        return tuple(token_id(token, fields.at(key, index), self._vocabulary) for index, token in enumerate(found))

    def _token(self, fields: Fields, end: End | None) -> Node:
        return _ended(nodes.token_set((self._one_token(fields),)), end)

    def _exclude_token(self, fields: Fields, end: End | None) -> Node:
        return _ended(nodes.token_set((*self._token_ids(fields, "exclude_tokens"), *self._end_tokens), True), end)

    def _any_tokens(self, fields: Fields, end: End | None) -> Node:
        free = nodes.token_set((*self._token_ids(fields, "exclude_tokens"), *self._end_tokens), negated=True)
        most = self._limit(fields, "max_tokens") if fields.has("max_tokens") else None
        return _ended(nodes.repeat(free, 0, most), end)

    def _token_triggered_tags(self, fields: Fields, end: End | None) -> Node:
        triggers = self._token_ids(fields, "trigger_tokens", required=True)
        switches: list[Node] = []
        for _, tag in self._tags(fields, ())[1]:
            if isinstance(tag.any("begin"), str):
                tag.fail("a tag in token_triggered_tags must have a token format begin; see triggered_tags", "begin")
            begin = self._token_format(tag.any("begin"), tag.at("begin"))
            if begin not in triggers:
                tag.fail(f"the token {begin} is not among trigger_tokens", "begin")
            inside = self._book.add(f"token_{begin}", self._inside(tag))
            switches.append(nodes.seq((nodes.token_set((begin,)), inside)))
        watched = (*triggers, *self._token_ids(fields, "exclude_tokens"), *self._end_tokens)
        once = fields.flag("stop_after_first", False)
        first = fields.flag("at_least_one", False)
        if once and first:
            return _ended(nodes.choice(switches), end)
        free = _ended(nodes.token_dispatch(switches, watched, not once), end)
        return nodes.seq((nodes.choice(switches), free)) if first else free

    def _token_dispatch(self, fields: Fields, end: End | None) -> Node:
        excluded = self._token_ids(fields, "exclude_tokens")
        switches: list[Node] = []
        watched: list[int] = []
        for index, (key, value) in enumerate(self._rules(fields)):
            path = fields.at("rules", index)
            token = token_id(key, child(path, 0), self._vocabulary)
            if token in excluded:
                raise InvalidStructuralTagError(f"the token {token} is excluded, too", child(path, 0))
            watched.append(token)
            content = self.node(value, child(path, 1), None)
            switches.append(nodes.seq((nodes.token_set((token,)), content)))
        everything = (*watched, *excluded, *self._end_tokens)
        return _ended(nodes.token_dispatch(switches, everything, fields.flag("loop", True)), end)


def _ended(node: Node, end: End | None) -> Node:
    return node if end is None else end.after(node)


def _is_free(value: Any) -> bool:
    """Is a format free text that may be empty and goes on for ever?"""
    if not isinstance(value, Mapping):
        return False
    match value.get("type"):
        case "any_text":
            return value.get("max_chars") is None and value.get("max_tokens") is None
        case "triggered_tags":
            return not value.get("at_least_one") and not value.get("stop_after_first")
        case "dispatch":
            return value.get("loop", True) is True
    return False
