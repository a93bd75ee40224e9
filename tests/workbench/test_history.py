"""The tape's arithmetic, against a plain list of units."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.history import Place, Tape

chunks = st.lists(st.binary(min_size=1, max_size=4), max_size=8)


def tape_of(parts: list[bytes], stop: bool) -> Tape:
    tape = Tape()
    for number, part in enumerate(parts):
        tape.append(part, token_id=number)
    if stop:
        tape.append(b"", token_id=99, stop=True)
    return tape


def all_places(parts: list[bytes], stop: bool) -> list[Place]:
    places = [Place(position) for position in range(sum(map(len, parts)) + 1)]
    return [*places, Place(places[-1].position, True)] if stop else places


@given(chunks, st.booleans())
def test_byte_moves_visit_every_place_both_ways(parts: list[bytes], stop: bool) -> None:
    tape = tape_of(parts, stop)
    forward = [Place(0)]
    while (place := tape.after(forward[-1], "byte")) is not None:
        forward.append(place)
    assert forward == all_places(parts, stop)
    backward = [tape.end]
    while (place := tape.before(backward[-1], "byte")) is not None:
        backward.append(place)
    assert backward == forward[::-1]


@given(chunks, st.booleans())
def test_token_moves_stop_at_boundaries(parts: list[bytes], stop: bool) -> None:
    tape = tape_of(parts, stop)
    boundaries = [tape.place(index) for index in range(len(tape) + 1)]
    for place in all_places(parts, stop):
        earlier = [boundary for boundary in boundaries if boundary < place]
        later = [boundary for boundary in boundaries if boundary > place]
        assert tape.before(place, "token") == (earlier[-1] if earlier else None)
        assert tape.after(place, "token") == (later[0] if later else None)
        assert tape.index(place) == len(earlier) + (place in boundaries) - 1


@given(chunks, st.booleans(), st.data())
def test_cut_keeps_exactly_what_lies_before(parts: list[bytes], stop: bool, data: st.DataObject) -> None:
    tape = tape_of(parts, stop)
    place = data.draw(st.sampled_from(all_places(parts, stop)))
    before = [step for step in tape.steps if Place(step.end, step.stop) <= place]
    whole = tape.data
    tape.cut(place)
    assert tape.data == whole[: place.position]
    assert tape.end == place
    assert list(tape.steps[: len(before)]) == before
    assert b"".join(step.data for step in tape.steps) == tape.data
    assert all(step.token_id is None for step in tape.steps[len(before) :])


def test_steps_know_their_offsets_and_bad_moves_are_refused() -> None:
    tape = tape_of([b"ab", b"c"], True)
    assert [(step.start, step.end) for step in tape.steps] == [(0, 2), (2, 3), (3, 3)]
    with pytest.raises(ValueError, match="stop token"):
        tape.append(b"x")
    with pytest.raises(IndexError, match="3 steps"):
        tape.place(4)
    with pytest.raises(ValueError, match="reads bytes or stops"):
        Tape().append(b"")
    assert Tape(tape.steps).steps == tape.steps
