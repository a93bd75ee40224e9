"""`hunt`: search for a text on which engines disagree, and shrink it.

A text is walked token by token in all engines at once.  At each place all masks are compared, so one place tries the
whole vocabulary; a token that one mask has and another has not is asked of both parsers, and only then it counts.
Where a walk goes is drawn at random: along texts that a schema's bounds make interesting (`texts.py`), along mutations
of texts that went well, or freely by what all masks allow, with a liking for rare bytes and for structure.

What is found is shrunk, continued to a whole text, and judged by `jsonschema` where the grammar is a JSON
Schema (`referee.py`).  One seed makes one sequence of texts; the time only says how far it is followed.

Read on: `workbench/comparing/finding.py` (the result).
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from random import Random
from typing import Final, cast

import numpy as np

from kernels_core.errors import TokenizerError
from visualizers.glyphs import clip, glyph
from workbench.comparing.arena import Arena, Contestant
from workbench.comparing.differences import Judge
from workbench.comparing.finding import Finding, FindingKind, Hunt, Verdict
from workbench.comparing.referee import Referee, Unjudged
from workbench.comparing.sides import (
    Bits,
    EngineFailure,
    EngineSpec,
    Missing,
    common_ids,
    compile_for,
    guarded,
    open_engines,
    peer_note,
    schema_of,
)
from workbench.comparing.texts import mutate, schema_text, shrink
from workbench.json_values import BLANK_BYTES, Json
from workbench.languages import Source
from workbench.peers.base import Engine, NotRunError, RefusedError
from workbench.progress import told
from workbench.session.matching import possible_bytes
from workbench.session.result import describe_bytes
from workbench.tokenizers import Tokenizer, load_tokenizer

MAX_TOKENS: Final = 96
"""Tokens of one walk."""
MAX_BYTES: Final = 600
CANDIDATES: Final = 6
"""Differing tokens that are asked of the parsers at one place."""
KEPT: Final = 200
WHOLE_TOKENS: Final = 300
ENDINGS: Final = 4
STRUCTURE: Final = np.isin(np.arange(256), list(b'{}[]",:<>()'))
CLOSING: Final = (b'"', b"}", b"]", b")", b">", b":", b",")
REPORT_SECONDS: Final = 0.2

Progress = Callable[[Hunt], object]


def hunt(
    grammar: object,
    engines: Sequence[EngineSpec] | None = None,
    *,
    seconds: float = 10.0,
    seed: int = 0,
    limit: int = 5,
    texts: int | None = None,
    spellings: bool = True,
    tokenizer: object = None,
    language: str | None = None,
    progress: Progress | None = None,
) -> Hunt:
    """Search for texts on which engines disagree, shrunk to a minimal text and token.

    grammar: whatever `compare` takes.  engines: as in `compare`, two or more; the first is what the others are
    held against; by default ours, xgrammar and llguidance, as far as they are installed.  The search ends after
    `seconds`, after `texts` texts or with `limit` findings; Ctrl-C (the kernel's stop button) ends it, too, and keeps
    what was found.  `seed`: equal seeds try equal texts in the same order.  spellings=False: leave out what is a matter
    of spelling or of the order of members, because the engine that refuses takes the same JSON value as `json.dumps`
    writes it.
    progress: called a few times a second with the `Hunt` so far; in a notebook and on a terminal a line tells anyhow
    (pass `progress=lambda hunt: None` for silence).

    An engine that refuses the grammar is left out and named in `Hunt.refusals`.  Raises `ValueError` where fewer than
    two engines are asked for.
    """
    if seconds <= 0 or limit < 1:
        raise ValueError(f"seconds and limit must be above 0, not {seconds} and {limit}")
    if tokenizer is None:
        tokenizer = grammar.tokenizer if hasattr(grammar, "tokenizer") else "tekken"
    loaded = load_tokenizer(tokenizer)
    source = Source.of(grammar, language)
    opened = open_engines(engines, loaded)
    if len(opened) < 2:
        raise ValueError("a hunt needs two engines: ours and a peer (pip install '.[peers]'), or two Options")
    search = _Search(source, loaded, seed, spellings)
    for label, engine in opened:
        if isinstance(engine, Missing):
            search.hunt.refusals[label] = engine.reason
        else:
            search.enter(label, engine)
    with told(progress, "hunting ...", _said) as report:
        search.run(seconds, texts, limit, report)
    return search.hunt


class _Search:
    """One hunt: the engines, the texts that went well, what was found."""

    def __init__(self, source: Source, tokenizer: Tokenizer, seed: int, spellings: bool) -> None:
        self.source = source
        self.tokenizer = tokenizer
        self.hunt = Hunt((), seed)
        self.spellings = spellings
        self.random = Random(seed)
        self.contestants: list[Contestant] = []
        self.common = common_ids(tokenizer)
        self.vocabulary = tokenizer.info.decoded_vocab
        self.first = np.array([data[0] if data else 0 for data in self.vocabulary], dtype=np.uint8)
        self.single = np.array([len(data) == 1 for data in self.vocabulary], dtype=np.bool_)
        self.ids: dict[bytes, int] = {}
        for token in np.flatnonzero(self.common.ids):
            self.ids.setdefault(bytes(self.vocabulary[int(token)]), int(token))
        self.schema = schema_of(source)
        self.went_well: list[bytes] = []
        self.seen: set[tuple[object, ...]] = set()
        self.found: set[tuple[object, ...]] = set()
        self.limit = 0

    def enter(self, label: str, engine: Engine) -> None:
        """Compile for one engine; one that refuses is left out."""
        try:
            constraint = guarded(compile_for, engine, self.source)
        except (RefusedError, NotRunError, EngineFailure) as error:
            self.hunt.refusals[label] = f"it refuses the grammar: {clip(str(error).splitlines()[0], 200)}"
            return
        self.contestants.append(Contestant(label, constraint, engine.canonical_masks))
        self.hunt.engines = tuple(one.label for one in self.contestants)

    def run(self, seconds: float, texts: int | None, limit: int, report: Progress) -> None:
        hunt, clock = self.hunt, time.monotonic
        if len(self.contestants) < 2:
            hunt.notes.append("Fewer than two engines take the grammar, so nothing was searched.")
            return
        self.arena = Arena(self.contestants, self.common, self.tokenizer)
        self.limit = limit
        self.referee, self.no_referee = _referee(self.schema, self.source)
        if self.no_referee:
            hunt.notes.append(self.no_referee)
        if any(one.canonical_masks for one in self.contestants):
            names = ", ".join(one.label for one in self.contestants if one.canonical_masks)
            hunt.notes.append(
                f"{names}: of forced text its mask holds one token alone; only what its parser refuses counts."
            )
        if (note := peer_note(self.source)) and self.hunt.engines != ("ours",):
            hunt.notes.append(note)
        start = reported = clock()
        try:
            while clock() - start < seconds and len(hunt.findings) < limit and (texts is None or hunt.texts < texts):
                hunt.texts += 1
                self.walk(self.a_text(), until=start + seconds)
                hunt.seconds = clock() - start
                if clock() - reported > REPORT_SECONDS:
                    reported = clock()
                    report(hunt)
        except KeyboardInterrupt:
            hunt.interrupted = True
        hunt.seconds = clock() - start
        report(hunt)

    # -- what to try --------------------------------------------------------------------------------------------------

    def a_text(self) -> list[int]:
        """Tokens to follow as long as they go; empty for a free walk."""
        random = self.random
        data = b""
        chance = random.random()
        if self.schema is not None and chance < 0.5:
            data = schema_text(self.schema, random).encode(errors="replace")
        elif self.went_well and chance < 0.75:
            data = mutate(random.choice(self.went_well), random)
        return self.cut(data[:MAX_BYTES])

    def cut(self, data: bytes) -> list[int]:
        """As the tokenizer cuts it, or, every fourth time, cut at odd places first."""
        pieces = [data]
        if len(data) > 1 and self.random.random() < 0.25:
            places = sorted({0, len(data), *(self.random.randrange(len(data)) for _ in range(4))})
            pieces = [data[i:j] for i, j in pairwise(places)]
        try:
            return [token for piece in pieces for token in self.tokenizer.encode(piece)]
        except TokenizerError:
            return []

    def choose(self, allowed: Bits, depth: int) -> int | None:
        """A token that all engines allow."""
        ids = np.flatnonzero(allowed)
        if not len(ids):
            return None
        random = self.random
        chance = random.random()
        if depth > MAX_TOKENS // 2 and chance < 0.5:
            closing = [self.ids[data] for data in CLOSING if data in self.ids and allowed[self.ids[data]]]
            if closing:
                return closing[0]
        first = self.first[ids]
        if chance < 0.35:  # all first bytes alike, however few tokens begin so
            present = np.flatnonzero(np.bincount(first, minlength=256))
            ids = ids[first == present[random.randrange(len(present))]]
        elif chance < 0.65 and (structure := STRUCTURE[first]).any():
            ids = ids[structure]
        elif chance < 0.75 and (single := self.single[ids]).any():
            ids = ids[single]
        return int(ids[random.randrange(len(ids))])

    # -- walking ------------------------------------------------------------------------------------------------------

    def walk(self, guide: list[int], until: float) -> None:
        """Follow `guide` while all engines allow it, then go on freely; look at every place on the way."""
        arena = self.arena
        free = not guide or self.random.random() < 0.5
        guide = guide[::-1]
        prefix: list[int] = []
        size = 0
        try:
            arena.start()
            for depth in range(MAX_TOKENS):
                masks = arena.masks()
                self.hunt.places += 1
                hint = guide[-1] if guide else None
                self.inspect(prefix, masks, hint)
                allowed = np.logical_and.reduce(masks) & self.common.ids
                if all(one.may_end for one in self.contestants) and prefix and len(self.went_well) < KEPT:
                    self.went_well.append(b"".join(self.vocabulary[token] for token in prefix))
                token: int | None
                if hint is not None and allowed[hint]:
                    token = guide.pop()
                elif hint is None and prefix and all(one.may_end for one in self.contestants) and not free:
                    return
                else:
                    guide = []
                    token = self.choose(allowed, depth) if free else None
                if token is None or time.monotonic() > until or len(self.hunt.findings) >= self.limit:
                    return
                size += len(self.vocabulary[token])
                if size > MAX_BYTES or not arena.accept(token):
                    return
                prefix.append(token)
        except EngineFailure as error:
            note = f"an engine failed after {glyph(b''.join(self.vocabulary[token] for token in prefix))}: {error}"
            if len(self.hunt.notes) < 10:
                self.hunt.notes.append(clip(note, 300))

    def inspect(self, prefix: list[int], masks: list[Bits], hint: int | None) -> None:
        """Compare the masks here and report on what engines part: tokens, or the end of the text (None)."""
        base = self.contestants[0]
        state = base.constraint.state()
        where: object = state if state is not None else tuple(prefix[-4:])
        for other, mask in zip(self.contestants[1:], masks[1:], strict=True):
            end: list[int | None] = [None] if base.may_end != other.may_end else []
            for token in [*end, *self.candidates((masks[0] ^ mask) & self.common.ids, hint)]:
                if len(self.hunt.findings) >= self.limit:
                    return
                base_goes_on = base.may_end if token is None else masks[0][token]
                pair = (base, other) if base_goes_on else (other, base)
                byte = None if token is None else int(self.first[token])
                if self.is_new((*(one.label for one in pair), where, byte)):
                    kind = "end" if token is None else self.kind(token, *pair)
                    if kind is not None:
                        self.report(kind, prefix, token, *pair)

    def candidates(self, differing: Bits, hint: int | None) -> list[int]:
        """A few of the tokens of a difference, with as many first bytes as there are, short ones first."""
        ids = np.flatnonzero(differing)
        if not len(ids):
            return []
        chosen = [hint] if hint is not None and differing[hint] else []
        first = self.first[ids]
        present = [int(byte) for byte in np.flatnonzero(np.bincount(first, minlength=256))]
        for byte in self.random.sample(present, min(CANDIDATES, len(present))):
            members = ids[first == byte]
            alone = members[self.single[members]]
            chosen.append(int((alone if len(alone) else members)[0]))
            if len(members) > 1:
                chosen.append(int(members[self.random.randrange(len(members))]))
        return list(dict.fromkeys(chosen))[: 2 * CANDIDATES]

    def kind(self, token: int, goes_on: Contestant, refuses: Contestant) -> FindingKind | None:
        """What the parsers say of a token that the masks differ on; None for what is no disagreement."""
        if not goes_on.takes(token):
            return "false hope"
        if refuses.takes(token):
            return None if refuses.canonical_masks else "mask only"
        return "refused"

    def is_new(self, key: tuple[object, ...]) -> bool:
        if key in self.seen:
            self.hunt.again += 1
            return False
        self.seen.add(key)
        return True

    # -- what was found -----------------------------------------------------------------------------------------------

    def report(
        self, kind: FindingKind, prefix: list[int], token: int | None, goes_on: Contestant, refuses: Contestant
    ) -> None:
        """Keep a disagreement whose reason is new; the engines stand after `prefix` again then."""
        data = b"".join(self.vocabulary[one] for one in prefix)
        spelt = b"" if token is None else bytes(self.vocabulary[token])
        if self.is_new_reason(kind, data, spelt, goes_on, refuses):
            finding = self.examined(kind, prefix, token, data, spelt, goes_on, refuses)
            if finding is not None:
                self.hunt.findings.append(finding)
            self.arena.read(prefix)
            self.arena.masks()

    def examined(
        self,
        kind: FindingKind,
        prefix: list[int],
        token: int | None,
        data: bytes,
        spelt: bytes,
        goes_on: Contestant,
        refuses: Contestant,
    ) -> Finding | None:
        """A disagreement shrunk and judged; None for one that is known, or left out as a matter of spelling."""

        def holds(text: bytes, tried: bytes) -> bool:
            number = None if kind == "end" else self.ids.get(tried)
            if kind != "end" and number is None:
                return False
            try:
                return self.arena.parts(kind, self.tokenizer.encode(text), number, goes_on, refuses)
            except (TokenizerError, EngineFailure):
                return False

        text, small, cut = data, spelt, prefix
        usual = holds(data, spelt)
        if usual:
            text, small = shrink(data, spelt, holds)
            cut, token = self.tokenizer.encode(text), None if kind == "end" else self.ids[small]
        key = (kind, goes_on.label, refuses.label, _shape(text), small)
        if key in self.found:
            self.hunt.again += 1
            return None
        self.found.add(key)
        whole, verdict, remark = None, None, ""
        if kind in ("refused", "end"):
            whole, verdict = self.whole(cut, token, goes_on, refuses)
        if whole is not None:
            remark, respelt = self.remark(whole, refuses, verdict)
            if respelt and not self.spellings:
                self.hunt.spellings += 1
                return None
        return Finding(
            kind=kind,
            text=text,
            token=small,
            token_id=token,
            token_ids=tuple(cut),
            usual_cut=usual,
            goes_on=goes_on.label,
            refuses=refuses.label if kind != "false hope" else goes_on.label,
            whole=whole,
            verdict=verdict,
            why=self.why(kind, text, small),
            original=data + spelt,
            place=self.hunt.texts,
            remark=remark,
        )

    def is_new_reason(self, kind: str, data: bytes, token: bytes, goes_on: Contestant, refuses: Contestant) -> bool:
        """Whether a disagreement of these two was met at this rule of ours, and this byte, before."""
        judge = Judge(self.source, self.tokenizer, data)
        if judge.matcher is None:
            return True
        at, read = judge.along(token)
        rules = tuple(sorted({item.rule for item in at.frontier().items if item.scannable}))
        sort = _sort_of_byte(token[read : read + 1] or token[:1])
        return self.is_new((kind, goes_on.label, refuses.label, rules, sort))

    def why(self, kind: FindingKind, text: bytes, token: bytes) -> str:
        """Our engine's say on a finding, whoever the two are."""
        judge = Judge(self.source, self.tokenizer, text)
        if judge.matcher is None:
            return f"no explanation: {judge.reason}"
        if kind == "end":
            may = judge.may_end()
            possible = describe_bytes(possible_bytes(judge.matcher))
            return f"the text may {'' if may else 'not '}end here; expected: {clip(possible, 80)}"
        _, read = judge.along(token)
        ours = read == len(token)
        said = judge.reason_at(token[:read], ours).sentence(glyph(token if ours else token[read : read + 1]), judge)
        places = judge.places(token[:read], token, ours)
        return f"{said}; {'in' if ours else 'because'}: {clip('; '.join(places), 120)}" if places else said

    def whole(
        self, prefix: list[int], token: int | None, goes_on: Contestant, refuses: Contestant
    ) -> tuple[bytes | None, Verdict | None]:
        """A whole text that begins so and that `goes_on` accepts, and what the referee says of it.

        Of several ends a valid one is taken: what is wrong elsewhere in a text says nothing of this place.
        """
        begun = [*prefix, *([] if token is None else [token])]
        best: tuple[bytes | None, Verdict | None] = (None, None)
        for attempt in range(ENDINGS):
            found = self.arena.ended(goes_on, begun, attempt, WHOLE_TOKENS, self.ids, CLOSING)
            if found is None:
                continue
            text = b"".join(self.vocabulary[one] for one in found)
            verdict = self.judged(text, goes_on, refuses)
            if verdict is None or verdict.valid:
                return text, verdict
            if best[0] is None or (best[1] is not None and best[1].valid is None):
                best = text, verdict
        return best

    def judged(self, whole: bytes, goes_on: Contestant, refuses: Contestant) -> Verdict | None:
        """What the referee says, and who is wrong then."""
        if self.referee is None:
            return None
        if _has_half_pairs(whole):
            return Verdict(None, "an escape of half a surrogate pair: JSON lets it pass, but it is no character", None)
        try:
            complaint = self.referee.complaint(whole.decode())
        except UnicodeDecodeError:
            return Verdict(False, "not UTF-8", goes_on.label)
        except Unjudged as error:
            return Verdict(None, str(error), None)
        if complaint is None:
            return Verdict(True, "", refuses.label)
        return Verdict(False, clip(complaint, 200), goes_on.label)

    def remark(self, whole: bytes, refuses: Contestant, verdict: Verdict | None) -> tuple[str, bool]:
        """What is known of a text that is refused, and whether the same JSON value is taken in another spelling."""
        try:
            if self.arena.accepts(refuses, self.tokenizer.encode(whole)):
                return f"{refuses.label} accepts the whole text when it is cut in the usual way", False
            if verdict is None or not verdict.valid or self.schema is None:
                return "", False
            plain = _respelt(whole, None)
            if plain is not None and self.arena.accepts(refuses, self.tokenizer.encode(plain)):
                return f"{refuses.label} accepts the same value written as {glyph(plain)}", True
            ordered = _respelt(whole, self.schema)
            if ordered is not None and self.arena.accepts(refuses, self.tokenizer.encode(ordered)):
                return f"{refuses.label} accepts the same members in the order of the schema: {glyph(ordered)}", True
        except (TokenizerError, EngineFailure):
            pass
        return "", False


def _referee(schema: object, source: Source) -> tuple[Referee | None, str]:
    """Who judges whole texts; or why nobody does."""
    if source.language != "json_schema":
        return None, ""
    try:
        return Referee(schema, cast("Mapping[str, object] | None", source.options.get("resources"))), ""
    except Unjudged as error:
        return None, f"No referee: {error}."
    except Exception as error:  # whatever the library makes of a strange schema
        return None, f"No referee: jsonschema does not take the schema: {type(error).__name__}: {error}"


def _sort_of_byte(byte: bytes) -> bytes:
    """Bytes that mostly fail for one reason are of one sort: white space, control characters, letters, digits."""
    if not byte:
        return b""
    if byte in BLANK_BYTES:
        return b" "
    if byte >= b"\x80":
        return b"\x80"
    return b"a" if byte.isalpha() else b"0" if byte.isdigit() else b"\0" if byte < b" " else byte


def _shape(text: bytes) -> bytes:
    """Texts that differ in nothing but letters and digits have one shape."""
    return re.sub(rb"[0-9]+", b"0", re.sub(rb"[A-Za-z_]+", b"a", text))


def _respelt(whole: bytes, schema: object) -> bytes | None:
    """The same value as `json.dumps` writes it; with a schema, members in the order of its `properties` first."""
    rank: dict[str, int] = {}

    def mention(part: object) -> None:
        if isinstance(part, list):
            for one in part:
                mention(one)
        elif isinstance(part, dict):
            properties = part.get("properties")
            if isinstance(properties, dict):
                for name in properties:
                    rank.setdefault(name, len(rank))
            for one in part.values():
                mention(one)

    def ordered(value: Json) -> Json:
        if isinstance(value, dict):
            names = sorted(value, key=lambda name: rank.get(name, len(rank)))
            return {name: ordered(value[name]) for name in names}
        return [ordered(one) for one in value] if isinstance(value, list) else _whole_number(value)

    mention(schema)
    try:
        value = ordered(json.loads(whole))
        written = json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError):  # half a surrogate pair, a number beyond floats
        return None
    return None if written == whole else written


def _whole_number(value: Json) -> Json:
    """A float that is an integer as that, as far as floats are exact."""
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 2**53 else value


def _has_half_pairs(whole: bytes) -> bool:
    try:
        json.dumps(json.loads(whole), ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    except (ValueError, RecursionError):
        pass
    return False


def _said(hunt: Hunt) -> str:
    """How far it is."""
    tried = f"{hunt.texts:,} texts, {hunt.places:,} places"
    return f"hunting: {tried}, {len(hunt.findings)} found, {hunt.seconds:.0f} s"
