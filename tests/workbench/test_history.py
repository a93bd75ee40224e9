"""The tape's arithmetic, against a plain list of units, and the numbers of its places: the same steps, the same
number."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.explorer.position_ids import Places
from workbench.session.history import Place, Step, Tape

# A part is the bytes of a step and whether it is taken whole.
parts_of_tapes = st.lists(
    st.tuples(st.binary(max_size=4), st.booleans()).filter(lambda part: bool(part[0]) or part[1]), max_size=8
)
Parts = list[tuple[bytes, bool]]


def tape_of(parts: Parts) -> Tape:
    return Tape(Step(0, data, number, whole) for number, (data, whole) in enumerate(parts))


def all_places(parts: Parts) -> list[Place]:
    inner = [Place(i, k) for i, (data, whole) in enumerate(parts) for k in range(1 if whole else len(data))]
    return [*inner, Place(len(parts))]


def bytes_before(parts: Parts, place: Place) -> int:
    return sum(len(data) for data, _ in parts[: place.index]) + place.offset


@given(parts_of_tapes)
def test_byte_moves_visit_every_place_both_ways(parts: Parts) -> None:
    tape = tape_of(parts)
    forward = [Place()]
    while (place := tape.after(forward[-1], "byte")) is not None:
        forward.append(place)
    assert forward == all_places(parts)
    backward = [tape.end]
    while (place := tape.before(backward[-1], "byte")) is not None:
        backward.append(place)
    assert backward == forward[::-1]


@given(parts_of_tapes)
def test_token_moves_stop_at_boundaries(parts: Parts) -> None:
    tape = tape_of(parts)
    boundaries = [tape.place(index) for index in range(len(tape) + 1)]
    for place in all_places(parts):
        earlier = [boundary for boundary in boundaries if boundary < place]
        later = [boundary for boundary in boundaries if boundary > place]
        assert tape.before(place, "token") == (earlier[-1] if earlier else None)
        assert tape.after(place, "token") == (later[0] if later else None)


@given(parts_of_tapes)
def test_positions_are_found_again(parts: Parts) -> None:
    tape, places = tape_of(parts), all_places(parts)
    for position in range(len(tape.data) + 1):
        there = [place for place in places if bytes_before(parts, place) == position]
        if there:
            assert tape.place_at(position) == there[0]
            assert tape.position(there[0]) == position
        else:
            with pytest.raises(IndexError, match="taken whole"):
                tape.place_at(position)


@given(parts_of_tapes, st.data())
def test_cut_keeps_exactly_what_lies_before(parts: Parts, data: st.DataObject) -> None:
    tape = tape_of(parts)
    place = data.draw(st.sampled_from(all_places(parts)))
    steps, whole = tape.steps, tape.data
    tape.cut(place)
    assert tape.data == whole[: bytes_before(parts, place)]
    assert tape.steps[: place.index] == steps[: place.index]
    assert len(tape) == place.index + bool(place.offset)
    assert all(step.token_id is None for step in tape.steps[place.index :])


@given(parts_of_tapes, st.data())
def test_what_lies_between_two_places(parts: Parts, data: st.DataObject) -> None:
    tape, places = tape_of(parts), all_places(parts)
    first, last = sorted(data.draw(st.tuples(st.sampled_from(places), st.sampled_from(places))))
    pieces = list(tape.between(first, last))
    assert b"".join(step.data for step in pieces) == tape.data[tape.position(first) : tape.position(last)]
    whole = [step for step in pieces if step in tape.steps]
    assert len(whole) >= last.index - first.index - bool(first.offset)
    assert all(step.token_id is None for step in pieces if step not in tape.steps)


@given(parts_of_tapes, parts_of_tapes, parts_of_tapes)
def test_shared_steps(head: Parts, one: Parts, two: Parts) -> None:
    shared = tape_of(head + one).shared(tape_of(head + two))
    assert shared >= Place(len(head))
    assert tape_of(head + one).steps[: shared.index] == tape_of(head + two).steps[: shared.index]


def test_bad_steps_and_places_are_refused() -> None:
    tape = Tape([Step(0, b"ab", 1), Step(0, b"c", 2), Step(0, b"", 3, whole=True, stop=True)])
    assert [(step.start, step.end) for step in tape.steps] == [(0, 2), (2, 3), (3, 3)]
    with pytest.raises(ValueError, match="end of the text"):
        tape.append(Step(0, b"x"))
    with pytest.raises(IndexError, match="3 steps"):
        tape.place(4)
    with pytest.raises(IndexError, match="3 bytes"):
        tape.place_at(4)
    with pytest.raises(ValueError, match="reads bytes or is taken whole"):
        Tape([Step(0, b"")])
    with pytest.raises(ValueError, match="only a token"):
        Tape([Step(0, b"a", whole=True)])
    assert Tape(tape.steps).steps == tape.steps


DATA = st.binary(min_size=1, max_size=3)


def tape_of_texts(texts: list[bytes]) -> Tape:
    return Tape(Step(0, text, token_id=text[0]) for text in texts)


@given(st.lists(DATA, max_size=6), st.lists(DATA, max_size=6))
def test_a_number_is_a_way(one: list[bytes], two: list[bytes]) -> None:
    places = Places()
    first, second = tape_of_texts(one), tape_of_texts(two)
    numbers = [places.number(first.place(index), first.steps) for index in range(len(one) + 1)]
    assert len(set(numbers)) == len(numbers)
    others = [places.number(second.place(index), second.steps) for index in range(len(two) + 1)]
    for index in range(len(one) + 1):
        for other in range(len(two) + 1):
            assert (numbers[index] == others[other]) == (one[:index] == two[:other])
    places.renew()
    assert places.number(first.place(0), first.steps) not in numbers


def numbers_of(runs: list[list[int]]) -> dict[int, int]:
    return {step + k: number + k for step, number, length in runs for k in range(length)}


@given(st.lists(DATA, min_size=1, max_size=6), st.lists(DATA, max_size=6), st.data())
def test_runs_number_every_place_between_steps(texts: list[bytes], edit: list[bytes], data: st.DataObject) -> None:
    places, tape = Places(), tape_of_texts(texts)
    for place in data.draw(st.lists(st.integers(0, len(tape.data)), max_size=4)):  # numbers of bytes lie between
        places.around(tape.place_at(place), tape.steps)
    tape = tape_of_texts([*texts[: data.draw(st.integers(0, len(texts)))], *edit])
    runs = places.around(tape.place(0), tape.steps)["steps"]
    found = numbers_of(runs)
    assert found == {index: places.number(tape.place(index), tape.steps) for index in range(len(tape) + 1)}
    assert sum(length for _, _, length in runs) == len(found)


@given(st.lists(DATA, min_size=1, max_size=6), st.data())
def test_the_neighbours_are_where_a_move_leads(texts: list[bytes], data: st.DataObject) -> None:
    tape, places = tape_of_texts(texts), Places()
    place = tape.place_at(data.draw(st.integers(0, len(tape.data))))
    around = places.around(place, tape.steps)
    for by in ("token", "byte"):
        for name, there in (("back", tape.before(place, by)), ("forward", tape.after(place, by))):
            found = around.get(f"{name} {by}")
            assert (found is None) == (there is None)
            assert there is None or found == places.number(there, tape.steps)
    assert around["first"] == places.number(tape.place(0), tape.steps)
    assert around["last"] == numbers_of(around["steps"])[len(texts)]
