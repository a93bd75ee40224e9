"""A session against the engine: stepping, history, refusals that change nothing, observers, forks."""

from __future__ import annotations

import os
import threading
import time
import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from kernels_core import Grammar, GrammarMatcher, TokenizerInfo
from kernels_core.errors import GrammarError, GrammarSyntaxError
from kernels_core.grammar.ir import GrammarIR, Literal, Rule, Seq, TokenSet
from tests.strategies import examples
from tests.workbench.vocabulary import EOS, GRAMMAR, PIECES
from workbench.session import Session
from workbench.session.result import StepError
from workbench.session.session import MOVED, _said
from workbench.tokenizers import Tokenizer

ID = {piece: 256 + number for number, piece in enumerate(PIECES)}


def picture(session: Session) -> tuple[object, ...]:
    """Everything that must survive a refused operation."""
    return (
        session.document.text,
        session.text,
        session.place,
        session.steps,
        session.inspect.frontier(),
        tuple(session.inspect.allowed_ids()),
        session.is_completed,
    )


def test_steps_by_text_bytes_token_and_stop(session: Session) -> None:
    session.step("[").step(b"true").step(ord(","))
    assert session.text == b"[true,"
    session.step(ID["12"]).step("]")
    assert [step.token_id for step in session.steps] == [None, None, ord(","), ID["12"], None]
    assert session.is_completed
    assert not session.inspect.is_terminated
    session.step(EOS)
    assert session.inspect.is_terminated
    assert session.index == len(session.steps) == 6
    assert session.inspect.allowed_tokens() == []
    assert session.inspect.next_bytes() == b""
    with pytest.raises(StepError, match="nothing can follow"):
        session.step(" ")
    assert session.back()
    assert not session.inspect.is_terminated
    assert session.text == b"[true,12]"
    assert session.forward()
    assert session.inspect.is_terminated


def test_a_refused_step_says_where_and_changes_nothing(session: Session) -> None:
    session.step('{"na')
    before = picture(session)
    with pytest.raises(StepError) as caught:
        session.step('me":tru}')
    assert picture(session) == before
    reading = caught.value.reading
    assert reading is not None
    assert (reading.start, reading.read, reading.died_at) == (4, 7, 11)
    assert reading.possible == b"e"
    assert "} cannot come at byte 11" in str(caught.value)
    assert str(caught.value).splitlines()[-1].index("^") == str(caught.value).splitlines()[-2].index("}")
    with pytest.raises(StepError, match="not complete"):
        session.step(EOS)
    with pytest.raises(StepError, match="outside the vocabulary"):
        session.step(10**9)
    with pytest.raises(TypeError, match="not float"):
        session.step(1.5)  # type: ignore[arg-type]
    with pytest.raises(StepError, match="surrogate"):
        session.step("\ud800")
    assert picture(session) == before


def test_prefix_is_tokenised_and_reports_where_it_dies(session: Session) -> None:
    good = session.read('{"name":12')
    assert good.ok
    assert session.text == b'{"name":12'
    assert b"".join(step.data for step in session.steps) == session.text
    assert any(step.token_id == ID["name"] for step in session.steps)
    bad = session.read('{"name":é}')
    assert not bad.ok
    assert bad.died_at == 8
    assert session.text == b'{"name":'
    assert set(bad.possible) == set(b'{["tfn0123456789')
    assert "é cannot come at byte 8" in bad.message
    assert any("value" in item.rule or "pair" in item.rule or item.dot for item in bad.waiting)
    assert session.read("").ok
    assert session.inspect.position == 0


def test_prefix_by_byte_and_partial_characters(session: Session) -> None:
    assert session.read('"日', by="byte").ok
    assert [len(step.data) for step in session.steps] == [1, 1, 1, 1]
    assert session.read(b'"\xe6\x97').ok
    assert session.inspect.next_bytes() == bytes(range(0x80, 0xC0))
    assert session.read(b'"\xe6"').died_at == 2


def test_history_walks_by_token_and_byte(session: Session) -> None:
    session.read('{"name":true}')
    tokens = [step.data for step in session.steps]
    assert session.back("byte")
    assert session.text == b'{"name":true'
    seen = [session.text]
    while session.back():
        seen.append(session.text)
    assert seen[1:] == [b"".join(tokens[:count]) for count in reversed(range(len(tokens) - 1))]
    assert session.text == b""
    assert not session.back("byte")
    assert session.forward("byte")
    assert session.text == b"{"
    session.goto(len(tokens))
    assert session.text == b'{"name":true}'
    assert not session.forward()
    assert session.back()
    assert session.forward()
    with pytest.raises(IndexError):
        session.goto(len(tokens) + 1)
    with pytest.raises(ValueError, match="'token' or 'byte'"):
        session.back("line")  # type: ignore[arg-type]


def test_stepping_after_going_back_forgets_the_rest(session: Session) -> None:
    session.read("[true,false]")
    session.seek(3)
    session.step("ue")
    assert session.text == session.steps[-1].start * b"" + b"[true"
    assert not session.forward()


def test_seek_is_all_or_nothing(session: Session) -> None:
    session.read("[true,false]")
    session.seek("[tru")
    assert session.text == b"[tru"
    assert len(session.steps) > 2
    before = picture(session)
    with pytest.raises(StepError):
        session.seek("[tr,")
    assert picture(session) == before
    session.seek("[null")
    assert session.text == b"[null"


def test_step_byte_takes_what_is_forced(session: Session) -> None:
    session.step("t")
    for _ in range(3):
        session.edits.byte()
    assert session.text == b"true"
    session.edits.clear()
    session.step("[")
    with pytest.raises(StepError, match="must be named"):
        session.edits.byte()
    session.edits.byte(ord("n"))
    assert session.text == b"[n"


@examples(1, HealthCheck.function_scoped_fixture)
@given(
    st.lists(st.sampled_from(["back", "forward", "backb", "forwardb", "step", "token", "prefix", "goto"]), max_size=25),
    st.data(),
)
def test_any_walk_equals_reading_the_text_afresh(session: Session, moves: list[str], data: st.DataObject) -> None:
    session.edits.clear()
    for move in moves:
        if move == "step":
            session.step(
                bytes((data.draw(st.sampled_from(session.inspect.next_bytes() or b"")),))
            ) if session.inspect.next_bytes() else None
        elif move == "token":
            allowed = session.inspect.allowed_tokens(1000)
            if allowed:
                session.step(data.draw(st.sampled_from(allowed)).token_id)
        elif move == "prefix":
            session.read(data.draw(st.sampled_from(['{"a":[1', "[true,", "zzz", '"日本', ""])))
        elif move == "goto":
            session.goto(data.draw(st.integers(0, len(session.steps))))
        else:
            (session.back if move.startswith("back") else session.forward)("byte" if move.endswith("b") else "token")
        fresh = GrammarMatcher(session.inspect.compiled)
        if session.text:
            assert fresh.accept_string(session.text)
        if session.inspect.is_terminated:
            assert fresh.accept_token(EOS)
            continue
        assert fresh.frontier().active_states() == session.inspect.frontier().active_states()
        assert fresh.is_completed() == session.is_completed
        assert session.inspect.next_bytes() == bytes(
            b for b in range(256) if session.inspect.matcher.accept_string(bytes((b,)))
        )
        assert b"".join(step.data for step in session.steps).startswith(session.text)


def test_allowed_tokens_agree_with_explain(session: Session) -> None:
    session.step('{"a":')
    allowed = {candidate.token_id for candidate in session.inspect.allowed_tokens(10_000)}
    info = session.tokenizer.info
    for token_id in range(info.vocab_size - 1):
        assert session.inspect.explain(token_id).ok == (token_id in allowed)
    assert set(session.inspect.allowed_ids()) == allowed == set(session.inspect.token_sets().allowed)
    assert [c.token for c in session.inspect.allowed_tokens(5, starting=b"t")] == [b"t", b"true"]
    bits = np.unpackbits(session.inspect.mask().view(np.uint8), bitorder="little")
    assert np.flatnonzero(bits).tolist() == sorted(allowed)
    with pytest.raises(ValueError):
        session.inspect.allowed_tokens(-1)


def test_completed_text_offers_the_stop_token_first(session: Session) -> None:
    session.step("true")
    first = session.inspect.allowed_tokens(1)[0]
    assert first.stop
    assert first.token_id == EOS
    assert str(first) == "stop token"


def test_set_grammar_keeps_the_text_and_an_error_keeps_the_grammar(session: Session) -> None:
    session.read('{"name":12}')
    before = picture(session)
    with pytest.raises(GrammarSyntaxError) as caught:
        session.set_grammar('root ::= "a" |\n ??')
    assert caught.value.line == 2
    with pytest.raises(GrammarError):
        session.set_grammar("root ::= nowhere")
    assert picture(session) == before
    steps = session.steps
    reading = session.set_grammar(GRAMMAR.replace('"true"', '"yes"'))
    assert reading.ok
    assert session.text == b'{"name":12}'
    assert session.steps == steps
    reading = session.set_grammar('root ::= "{" [^1]*')
    assert reading.died_at == 8
    assert session.text == b'{"name":'
    session.set_grammar(Grammar.from_regex("[a-c]+"))
    assert session.text == b""
    assert session.inspect.next_bytes() == b"abc"
    assert session.document.text == "[a-c]+"
    assert session.document.language == "regex"


def test_set_tokenizer_cuts_the_text_anew(session: Session, tokenizer: Tokenizer) -> None:
    session.read("[true]")
    bytes_only = [bytes((value,)) for value in range(256)]
    reading = session.set_tokenizer(bytes_only)
    assert reading.ok
    assert session.text == b"[true]"
    assert [step.token_id for step in session.steps] == list(b"[true]")
    assert session.tokenizer.info.vocab_size == 256


def test_observers_hear_every_change_once_and_only_changes(session: Session) -> None:
    heard: list[str] = []
    forget = session.on_change(heard.append)
    session.step("[")
    session.back()
    session.back()
    session.forward()
    session.read("[1")
    with pytest.raises(StepError):
        session.step("x")
    session.set_grammar(GRAMMAR)
    assert heard == ["place", "place", "place", "place", "grammar"]
    forget()
    session.edits.clear()
    assert len(heard) == 5


def test_an_observers_error_reaches_the_caller_after_the_others_ran(session: Session) -> None:
    heard: list[str] = []

    def broken(change: str) -> None:
        raise RuntimeError("view fell over")

    session.on_change(broken)
    session.on_change(heard.append)
    with pytest.raises(RuntimeError, match="fell over"):
        session.step("[")
    assert heard == ["place"]
    assert session.text == b"["


def test_two_threads_never_see_a_torn_state(session: Session) -> None:
    session.read('{"name":[true,false,12]}')
    errors: list[BaseException] = []
    done = threading.Event()

    def walk() -> None:
        try:
            for _ in range(60):
                while session.back("byte"):
                    pass
                while session.forward("token"):
                    pass
        except BaseException as error:
            errors.append(error)
        finally:
            done.set()

    thread = threading.Thread(target=walk)
    thread.start()
    while not done.is_set():
        with session.inspect.held():
            frontier = session.inspect.frontier()
            assert frontier.position == session.inspect.position == len(session.text)
    thread.join()
    assert errors == []


def test_repr_is_one_informative_line(session: Session) -> None:
    session.read("[true]")
    text = repr(session)
    assert "\n" not in text
    assert "'[true]'" in text
    assert "may end here" in text
    assert "7 rules" in text


@pytest.mark.parametrize(
    "grammar",
    ['root ::= ("ab" | "c"){2,40} "d"', 'root ::= [a-z]{3,900} ("!" | root)?', "root ::= ([a-c]{1,30}){2,30}"],
)
def test_next_bytes_are_those_that_can_be_read_also_inside_counted_rules(tokenizer: Tokenizer, grammar: str) -> None:
    session = Session(grammar, tokenizer)
    for _ in range(120):
        tried = bytes(byte for byte in range(256) if session.inspect.matcher.accept_string(bytes((byte,))))
        assert session.inspect.next_bytes() == tried
        if not tried:
            break
        session.edits.byte(tried[len(session.text) % len(tried)])


def test_the_source_is_what_the_spans_point_into(tokenizer: Tokenizer) -> None:
    typed = '# a comment\nstart ::= word+ \nword ::= [a-z]+ " "\n'
    for grammar in (Grammar.from_ebnf(typed, root_rule_name="start"), GRAMMAR):
        session = Session(grammar, tokenizer)
        for rule in session.inspect.automaton().rules:
            if rule.span is not None:
                assert session.document.text[slice(*rule.span)].startswith(rule.rule)
        spans = [item.span for item in session.inspect.frontier().items]
        assert any(spans)
    session = Session(Grammar.from_ebnf(typed, root_rule_name="start"), tokenizer)
    assert session.document.text == typed
    session.set_grammar(session.document.text.replace("a-z", "a-c"))
    assert session.inspect.next_bytes() == b"abc"


def test_tokens_that_the_grammar_names_by_id_are_whole_steps() -> None:
    thinking, stop = 5, 6
    vocab = [b"a", b"b", b"ab", b"c", b"abc", b"<think>", b"</s>"]
    info = TokenizerInfo(vocab, stop_token_ids=[stop], special_token_ids=[thinking, stop])
    rule = Rule("root", Seq((Literal(b"a"), TokenSet((thinking,)), TokenSet((2,)), Literal(b"c"))))
    session = Session(Grammar(GrammarIR({"root": rule}, "root")), info)
    for token in (0, thinking, 2, 3, stop):
        assert session.inspect.explain(token).ok or token == 2
        session.step(token)
    assert [step.whole for step in session.steps] == [False, True, True, False, True]
    assert session.inspect.is_terminated
    frontiers = {session.index: session.inspect.frontier()}
    places = [session.place]
    while session.back("byte"):
        places.append(session.place)
        frontiers[session.index] = session.inspect.frontier()
    assert len(places) == 6, "no place lies inside a token taken whole"
    while session.forward("token"):
        assert session.inspect.frontier() == frontiers[session.index]
    assert session.inspect.is_terminated
    session.goto(1)
    with pytest.raises(StepError):
        session.step("<think>")
    with pytest.raises(StepError):
        session.step(3)
    assert session.inspect.allowed_ids() == [thinking]
    session.step(thinking)
    assert session.inspect.next_bytes() == b""
    assert [c.token_id for c in session.inspect.allowed_tokens()] == [2]


def test_names_of_before_lead_to_those_of_now_and_say_so_once(session: Session) -> None:
    session.step("[tru")
    _said.clear()
    for name, now in MOVED.items():
        with pytest.warns(DeprecationWarning, match=rf"session\.{name} is session\.{now} now"):
            before = getattr(session, name)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert repr(getattr(session, name)) == repr(before) or callable(before)
    assert session.frontier() == session.inspect.frontier()
    assert session.set_prefix("[null").ok
    assert session.source == session.document.text
    assert not hasattr(session, "nothing_of_that_name")


def test_a_session_has_few_names() -> None:
    session = Session(GRAMMAR, [b"a"])
    assert len([name for name in dir(session) if not name.startswith("_")]) <= 30


VOCAB = [b"a", b"b", b"ab", b"</s>"]


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_child_finds_the_locks_of_a_session_open() -> None:
    session = Session('root ::= "a"* "b"', VOCAB)
    session.step("a")
    held, over = threading.Event(), threading.Event()

    def hold() -> None:
        with session.inspect.held():
            held.set()
            over.wait(60)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(60)
    child = os.fork()
    if child == 0:
        try:
            session.step("b")
            os._exit(0 if session.text == b"ab" else 3)
        finally:
            os._exit(4)
    try:
        for _ in range(6000):
            found, status = os.waitpid(child, os.WNOHANG)
            if found:
                break
            time.sleep(0.01)
        else:
            os.kill(child, 9)
            os.waitpid(child, 0)
            pytest.fail("the child waits for a lock that nobody holds")
    finally:
        over.set()
        thread.join()
    assert os.waitstatus_to_exitcode(status) == 0
