"""What may come next at one place of a text, grouped by meaning, with the tokens that write it.

`session.inspect.next()` returns one.  It prints as a table, displays itself in a notebook, and `to_frame()` gives its
rows.

Read on: `workbench/next/continuations.py` (the exploration), `workbench/panels/next.py` (the panel).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from kernels_core.compiled import trie_of
from kernels_core.errors import BudgetExceededError
from kernels_core.inspect.dispatch import may_switch
from kernels_core.inspect.snapshots import Table
from visualizers.glyphs import STOP_TOKEN, clip, glyph
from workbench.json_values import BLANK_BYTES
from workbench.next.continuations import Continuation, explore
from workbench.next.kinds import GROUPS, Kind
from workbench.provenance.prefix import shared_beginning
from workbench.record import Printed
from workbench.session.result import byte_ranges, content
from workbench.tokenizers.lexicon import Run, Runs, lexicon, runs_of

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.table import Table as RichTable

    from kernels_core import TokenizerInfo
    from workbench.session.context import Context

MAX_CHIPS: Final = 400
PATIENCE: Final = 1.0
LABEL: Final = 48
THEN: Final = 32
_PRINTABLE: Final = bytes(range(0x20, 0x7F))


@dataclass(frozen=True)
class Chip:
    """One continuation; `tokens` is the number of allowed tokens that a writer of it may take first.

    `label` is how it reads, `lead` what comes before it (white space, a separator), `then` what must follow.
    `token` is the id of a whole token, which has no text to type; else None.
    """

    continuation: Continuation
    label: str
    token: int | None = None
    _counts: _Counts | None = field(default=None, repr=False, compare=False)

    @cached_property
    def runs(self) -> tuple[Run, ...]:
        """The places of these tokens in the sorted vocabulary, with others that are not allowed here."""
        return () if self._counts is None else self._counts.runs_of(self.continuation)

    @cached_property
    def tokens(self) -> int:
        return int(self.token is not None) if self._counts is None else self._counts.runs.count(self.runs)

    @property
    def kind(self) -> Kind:
        return self.continuation.kind

    @property
    def lead(self) -> str:
        """What leads to it, as glyphs."""
        return glyph(self.continuation.text[: self.continuation.lead])

    @property
    def name(self) -> str:
        """How it reads with what leads to it: its name in its group."""
        return self.lead + self.label

    @property
    def types(self) -> bool:
        """Whether it is one text to type, rather than content that is many."""
        return not self.continuation.members or bool(self.continuation.unit)

    @property
    def text(self) -> bytes:
        """What it types; of content nothing, or only its beginning."""
        return self.continuation.text

    @property
    def then(self) -> str:
        return clip(glyph(self.continuation.then), THEN)


@dataclass(frozen=True)
class Group:
    """Chips of one meaning; `more` chips were left out.

    `tokens` counts the allowed tokens of this meaning: each token belongs to one group, by what it writes after white
    space, and to the first of several.
    """

    name: str
    chips: tuple[Chip, ...]
    more: int = 0
    _counts: _Counts | None = field(default=None, repr=False, compare=False)

    @cached_property
    def tokens(self) -> int:
        return 0 if self._counts is None else len(self._counts.members(self.name))


@dataclass(frozen=True, repr=False)
class NextTokens(Printed, Table):
    """What may come next after `position` bytes, by meaning.

    `allowed` tokens are allowed by the mask: the sum of the groups' `tokens`, and `uncounted` ones that begin none of
    the chips (0 when `complete`).  `control` ids of the vocabulary write no text and are not allowed here.
    `complete` is False where the exploration ran out of its `seconds`: there may be more than is listed.
    """

    position: int
    groups: tuple[Group, ...]
    allowed: int
    vocab_size: int
    complete: bool
    forced: bytes
    note: str = ""
    seconds: float = PATIENCE
    control: int = 0
    _counts: _Counts | None = field(default=None, repr=False, compare=False)

    @property
    def uncounted(self) -> int:
        return self.allowed - sum(group.tokens for group in self.groups)

    def serves(self, seconds: float) -> bool:
        """Whether a search of so many seconds would find nothing more."""
        return self.complete or self.seconds >= seconds

    def __iter__(self) -> Iterator[Group]:
        return iter(self.groups)

    def __len__(self) -> int:
        return sum(len(group.chips) for group in self.groups)

    def chip(self, group: str, name: str) -> Chip:
        """One chip; `ValueError` where there is none of that name in that group: a longer search lists others."""
        found = [chip for one in self.groups if one.name == group for chip in one.chips if chip.name == name]
        if not found:
            raise ValueError(f"{group} {name!r} is no longer listed here")
        return found[0]

    def tokens(self, chip: Chip, limit: int = 100) -> list[int]:
        """Ids of allowed tokens with which a writer of `chip` may begin, by their bytes, at most `limit`."""
        if chip.token is not None or self._counts is None:
            return [] if chip.token is None else [chip.token]
        return self._counts.runs.ids(chip.runs, limit)

    def members(self, number: int) -> npt.NDArray[np.int64]:
        """Ids of the tokens that group `number` counts."""
        assert self._counts is not None
        return self._counts.members(self.groups[number].name)

    def _unforced(self) -> str:
        """Why nothing is forced although all that may come besides white space begins alike; "" elsewhere."""
        texts = [chip.text for group in self.groups if group.name != "white space" for chip in group.chips]
        alike = shared_beginning(texts or [b""])
        blanks = any(group.name == "white space" for group in self.groups)
        if self.forced or not blanks or not alike or any(group.more for group in self.groups):
            return ""
        return f"only {glyph(alike)}, but white space may come before it: no byte is forced"

    def rows(self) -> list[dict[str, Any]]:
        return [
            {
                "group": group.name,
                "kind": chip.kind,
                "what": chip.label,
                "after": chip.lead,
                "text": chip.text,
                "then": chip.then,
                "open": chip.continuation.open,
                "tokens": chip.tokens,
            }
            for group in self.groups
            for chip in group.chips
        ]

    def state(self) -> dict[str, Any]:
        """What the view shows: plain data."""
        return {
            "position": self.position,
            "allowed": self.allowed,
            "size": self.vocab_size,
            "uncounted": self.uncounted,
            "control": self.control,
            "complete": self.complete,
            "seconds": self.seconds,
            "forced": clip(glyph(self.forced), 2 * LABEL),
            "unforced": self._unforced(),
            "note": self.note,
            "groups": [
                {
                    "name": group.name,
                    "tokens": group.tokens,
                    "more": group.more,
                    "chips": [
                        {
                            "name": chip.name,
                            "label": clip(chip.label, LABEL),
                            "lead": chip.lead,
                            "then": chip.then,
                            "kind": chip.kind,
                            "tokens": chip.tokens,
                            "types": chip.types,
                        }
                        for chip in group.chips
                    ],
                }
                for group in self.groups
            ],
        }

    def table(self) -> RichTable:
        """The same as a table for a terminal."""
        from rich.table import Table as RichTable
        from rich.text import Text

        table = RichTable(show_edge=False)
        table.add_column("meaning")
        table.add_column("what may come next")
        table.add_column("tokens", justify="right")
        for group in self.groups:
            table.add_row(Text(group.name), Text(_listed(group)), f"{group.tokens:,}")
        return table

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from rich.text import Text

        yield Text(repr(self))
        yield self.table()

    def __repr__(self) -> str:
        names = ", ".join(f"{len(group.chips) + group.more} {group.name}" for group in self.groups) or "nothing"
        more = "" if self.complete else ", perhaps more"
        return f"NextTokens(after {self.position} bytes: {names}{more}; {self.allowed:,} tokens allowed)"


def next_tokens(context: Context, *, seconds: float = PATIENCE) -> NextTokens:
    """What may come next at the session's place; nothing of the session changes."""
    with context.held():
        matcher = context.shadow()
        info = context.tokenizer.info
        allowed = np.zeros(info.vocab_size, dtype=np.bool_)
        allowed[context.allowed_array()] = True
        explored = explore(matcher, context.text, seconds=seconds)
        found = _with_tags(explored.found, context)
        counts = _Counts(info, allowed, any(continuation.kind == "space" for continuation in found))
        tagged = bytes({one.unit[0] for one in found if one.kind == "tag" and one.unit})
        chips: dict[Kind, list[Chip]] = {}
        for continuation in found:
            chip = Chip(continuation, _label(continuation, tagged), _counts=counts)
            chips.setdefault(chip.kind, []).append(chip)
        silent = allowed.copy()
        spelling = np.frombuffer(trie_of(info).order(), dtype=np.int32)
        silent[spelling] = False
        for chip in _whole_tokens(np.flatnonzero(silent), context):
            chips.setdefault(chip.kind, []).append(chip)
        if context.is_completed and "end" not in chips and not context.is_terminated:
            chips["end"] = [Chip(Continuation("end", b""), "end of the text (no stop token in this vocabulary)")]
        counts.groups = {
            name: [chip for kind in kinds for chip in chips.get(kind, [])]
            for name, kinds in GROUPS.items()
            if any(kind in chips for kind in kinds)
        }
        groups = tuple(_group(name, some, counts) for name, some in counts.groups.items())
        note = "the text has ended" if context.is_terminated else ""
        if not groups and not note:
            note = "nothing can come here, and the text may not end"
        return NextTokens(
            position=context.position,
            groups=groups,
            allowed=int(np.count_nonzero(allowed)),
            vocab_size=info.vocab_size,
            complete=explored.complete,
            forced=b"" if context.is_terminated else matcher.find_jump_forward_string(1024).encode(),
            note=note,
            seconds=seconds,
            control=info.vocab_size - len(spelling) - int(np.count_nonzero(silent)),
            _counts=counts,
        )


class _Counts:
    """The tokens of one place's chips and groups, looked up when somebody asks: who lists the words waits for no count.

    `blanks`: white space may come first, so tokens that begin with it write the continuations as well.  `groups` are
    all chips by the names of their groups, also those that are not listed.
    """

    def __init__(self, info: TokenizerInfo, allowed: npt.NDArray[np.bool_], blanks: bool) -> None:
        self._info, self._allowed, self._blanks = info, allowed, blanks
        self.groups: Mapping[str, list[Chip]] = {}

    @cached_property
    def runs(self) -> Runs:
        return Runs(lexicon(self._info), self._allowed)

    def runs_of(self, continuation: Continuation) -> tuple[Run, ...]:
        """Those with which a writer of `continuation` may begin."""
        words = self.runs.lexicon
        if continuation.kind == "space":
            found = runs_of(np.flatnonzero(words.blank & self.runs.allowed))
        elif continuation.members:
            stem = continuation.text
            found = words.inside(stem)
            found += [words.between(stem, low, high) for low, high in byte_ranges(continuation.members)]
        else:
            found = words.along(continuation.text)
        rest = continuation.text.lstrip(BLANK_BYTES)
        if self._blanks and continuation.kind != "space":
            heads = [rest + bytes((value,)) for value in continuation.members if rest or value not in BLANK_BYTES]
            if heads or rest:
                begun = [rest[:length] for length in range(1, len(rest) + bool(heads))]
                found += words.indented(begun, heads or [rest])
        return tuple(run for run in found if run[0] < run[1])

    @cached_property
    def _claims(self) -> dict[str, npt.NDArray[np.bool_]]:
        """Which tokens each group counts, by place in the lexicon: no token twice.

        White space claims what is nothing else; the other groups follow in their order.  A token that writes only what
        leads to a chip is not of its group.
        """
        free = self.runs.allowed.copy()
        found = {}
        for name in sorted(self.groups, key=lambda name: name != "white space"):
            mine = np.zeros_like(free)
            for chip in self.groups[name]:
                for first, last in chip.runs:
                    mine[first:last] = True
            own = {chip.text[:1] for chip in self.groups[name] if not chip.continuation.lead}
            for chip in self.groups[name]:
                for length in range(1, chip.continuation.lead + 1):
                    if chip.text[:1] not in own:
                        first, last = self.runs.lexicon.spelling(chip.text[:length])
                        mine[first:last] = False
            found[name] = mine & free
            free &= ~mine
        return found

    def members(self, name: str) -> npt.NDArray[np.int64]:
        """Ids of the tokens that a group counts."""
        whole = [chip.token for chip in self.groups[name] if chip.token is not None]
        return np.concatenate([self.runs.lexicon.ids[self._claims[name]], np.array(whole, dtype=np.int64)])


def _with_tags(found: list[Continuation], context: Context) -> list[Continuation]:
    """The same; what goes on with a trigger that has begun is a tag, whatever it would be elsewhere."""
    if not any(map(_goes_on, found)) or all(one.kind != "character" for one in found):
        return found
    if not may_switch(context.matcher):
        return found
    try:
        inside = context.modes().mode == "trigger"
    except BudgetExceededError:
        return found
    return [replace(one, kind="tag") if _goes_on(one) else one for one in found] if inside else found


def _goes_on(one: Continuation) -> bool:
    return bool(one.unit) and not one.members and one.kind in ("word", "sign", "close", "separator")


def _label(continuation: Continuation, tagged: bytes) -> str:
    unit, members = glyph(continuation.unit), continuation.members
    if continuation.kind == "space":
        return "white space"
    if continuation.kind == "escape":
        return "\\ an escape"
    if not members:
        return unit + ("…" if continuation.open else "")
    if continuation.kind in ("key", "string") and unit == '"':
        return 'any other key "…"' if continuation.kind == "key" else 'a string "…"'
    missing = _PRINTABLE.translate(None, members)
    if not unit and missing and not missing.translate(None, tagged):
        return "any other character"  # what the class lacks may come all the same: it goes on with a tag
    return unit + content(members)


def _whole_tokens(ids: npt.NDArray[np.int64], context: Context) -> Iterator[Chip]:
    """Allowed tokens that spell no text: stop tokens, and those that the grammar names by their ids."""
    info = context.tokenizer.info
    stops = set(info.stop_token_ids)
    for token in ids.tolist():
        name = glyph(bytes(info.decoded_vocab[token])) or "no bytes"
        kind: Kind = "end" if token in stops else "token"
        label = f"{STOP_TOKEN} {name}" if token in stops else f"{name} ({token})"
        yield Chip(Continuation(kind, b""), label, token)


def _group(name: str, chips: list[Chip], counts: _Counts) -> Group:
    # Literals first, what is open after them.
    chips.sort(key=lambda chip: bool(chip.continuation.members))
    return Group(name, tuple(chips[:MAX_CHIPS]), max(0, len(chips) - MAX_CHIPS), counts)


def _listed(group: Group, width: int = 400) -> str:
    shown: list[str] = []
    for chip in group.chips:
        shown.append((f"{chip.lead} " if chip.lead else "") + chip.label)
        if sum(map(len, shown)) > width:
            break
    more = len(group.chips) + group.more - len(shown)
    return "   ".join(shown) + (f"   and {more:,} more" if more else "")
