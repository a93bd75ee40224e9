"""Free text, triggers and tags: which part of a text was read as what (XGrammar-2's TagDispatch, for people).

Free text switches to a grammar where one of its tags has been read, and back where that has ended.  `modes(matcher)`
cuts the text read into `Segment`s by that, tells what is open at its end, and shows the automaton that watches for tags
(Aho & Corasick 1975) with its progress.

Everything follows one way through the parse forest of the grammar as it was written, so each byte costs one link;
where a text is ambiguous it is the first stack's way (`stacks.py`).  Tags that begin with a control token are no
patterns over bytes: such a part is told as what the grammar has there ("plain").

Read on: `watch.py` (the automaton), `forest.py` (the way), `grammar.ir.TagDispatch` (what it means).
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias

from kernels_core.display import Displayed
from kernels_core.grammar.components import strong_components
from kernels_core.grammar.ir import Choice, DeferredRule, Node, RuleRef, Seq, TagDispatch, children, walk
from kernels_core.grammar.ir import Literal as Text
from kernels_core.inspect.classic import ChartItem
from kernels_core.inspect.forest import Forest, Link, written
from kernels_core.inspect.snapshots import Table
from kernels_core.inspect.stacks import Level, find_stacks, kernel
from kernels_core.inspect.watch import Pattern, PatternKind, TrieNode, TriggerAutomaton, Watch

if TYPE_CHECKING:
    from kernels_core.matcher import GrammarMatcher

__all__ = [
    "Mode",
    "Modes",
    "OpenTag",
    "Pattern",
    "PatternKind",
    "Segment",
    "TrieNode",
    "TriggerAutomaton",
    "may_switch",
    "modes",
]

Mode: TypeAlias = Literal["free", "trigger", "tag", "stop", "plain"]
"""How a byte was read: free text; (the beginning of) a trigger; what follows a tag; a string that ends free text;
what the grammar has outside all free text."""

_MAX_LABEL: Final = 60  # characters of a tag's name


@dataclass(frozen=True, slots=True)
class Segment:
    """Bytes `begin` to `end`, all read in one mode.

    `tags`: the tags around them, outermost first; of a "tag" the last one is its own.  `label`: the trigger or stop
    string as text, the tag's name, or "".  `number` numbers the different tags of the text from 0 on in the order in
    which they came, -1 in no tag: a colour can go by it.
    """

    begin: int
    end: int
    mode: Mode
    label: str
    tags: tuple[str, ...]
    number: int


@dataclass(frozen=True, slots=True)
class OpenTag:
    """A tag that has begun and not ended: its name, where its trigger begins and its content, and the rule it is in.

    `returns`: free text goes on after it.
    """

    name: str
    begin: int
    content: int
    rule: str
    returns: bool


@dataclass(frozen=True, repr=False)
class Modes(Displayed, Table):
    """A text by modes.  `segments` cover `text`, the bytes read, without gaps.

    `mode`: how the next byte will be read, as far as is known ("trigger": one has begun, or has just been read to its
    end).  `stack`: the tags that are open, outermost first.  `automaton`: what the innermost free text watches for, or
    would if it went on; None where there is none.  `active`: free text is being read, so `automaton` moves with every
    byte.  `has_dispatch`: the grammar has free text somewhere.
    """

    position: int
    text: bytes
    segments: tuple[Segment, ...]
    mode: Mode
    stack: tuple[OpenTag, ...]
    automaton: TriggerAutomaton | None
    active: bool
    has_dispatch: bool

    def matched(self, segment: Segment) -> bytes:
        """The bytes of a segment."""
        return self.text[segment.begin : segment.end]

    def at(self, position: int) -> Segment | None:
        """The segment of the byte at `position`; None outside the text."""
        number = bisect_right(self.segments, position, key=lambda segment: segment.end)
        found = number < len(self.segments) and self.segments[number].begin <= position
        return self.segments[number] if found else None

    def sentence(self) -> str:
        """Where the text is, in a few words: `trigger "<call=": 5 of 6 bytes read`."""
        inside = "".join(f"inside {tag.name}, " for tag in self.stack)
        if not self.has_dispatch:
            return "this grammar has no free text with tags"
        if self.mode == "trigger" and self.automaton is not None:
            begun = [pattern for pattern in self.automaton.patterns if pattern.read and pattern.kind == "tag"]
            begun.sort(key=lambda pattern: -(pattern.read or 0))
            if begun:
                text = begun[0].text.decode(errors="replace")
                if begun[0].fired:
                    return f"{inside}trigger {text!r} is complete: {begun[0].content} follows"
                return f"{inside}trigger {text!r}: {begun[0].read} of {len(begun[0].text)} bytes read"
        if self.mode == "free":
            return f"{inside}free text"
        if self.mode == "tag":
            return inside.removesuffix(", ")
        return f"{inside}outside free text"

    def rows(self) -> list[dict[str, Any]]:
        return [asdict(segment) for segment in self.segments]

    def __len__(self) -> int:
        return len(self.segments)

    def __repr__(self) -> str:
        return f"Modes(after {self.position} bytes, {len(self.segments)} segments: {self.sentence()})"


def modes(matcher: GrammarMatcher) -> Modes:
    """The text read by `matcher`, cut by modes, and what is open at its end.

    `BudgetExceededError` where the text's chart is too large (`forest.MAX_ITEMS`).
    """
    forest = written(matcher.compiled)
    with forest.lock:
        forest.seek(matcher.steps())
        if forest.reader is None:
            forest.reader = _Reader(forest)
        found: Modes = forest.reader.modes(matcher.position)
        return found


def may_switch(matcher: GrammarMatcher) -> bool:
    """Whether the grammar has free text with tags in a rule that is made by now: a quick look."""
    rules = list(matcher.compiled.grammar.lazy_ir.rules.values())
    return any(
        isinstance(node, TagDispatch)
        for rule in rules
        if not isinstance(rule, DeferredRule)
        for node in walk(rule.body)
    )


@dataclass(frozen=True, slots=True)
class _At:
    """How one rule got to an item: what the bytes from column `since` on are being read as, and what was before.

    `watch`: the automaton of the free text that is being read or whose content is, or that was read last (`_NONE`: none
    was); `node` and `least`: its own; `tag`: the number of the content that is being read.  `done`: a linked list of
    what has ended.
    """

    mode: Mode
    since: int
    watch: Watch
    node: bytes
    least: int
    tag: int
    done: _Done | None


class _Done(NamedTuple):
    """Columns `begin` to `end` in `mode`; `watch` and `pattern` say which trigger or tag.  `child`: a rule in it that
    has free text of its own, as the item that it ended with.
    """

    before: _Done | None
    begin: int
    end: int
    mode: Mode
    watch: Watch
    pattern: int
    child: ChartItem | None


class _Where(NamedTuple):
    """What an automaton state is to free text: that which it may be reading, and the contents it is in."""

    free: tuple[Watch, ...]
    contents: tuple[tuple[Watch, int], ...]


_NONE: Final = Watch(TagDispatch((), ()), "")


class _Reader:
    """Reads the ways of one forest.  What it knows of an item is kept with the item's column (`modes`)."""

    def __init__(self, forest: Forest) -> None:
        self.forest = forest
        self._watches: dict[tuple[str, tuple[int, ...]], Watch] = {}  # by the rule, and the path of the node in it
        self._states: dict[int, _Where] = {}
        self._has: dict[str, bool] = {}

    def modes(self, position: int) -> Modes:
        forest = self.forest
        if not self._reaches(forest.ir.root):
            segments = (Segment(0, position, "plain", "", (), -1),) if position else ()
            return Modes(position, forest.text, segments, "plain", (), None, False, False)
        tips = kernel(forest) or [item for item in forest.column(forest.last) if forest.accepts(item)]
        stacks = find_stacks(forest, tips, 1)
        if not stacks.listed:
            stacks = find_stacks(forest, forest.column(forest.last), 1)
        found = self._stack(stacks.listed[0], position)
        predicted = forest.reading()
        if found.mode != "plain" or not predicted or not all(self._where(item.state).free for item in predicted):
            return found
        # Free text is all that can come, so it has begun, though nothing of it was read: at the start of a text, say.
        return self._stack(find_stacks(forest, predicted, 1).listed[0], position, begins=True)

    # -- the grammar ------------------------------------------------------------------------------------------------

    def _reaches(self, rule: str) -> bool:
        """Whether free text is in the rule called `rule`, or in one that it calls, however deep."""
        if rule not in self._has:
            below: dict[str, list[str]] = {}
            own, pending = set[str](), [rule]
            while pending:
                name = pending.pop()
                if name in below:
                    continue
                nodes = list(walk(self.forest.ir.expand(name).body))
                below[name] = [node.name for node in nodes if isinstance(node, RuleRef)]
                if any(isinstance(node, TagDispatch) for node in nodes):
                    own.add(name)
                pending += below[name]
            for group in strong_components(below, (rule,)):  # what is called comes before what calls
                called = {other for name in group for other in below[name]}
                has = not own.isdisjoint(group) or any(self._has.get(other) for other in called)
                self._has.update(dict.fromkeys(group, has))
        return self._has[rule]

    def _where(self, state: int) -> _Where:
        found = self._states.get(state)
        if found is None:
            free: dict[Watch, None] = {}
            contents: dict[tuple[Watch, int], None] = {}
            for position in self.forest.table.positions(state):
                node = self.forest.ir.expand(position.rule).body
                for depth, step in enumerate((*position.path, -1)):
                    if isinstance(node, TagDispatch):
                        key = position.rule, position.path[:depth]
                        if key not in self._watches:
                            self._watches[key] = Watch(node, position.rule)
                        if step >= 0:
                            contents[self._watches[key], step] = None
                        elif position.offset == 0:
                            free[self._watches[key]] = None
                    if step >= 0:
                        node = children(node)[step]
            found = self._states[state] = _Where(tuple(free), tuple(contents))
        return found

    # -- one rule ---------------------------------------------------------------------------------------------------

    def at(self, item: ChartItem, column: int) -> _At:
        """How the rule of `item` got there."""
        way: list[tuple[Link, ChartItem, int]] = []
        forest = self.forest
        at: _At | None
        while (at := forest.columns[column].modes.get(item)) is None:
            links = forest.links(item, column)
            if not links:
                at = forest.columns[column].modes[item] = _At("plain", column, _NONE, b"", 0, -1, None)
                break
            way.append((links[0], item, column))
            item, column = links[0].before, links[0].column
        for link, item, column in reversed(way):
            at = forest.columns[column].modes[item] = self._next(at, link, item, column)
        return at

    def _next(self, at: _At, link: Link, item: ChartItem, end: int) -> _At:
        """How the rule got to `item` in column `end` by `link`, if it got to `link.before` like `at`."""
        if link.kind == "iteration":
            return at
        before, after = self._where(link.before.state), self._where(item.state)
        if link.kind == "complete":
            return self._called(at, link, end, after)
        if at.mode == "free":
            byte = self.forest.bytes_between(link.column, end)
            moved = at.watch.step(at.node, at.least, byte[0]) if link.kind == "scan" else None
            fired = self._ended(at)
            begun = [k for k in fired if (at.watch, k) in before.contents and (at.watch, k) in after.contents]
            if moved is not None and not begun:
                on = replace(at, node=moved[0], least=moved[1])
                # The state at the end of a pattern that no other goes on from is not one of free text.
                if at.watch in after.free or self._ended(on):
                    return on
            at = self._fire(at, (begun or fired)[0], link.column) if fired else self.cut(at, link.column)
        if at.mode == "tag":
            if (at.watch, at.tag) in after.contents:
                return at
            if at.watch in after.free:
                if at.watch in before.free and link.kind == "scan" and link.column > at.since:
                    at = self.cut(at, link.column)  # the content had ended before this byte
                    return self._free(at, at.watch, link, end)
                at = self.cut(at, end)
                return replace(at, mode="free", node=b"", least=0)
            at = self.cut(at, link.column)
        for watch in after.free:
            if watch in before.free:
                at = self.cut(at, link.column)
                return self._free(at, watch, link, end)
        return at

    def _ended(self, at: _At) -> list[int]:
        """The tags and stops that end where `at` is in free text, the longest first."""
        return [k for k in at.watch.ended(at.node, at.least) if at.watch.kind(k) != "exclude"]

    def _free(self, at: _At, watch: Watch, link: Link, end: int) -> _At:
        """Free text begins at `link`, a byte."""
        byte = self.forest.bytes_between(link.column, end)
        moved = watch.step(b"", 0, byte[0]) if byte else None
        node, least = moved or (b"", 0)
        return replace(at, mode="free", watch=watch, node=node, least=least, tag=-1)

    def _called(self, at: _At, link: Link, end: int, after: _Where) -> _At:
        """A rule has ended: `link` leads over it."""
        at = self._calling(at, link.rule, link.column)
        if self._reaches(self.forest.name(link.rule)):
            at = self.cut(at, link.column)
            ended = self.forest.ends(link.rule, link.column, end)[0]
            inside = at.mode == "tag"
            done = _Done(at.done, link.column, end, at.mode, at.watch, at.tag if inside else -1, ended)
            at = replace(at, since=end, done=done)
        if at.mode != "tag" or (at.watch, at.tag) in after.contents:
            return at
        at = self.cut(at, end)
        return replace(at, mode="free", node=b"", least=0) if at.watch in after.free else at

    def _calling(self, at: _At, rule: int, column: int) -> _At:
        """`at` when `rule` is called in this column: what was free text has come to a trigger, or is over.

        Of free text that nothing was read of, the rule stands behind: a trigger would have been read.
        """
        if at.mode != "free":
            return at
        watch, name = at.watch, self.forest.name(rule)
        possible = [k for k in self._ended(at) if watch.kind(k) == "tag"]
        chosen = [k for k in possible if _calls(watch.node.contents[k], name)]
        if possible:
            return self._fire(at, (chosen or possible)[0], column)
        return self.cut(at, column)

    def _fire(self, at: _At, pattern: int, column: int) -> _At:
        """Pattern number `pattern` ended at `column`."""
        watch = at.watch
        begin = self.forest.column_of(self.forest.offset[column] - len(watch.texts[pattern]))
        tag = watch.kind(pattern) == "tag"
        done = at.done
        if begin > at.since:
            done = _Done(done, at.since, begin, "free", at.watch, -1, None)
        done = _Done(done, begin, column, "trigger" if tag else "stop", at.watch, pattern, None)
        return _At("tag" if tag else "plain", column, watch if tag else _NONE, b"", 0, pattern if tag else -1, done)

    def cut(self, at: _At, column: int) -> _At:
        """End what is being read at `column`; what follows is plain text, or more of the same tag."""
        done = at.done
        if at.mode == "free":
            stops = [k for k in self._ended(at) if at.watch.kind(k) == "stop"]
            if stops:
                return self._fire(at, stops[0], column)
        if column > at.since:
            done = _Done(done, at.since, column, at.mode, at.watch, at.tag, None)
        if at.mode == "tag":
            return replace(at, since=column, done=done)
        return replace(at, mode="plain", since=column, node=b"", least=0, done=done)

    # -- the stack --------------------------------------------------------------------------------------------------

    def _stack(self, stack: tuple[Level, ...], position: int, *, begins: bool = False) -> Modes:
        """The modes along one call stack; `begins`: free text begins at its end."""
        forest = self.forest
        segments = _Segments(self)
        open_tags: list[OpenTag] = []
        seen: _At | None = None
        at = _At("plain", 0, _NONE, b"", 0, -1, None)
        for depth, level in enumerate(stack):
            at = self.at(level.item, level.column)
            if depth + 1 < len(stack):
                rule = forest.table.rule_of(stack[depth + 1].item.state)
                at = self._calling(at, rule, level.column)
            elif at.mode == "free" and any(at.watch.kind(k) == "stop" for k in self._ended(at)):
                at = self.cut(at, level.column)
            if begins and depth + 1 == len(stack) and at.mode == "plain":
                at = replace(self.cut(at, level.column), mode="free", watch=self._where(level.item.state).free[0])
            around = tuple(tag.name for tag in open_tags)
            segments.add(at.done, around)
            if at.mode == "tag":
                watch = at.watch
                begun = _content_of(at)
                name, content = self.name(watch, at.tag, begun), forest.offset[begun]
                trigger = content - len(watch.texts[at.tag])
                open_tags.append(OpenTag(name, trigger, content, watch.content(at.tag), watch.node.loop))
                around = (*around, name)
                segments.put(at.since, level.column, "tag", name, around)
            elif at.mode == "free" and depth + 1 == len(stack):
                self._progress(segments, at, level.column, around)
            else:
                segments.put(at.since, level.column, at.mode, "", around)
            if at.watch is not _NONE:
                seen = at
        automaton, active, mode = None, at.mode == "free", at.mode
        if mode == "plain" and open_tags:
            mode = "tag"
        if seen is not None:
            automaton = seen.watch.shown(seen.node, seen.least)
            if active and any(pattern.read and pattern.kind == "tag" for pattern in automaton.patterns):
                mode = "trigger"
        return Modes(position, forest.text, tuple(segments.found), mode, tuple(open_tags), automaton, active, True)

    def _progress(self, segments: _Segments, at: _At, column: int, around: tuple[str, ...]) -> None:
        """Free text up to the end of the text; what may become a trigger is told apart."""
        forest = self.forest
        watch = at.watch
        begin, begun = column, list[int]()
        for node in watch.suffixes(at.node):
            begun = [k for k in watch.candidates(node) if watch.kind(k) == "tag"]
            if begun:
                begin = max(at.since, forest.column_of(forest.offset[column] - len(node)))
                break
        segments.put(at.since, begin, "free", "", around)
        if begun:
            segments.put(begin, column, "trigger", watch.texts[begun[0]].decode(errors="replace"), around)

    def name(self, watch: Watch, tag: int, column: int) -> str:
        """The name of a tag whose content began at `column`: its trigger, and what tells it from others with that."""
        node = watch.node
        trigger = node.tags[tag]
        begin = self.forest.offset[column]
        text = trigger + _word(self.forest, node.contents[tag], self.forest.text[begin : begin + _MAX_LABEL])
        shown = text.decode(errors="replace")
        return shown if len(shown) <= _MAX_LABEL else shown[: _MAX_LABEL - 1] + "…"


_Over: TypeAlias = tuple[tuple[ChartItem, int], ...]


class _Segments:
    """Segments as they are found, from left to right."""

    def __init__(self, reader: _Reader) -> None:
        self._reader = reader
        self.found: list[Segment] = []
        self._numbers: dict[tuple[str, ...], int] = {}

    def put(self, begin: int, end: int, mode: Mode, label: str, tags: tuple[str, ...]) -> None:
        """Columns `begin` to `end`, unless they hold no byte; neighbours that are alike become one."""
        offset = self._reader.forest.offset
        first, past = offset[begin], offset[end]
        if mode == "plain" and tags:  # a rule that a content calls
            mode, label = "tag", tags[-1]
        if first >= past:
            return
        number = self._numbers.setdefault(tags, len(self._numbers)) if tags else -1
        last = self.found[-1] if self.found else None
        goes_on = last is not None and (last.mode, last.tags, last.end) == (mode, tags, first)
        if last is not None and goes_on and mode in ("tag", "plain", "free"):
            self.found[-1] = Segment(last.begin, past, mode, last.label, tags, number)
            return
        self.found.append(Segment(first, past, mode, label, tags, number))

    def add(self, done: _Done | None, around: tuple[str, ...]) -> None:
        """What one rule has read, with the rules in it.

        A rule that reads itself, all else in it being empty, would go on for ever: it is not looked into again.
        """
        reader = self._reader
        # With each piece, the rules around it that read no more than it does.
        pending: list[tuple[_Done, tuple[str, ...], _Over]] = [(one, around, ()) for one in _listed(done)]
        pending.reverse()
        names: dict[tuple[str, ...], str] = {}  # of the tag whose trigger came last, by the tags around it
        while pending:
            one, around, over = pending.pop()
            if one.mode == "trigger":
                text = one.watch.texts[one.pattern].decode(errors="replace")
                names[around] = reader.name(one.watch, one.pattern, one.end)
                self.put(one.begin, one.end, "trigger", text, around)
                continue
            inside = around
            name = ""
            if one.mode == "tag":
                name = names[around]
                inside = (*around, name)
            if one.child is not None and (one.child, one.end) not in over:
                at = reader.at(one.child, one.end)
                at = reader.cut(at, one.end)
                over = (*over, (one.child, one.end))
                alike = one.begin, one.end
                below = [(part, inside, over if (part.begin, part.end) == alike else ()) for part in _listed(at.done)]
                pending += reversed(below)
                continue
            if one.mode == "stop":
                name = one.watch.texts[one.pattern].decode(errors="replace")
            self.put(one.begin, one.end, one.mode, name, inside)


def _content_of(at: _At) -> int:
    """The column at which the content that `at` is in began: behind the last trigger."""
    done = at.done
    while done is not None and done.mode != "trigger":
        done = done.before
    return at.since if done is None else done.end


def _listed(done: _Done | None) -> list[_Done]:
    found = []
    while done is not None:
        found.append(done)
        done = done.before
    found.reverse()
    return found


def _calls(node: Node, name: str) -> bool:
    """Whether `node` calls the rule called `name` itself."""
    return any(isinstance(one, RuleRef) and one.name == name for one in walk(node))


def _word(forest: Forest, content: Node, behind: bytes) -> bytes:
    """The literal that `behind` begins with, where `content` is a choice of a literal and a rule each: `name>`.

    So are the tags of one trigger written: what they have in common is the trigger, and the rest tells them apart.
    """
    if isinstance(content, RuleRef):
        content = forest.ir.expand(content.name).body
    ways = content.items if isinstance(content, Choice) else (content,)
    words: list[bytes] = []
    for way in ways:
        if not (isinstance(way, Seq) and len(way.items) == 2 and isinstance(way.items[0], Text)):
            return b""
        if not isinstance(way.items[1], RuleRef):
            return b""
        words.append(way.items[0].value)
    fitting = [word for word in words if behind.startswith(word)]
    if fitting:
        return max(fitting, key=len)
    begun = [word for word in words if word.startswith(behind)]
    return begun[0] if len(begun) == 1 else b""
