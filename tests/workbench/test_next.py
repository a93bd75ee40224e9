"""What may come next: continuations, counts, refusals; against brute force over a small vocabulary."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pytest

from kernels_core import Grammar, GrammarMatcher, TokenizerInfo
from tests.workbench.vocabulary import GRAMMAR
from workbench.next.continuations import explore
from workbench.next.probes import open_end, waiting_rules
from workbench.next.refusals import callers, with_reasons
from workbench.next.rejections import rejections
from workbench.session import Session
from workbench.session.result import content
from workbench.tokenizers import Tokenizer
from workbench.tokenizers.lexicon import Lexicon, Runs, merged

SCHEMA = {
    "type": "object",
    "properties": {
        "city": {"type": "string"},
        "unit": {"enum": ["celsius", "fahrenheit", 3, None]},
        "days": {"type": "integer"},
    },
    "required": ["city"],
}
FREE = {
    "type": "object",
    "properties": {"unit": {"type": "string"}, "until": {"type": "boolean"}},
    "additionalProperties": {"type": "number"},
}
AMBIGUOUS = 'root ::= expr\nexpr ::= expr "+" expr | expr "*" expr | "(" expr ")" | [a-z]+ | "if" " " expr'
TAGS = {
    "type": "structural_tag",
    "format": {
        "type": "triggered_tags",
        "triggers": ["<tool="],
        "tags": [
            {
                "begin": f"<tool={name}>",
                "content": {"type": "json_schema", "json_schema": {"type": "object", "properties": {field: {}}}},
                "end": "</tool>",
            }
            for name, field in (("get_weather", "city"), ("add", "a"))
        ],
    },
}


def session_of(grammar: Grammar | str, tokenizer: Tokenizer, text: str = "") -> Session:
    return Session(grammar, tokenizer).seek(text)


def labels(session: Session) -> dict[str, list[str]]:
    return {group.name: [chip.label for chip in group.chips] for group in session.inspect.next()}


class TestLexicon:
    """The sorted vocabulary and its trie."""

    VOCAB = ("b", "ab", "abc", "ab", "a", "", "\u00e9", "<s>", "abd")

    @pytest.fixture
    def words(self) -> Lexicon:
        return Lexicon(TokenizerInfo(list(self.VOCAB), special_token_ids=[7], stop_token_ids=[]))

    def test_it_holds_what_spells_text(self, words: Lexicon) -> None:
        assert words.tokens == sorted(token.encode() for token in self.VOCAB if token not in ("", "<s>"))
        assert sorted(words.ids.tolist()) == [0, 1, 2, 3, 4, 6, 8]

    def test_runs(self, words: Lexicon) -> None:
        def tokens(run: tuple[int, int]) -> list[bytes]:
            return words.tokens[run[0] : run[1]]

        assert tokens(words.beginning(b"ab")) == [b"ab", b"ab", b"abc", b"abd"]
        assert tokens(words.spelling(b"ab")) == [b"ab", b"ab"]
        assert tokens(words.beginning(b"")) == words.tokens
        assert tokens(words.beginning(b"\xff")) == []
        for stem, low, high in [
            (b"", 0, 255),
            (b"a", 0x62, 0x62),
            (b"ab", 0x63, 0x7A),
            (b"a", 0x63, 0xFF),
            (b"", 0x62, 0xFF),
        ]:
            longer = [token for token in words.tokens if token.startswith(stem) and len(token) > len(stem)]
            assert tokens(words.between(stem, low, high)) == [t for t in longer if low <= t[len(stem)] <= high]
        along = [token for run in words.along(b"ab") for token in tokens(run)]
        assert along == [b"a", b"ab", b"ab", b"abc", b"abd"]

    def test_the_trie_holds_every_prefix_once(self, words: Lexicon) -> None:
        prefixes = {token[:length] for token in words.tokens for length in range(1, len(token) + 1)}
        found = []
        for depth, level in enumerate(words.levels, 1):
            for byte, first, last in zip(level.byte, level.first, level.last, strict=True):
                below = words.tokens[first:last]
                stem = below[0][:depth]
                assert stem[-1] == byte
                assert below == [token for token in words.tokens if token.startswith(stem)]
                found.append(stem)
        assert sorted(found) == sorted(prefixes)

    def test_counting_counts_once(self, words: Lexicon) -> None:
        allowed = np.zeros(len(self.VOCAB), dtype=np.bool_)
        allowed[[1, 2, 4]] = True
        runs = Runs(words, allowed)
        assert runs.count([words.beginning(b"a"), words.beginning(b"ab")]) == 3
        assert runs.ids([words.beginning(b"a")]) == [4, 1, 2]
        assert runs.ids([words.beginning(b"a")], 2) == [4, 1]

    def test_merged(self) -> None:
        assert merged([(3, 5), (0, 2), (4, 9), (7, 7)]) == [(0, 2), (3, 9)]


@pytest.mark.parametrize(
    ("grammar", "texts"),
    [
        (GRAMMAR, ["", '{"', '{"na', "[1", "[12, ", '{"a":tr']),
        (AMBIGUOUS, ["", "a", "if", "if a+(b"]),
        (Grammar.from_json_schema(SCHEMA), ["", "{", '{"city": "\u00e9', '{"city": "a", ', '{"city": "a", "unit": ']),
        (Grammar.from_json_schema(FREE), ["{", '{"un', '{"unit": "a"']),
        (Grammar.from_structural_tag(TAGS), ["", "hi <to", '<tool=add>{"a": [1, {']),
        (Grammar.from_regex(r"\d{4}-(0[1-9]|1[0-2])-(MON|tue)"), ["", "2020-", "2020-12-"]),
    ],
)
def test_every_token_lives_or_dies_as_the_parser_says(
    grammar: Grammar | str, texts: list[str], tokenizer: Tokenizer
) -> None:
    """Each token alone, byte by byte on a fork, against the walk of all; and what lives against the engine's mask."""
    for text in texts:
        session = session_of(grammar, tokenizer, text)
        words = Lexicon(tokenizer.info)
        walk = rejections(session.inspect.matcher, words)
        assert not walk.unsettled
        for place, token in enumerate(words.tokens):
            matcher = session.inspect.matcher
            read = next((k for k in range(len(token)) if not matcher.accept_string(token[k : k + 1])), len(token))
            assert int(walk.depth[place]) == (0 if read == len(token) else read + 1), token
            if read < len(token):
                assert walk.byte[place] == token[read]
                assert walk.matchers[walk.state[place]].set_number == matcher.set_number
        stops = set(tokenizer.info.stop_token_ids)
        assert set(words.ids[walk.depth == 0].tolist()) == set(session.inspect.allowed_ids()) - stops
        groups = walk.refusals(waiting_rules)
        places = [place for group in groups for first, last in group.places for place in range(first, last)]
        assert sorted(places) == np.flatnonzero(walk.depth).tolist()
        assert sum(group.count for group in groups) == walk.refused


def test_a_walk_out_of_budget_says_so(tokenizer: Tokenizer) -> None:
    session = session_of(GRAMMAR, tokenizer, '{"')
    words = Lexicon(tokenizer.info)
    walk = rejections(session.inspect.matcher, words, states=1)
    assert 0 < walk.unsettled <= len(words.tokens) - walk.refused


def can_follow(matcher: GrammarMatcher, text: bytes) -> bool:
    return bool(matcher.fork().accept_string(text))


@pytest.mark.parametrize(
    "grammar",
    [
        GRAMMAR,
        AMBIGUOUS,
        Grammar.from_json_schema(SCHEMA),
        Grammar.from_json_schema(FREE),
        Grammar.from_structural_tag(TAGS),
    ],
)
def test_chips_are_true_and_leave_no_byte_out(grammar: Grammar | str, tokenizer: Tokenizer) -> None:
    """Random walks: every chip can be typed, every possible byte begins a chip, every allowed token is counted."""
    random.seed(5)
    for _ in range(12):
        session = session_of(grammar, tokenizer)
        for _ in range(25):
            found = explore(session.inspect.matcher, session.text, seconds=10)
            assert found.complete
            firsts: set[int] = set()
            for one in found.found:
                for tail in [bytes((value,)) for value in one.members] or [b""]:
                    assert can_follow(session.inspect.matcher, one.text + tail), (session.text, one)
                firsts |= {one.text[0]} if one.text else set(one.members)
                if one.then:
                    assert session.inspect.matcher.fork().accept_string(one.text + one.then)
            assert firsts == set(session.inspect.next_bytes()), session.text
            here = session.inspect.next(seconds=10)
            assert here.uncounted == 0
            for group in here:
                for chip in group.chips:
                    assert_counted(session, chip.text, chip.continuation.members, here.tokens(chip, 10_000), chip.token)
            options = session.inspect.next_bytes()
            if not options:
                break
            session.step(bytes((random.choice(options),)))


def assert_counted(session: Session, text: bytes, members: bytes, ids: list[int], token: int | None) -> None:
    """A chip's tokens by brute force: those that begin what it types, and those that go on from it."""
    if token is not None:
        assert ids == [token]
        return
    vocab = session.tokenizer.info.decoded_vocab
    wholes = [text + bytes((value,)) for value in members] or [text]
    stops = set(session.tokenizer.info.stop_token_ids)
    expected = {
        number
        for number in session.inspect.allowed_ids()
        if number not in stops
        and any(whole.startswith(vocab[number]) or vocab[number].startswith(whole) for whole in wholes)
    }
    assert set(ids) == expected
    assert len(ids) == len(expected)


def test_a_bounded_string_is_not_spelt_out_in_escapes(tokenizer: Tokenizer) -> None:
    session = session_of(Grammar.from_json_schema({"type": "string", "maxLength": 20}), tokenizer)
    for text in (b'"', b'"a'):
        session = session.seek(text)
        found = explore(session.inspect.matcher, session.text, steps=2_000, seconds=60)
        assert found.complete
        assert all(len(one.unit) <= len(b"\\u0000") for one in found.found)


@pytest.mark.parametrize("text", ["", "{", '{"city": "a"', '{"city": "a", ', '{"city": "a b'])
def test_every_allowed_token_is_in_one_group_by_what_it_writes(tokenizer: Tokenizer, text: str) -> None:
    info = TokenizerInfo([*tokenizer.info.decoded_vocab, b" }", b' "', b' "u', b"\n}", b' "zz', b"  "])
    session = session_of(Grammar.from_json_schema(SCHEMA), Tokenizer(info, name="indented"), text)
    here = session.inspect.next()
    members = [set(here.members(number).tolist()) for number in range(len(here.groups))]
    assert [len(ids) for ids in members] == [group.tokens for group in here.groups]
    assert sum(map(len, members)) == len(set().union(*members)) == here.allowed - here.uncounted
    for group, ids in zip(here.groups, members, strict=True):
        written = {info.decoded_vocab[token].lstrip()[:1] for token in ids}
        if group.name == "white space":
            assert written == {b""}
        elif group.name == "keys":
            assert written <= {b'"', b","}
        elif group.name == "closings" and '"city": "a"' in text:
            assert written == {b"}"}
            assert any(info.decoded_vocab[token] == b" }" for token in ids)


def test_who_lists_the_words_waits_for_no_count(tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    def lexicon(_info: object) -> Lexicon:
        raise AssertionError("somebody counts")

    monkeypatch.setattr("workbench.next.next_tokens.lexicon", lexicon)
    session = session_of(Grammar.from_json_schema(SCHEMA), tokenizer, '{"city": "a", ')
    assert labels(session)["keys"][:2] == ['"days"', '"unit"']
    with pytest.raises(AssertionError, match="somebody counts"):
        session.inspect.next().state()


class TestMeaning:
    """What the chips are called."""

    def test_keys_of_a_schema(self, tokenizer: Tokenizer) -> None:
        found = labels(session_of(Grammar.from_json_schema(SCHEMA), tokenizer, '{"city": "a", '))
        assert found["keys"][:2] == ['"days"', '"unit"']
        assert found["white space"] == ["white space"]

    def test_keys_stand_out_where_others_may_come_too(self, tokenizer: Tokenizer) -> None:
        found = labels(session_of(Grammar.from_json_schema(FREE), tokenizer, "{"))
        assert sorted(found["keys"]) == ['"unit"', '"until"', 'any other key "…"']
        assert found["closings"] == ["}"]
        inside = labels(session_of(Grammar.from_json_schema(FREE), tokenizer, '{"un'))
        assert sorted(inside["keys"]) == ['it"', 'til"']
        assert inside["closings"] == ['"']

    def test_keys_behind_a_separator_and_behind_white_space(self, tokenizer: Tokenizer) -> None:
        session = session_of(Grammar.from_json_schema(SCHEMA), tokenizer, '{"city": "a"')
        keys = {chip.label: chip for group in session.inspect.next() if group.name == "keys" for chip in group.chips}
        assert keys['"days"'].text == b',"days"'
        assert keys['"days"'].lead == ","
        pretty = Grammar.from_json_schema(SCHEMA, any_whitespace=False, indent=2)
        keys = {chip.label: chip for group in session_of(pretty, tokenizer, "{").inspect.next() for chip in group.chips}
        assert keys['"city"'].text == b'\n  "city"'

    def test_values_of_an_enum(self, tokenizer: Tokenizer) -> None:
        found = labels(session_of(Grammar.from_json_schema(SCHEMA), tokenizer, '{"city": "a", "unit": '))
        assert sorted(found["values"]) == ['"celsius"', '"fahrenheit"', "3", "null"]

    def test_inside_a_string(self, tokenizer: Tokenizer) -> None:
        found = labels(session_of(Grammar.from_json_schema(SCHEMA), tokenizer, '{"city": "L'))
        assert found["closings"] == ['"']
        assert found["text"] == ["\\ an escape", 'any printable character but " \\']

    def test_tags_in_free_text(self, tokenizer: Tokenizer) -> None:
        grammar = Grammar.from_structural_tag(TAGS)
        assert sorted(labels(session_of(grammar, tokenizer, "Hello"))["tags"]) == ["<tool=add>", "<tool=get_weather>"]
        assert sorted(labels(session_of(grammar, tokenizer, "Hello <to"))["tags"]) == ["ol=add>", "ol=get_weather>"]
        for text in ("Hello", "Hello <", "Hello <t", "Hello <too", "Hello <tool"):
            found = labels(session_of(grammar, tokenizer, text))
            assert not {"words", "signs"} & set(found), text
            assert found["tags"], text
            assert found["text"] == ["any other character" if text == "Hello <tool" else "any character"], text
        ended = labels(session_of(grammar, tokenizer, "<tool=add>{}"))
        assert ended["tags"] == ["</tool>"]

    def test_words_beside_names(self, tokenizer: Tokenizer) -> None:
        found = labels(session_of(AMBIGUOUS, tokenizer))
        assert found["words"] == ["if"]
        assert found["text"] == ["[a-z]"]
        assert labels(session_of(AMBIGUOUS, tokenizer, "a"))["end"]

    def test_what_must_follow(self, tokenizer: Tokenizer) -> None:
        session = session_of('root ::= ("get_" | "set_") "time" "(" [0-9]+ ")"', tokenizer)
        chips = [chip for group in session.inspect.next() for chip in group.chips]
        assert [(chip.label, chip.then) for chip in chips] == [("get_time", "("), ("set_time", "(")]
        session.step("get")
        assert session.inspect.next().forced == b"_time("

    def test_the_end_and_after_it(self, tokenizer: Tokenizer) -> None:
        session = session_of('root ::= "ab"', tokenizer, "ab")
        (group,) = session.inspect.next()
        assert group.name == "end"
        assert group.tokens == 1
        session.step(tokenizer.info.stop_token_ids[0])
        assert session.inspect.next().groups == ()
        assert session.inspect.next().note == "the text has ended"

    def test_budgets_are_told(self, tokenizer: Tokenizer) -> None:
        session = session_of(Grammar.from_json_schema(FREE), tokenizer, '{"')
        found = explore(session.inspect.matcher, session.text, steps=400)
        assert not found.complete
        assert any(one.members for one in found.found)  # what was known is told

    def test_forms(self, tokenizer: Tokenizer) -> None:
        session = session_of(Grammar.from_json_schema(SCHEMA), tokenizer, '{"city": "a", ')
        frame = session.inspect.next().to_frame()
        assert frame[frame.group == "keys"].what.tolist()[:2] == ['"days"', '"unit"']
        assert '"days"' in str(session.inspect.next())
        assert max(map(len, str(session.inspect.next()).splitlines())) <= 100
        assert "&quot;days&quot;" in session.inspect.next()._repr_html_()
        refused = session.inspect.refusals()
        assert refused.to_frame()["count"].sum() == refused.total
        assert "after reading" in str(refused)

    def test_what_cannot_come_claims_no_more_than_the_tokens_bytes(self, tokenizer: Tokenizer) -> None:
        session = session_of(Grammar.from_json_schema(SCHEMA), tokenizer, '{"city"')
        rows = session.inspect.refusals().rows()
        largest = rows[0]
        assert largest["expected"] == "white space or :"
        assert largest["fatal"] == "other characters"
        assert not any(row["fatal"].startswith("any ") for row in rows)

    def test_equal_reasons_are_told_once(self, tokenizer: Tokenizer) -> None:
        session = session_of(AMBIGUOUS, tokenizer, "if if a+b")
        found = with_reasons(session.inspect, session.inspect.refusals())
        (first, *_), *_ = filter(None, found.reasons)
        twice = replace(found, reasons=((first, first), *found.reasons[1:]))
        assert len(twice.state()["rows"][0]["reasons"]) == 1


def test_uncertain_tokens_by_what_they_leave(tokenizer: Tokenizer) -> None:
    session = session_of(GRAMMAR, tokenizer, '["a')
    sets = session.inspect.token_sets()
    found = callers(sets)
    verdicts = [(entry.rule, verdict) for entry in sets.states for verdict in entry.uncertain]
    assert found.total == len(verdicts) > 0
    assert sum(row["taken"] + row["refused"] for row in found.rows()) == len(verdicts)
    assert sum(row["taken"] for row in found.rows()) == sum(verdict.allowed for _, verdict in verdicts)
    for row, ids in zip(found.table, found.ids, strict=True):
        assert set(ids) <= {verdict.token_id for rule, verdict in verdicts if rule == row["rule"]}


def test_each_group_of_uncertain_tokens_says_who_decides() -> None:
    session = Session('root ::= "<" name ">"\nname ::= "\\"" [^\\"]{1,40} "\\""', "tekken").seek('<"ab')
    found = callers(session.inspect.token_sets(), session.inspect.rest_callers())
    rows = [row for row in found.rows() if row["rest"] == '"']
    assert [row["rule"] for row in rows] == ["name{1,40}"]  # not the rule `name`, which calls it
    assert [name for name, _ in rows[0]["callers"]] == ["name"]
    two = 'root ::= a | b\na ::= "x" w{2} ";"\nb ::= "x" w{2} ":"\nw ::= "<" [a-z"]+ ">" | "<>" | "[" [a-z]+ "]"'
    session = Session(two, "tekken").seek("x<ab")
    for row in callers(session.inspect.token_sets(), session.inspect.rest_callers()).rows():
        verbs = {verb for _, verb in row["callers"]}
        assert verbs
        assert (verbs == {"refuses"}) == (row["taken"] == 0)
        assert (verbs == {"takes"}) <= (row["refused"] == 0)
    assert callers(session.inspect.token_sets()).state()["rows"] == [
        {**row, "callers": []}
        for row in callers(session.inspect.token_sets(), session.inspect.rest_callers()).state()["rows"]
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"", b""),
        (b'{"a', b'"'),
        (b'{"a\\"', b'"'),
        (b'{"a"', b""),
        (b"x <too", b">"),
        (b"x <tool>", b""),
        (b"a < b", b""),
    ],
)
def test_what_is_open(text: bytes, expected: bytes) -> None:
    assert open_end(text) == expected


def some(values: Iterable[int]) -> bytes:
    return bytes(sorted(values))


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        (b"0123456789", "[0-9]"),
        (b"+-", "+ -"),
        (some(b' \t\n\r"'), 'white space or "'),
        (bytes(range(0x20, 0x7F)), "any printable ASCII character"),
        (some({*range(0x20, 0x7F), *range(0xC2, 0xF5)} - {0x22}), 'any printable character but "'),
        (some(range(0x80, 0xC0)), "the rest of a character"),
        (b"", ""),
    ],
)
def test_content_in_words(members: bytes, expected: str) -> None:
    assert content(members) == expected


@pytest.mark.parametrize(
    ("text", "forced", "unforced"),
    [
        ('{"n', 'ame"', ""),
        ('{"', 'name"', ""),
        ('{"name"', "", "only :, but white space may come before it: no byte is forced"),
        ('{"name": "x', "", ""),
        ("{", "", 'only "name", but white space may come before it: no byte is forced'),
    ],
)
def test_what_is_forced_is_shown_wherever_it_is(text: str, forced: str, unforced: str) -> None:
    schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    schema["additionalProperties"] = False
    session = Session(schema, "tekken").seek(text)
    state = session.inspect.next(seconds=10).state()
    assert (state["forced"], state["unforced"]) == (forced, unforced)
    assert state["forced"].encode() == session.inspect.matcher.find_jump_forward_string().encode()


def test_what_forbids_another_digit_is_named_beside_what_may_follow() -> None:
    schema = {"type": "object", "properties": {"limit": {"type": "integer", "maximum": 50}}}
    session = Session(schema, "tekken").seek('{"limit": 7')
    found = session.inspect.refusals(reasons=True)
    (here,) = [reasons for group, reasons in zip(found.groups, found.reasons, strict=True) if group.read == b""]
    assert [place.keyword for place in here] == ["maximum", ""]
    assert here[0].label == "`limit` is at most 50 (`maximum`)"


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ('root ::= "[" list "]"\nlist ::= item ("," item)*\nitem ::= [a-z]+ | "(" item ")" | item "(" list ")"', "[x"),
        ('root ::= sum\nsum ::= sum ("+" | "-") sum | "-"? [0-9]+ ("." [0-9]+)? | "(" sum ")" | [a-z]+', "2"),
        ('root ::= sum\nsum ::= sum ("+" | "-") sum | "-"? [0-9]+ ("." [0-9]+)? | "(" sum ")" | [a-z]+', "2-"),
    ],
)
def test_what_comes_at_once_tells_of_every_byte_that_may_come(source: str, text: str) -> None:
    session = Session(source, [bytes((value,)) for value in range(256)]).seek(text)
    found = [chip.continuation for group in session.inspect.next() for chip in group.chips]
    here = {value for one in found if not one.lead for value in one.unit[:1] or one.members}
    assert here == set(session.inspect.next_bytes())
    # What stands behind a sign or a separator is content only where it can go on with all of its members.
    for one in found:
        for value in one.members:
            assert session.inspect.shadow().accept_string(one.text + bytes((value,)))


def test_a_minus_is_the_sign_of_a_number_only_where_nothing_else_may_come_behind_it() -> None:
    tokens = [bytes((value,)) for value in range(256)]
    assert labels(Session('root ::= "-" ([0-9] | "x" | "(" [a-z] ")")', tokens)) == {"signs": ["-"]}
    assert labels(Session('root ::= "-" [0-9]+', tokens)) == {"values": ["-[0-9]"]}
