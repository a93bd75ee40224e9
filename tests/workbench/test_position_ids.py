"""Numbers of places: the same steps, the same number; and the neighbours are those the tape would go to."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from workbench.explorer.position_ids import Places
from workbench.session.history import Step, Tape

DATA = st.binary(min_size=1, max_size=3)


def tape_of(texts: list[bytes]) -> Tape:
    return Tape(Step(0, text, token_id=text[0]) for text in texts)


@given(st.lists(DATA, max_size=6), st.lists(DATA, max_size=6))
def test_a_number_is_a_way(one: list[bytes], two: list[bytes]) -> None:
    places = Places()
    first, second = tape_of(one), tape_of(two)
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
    places, tape = Places(), tape_of(texts)
    for place in data.draw(st.lists(st.integers(0, len(tape.data)), max_size=4)):  # numbers of bytes lie between
        places.around(tape.place_at(place), tape.steps)
    tape = tape_of([*texts[: data.draw(st.integers(0, len(texts)))], *edit])
    runs = places.around(tape.place(0), tape.steps)["steps"]
    found = numbers_of(runs)
    assert found == {index: places.number(tape.place(index), tape.steps) for index in range(len(tape) + 1)}
    assert sum(length for _, _, length in runs) == len(found)


@given(st.lists(DATA, min_size=1, max_size=6), st.data())
def test_the_neighbours_are_where_a_move_leads(texts: list[bytes], data: st.DataObject) -> None:
    tape, places = tape_of(texts), Places()
    place = tape.place_at(data.draw(st.integers(0, len(tape.data))))
    around = places.around(place, tape.steps)
    for by in ("token", "byte"):
        for name, there in (("back", tape.before(place, by)), ("forward", tape.after(place, by))):
            found = around.get(f"{name} {by}")
            assert (found is None) == (there is None)
            assert there is None or found == places.number(there, tape.steps)
    assert around["first"] == places.number(tape.place(0), tape.steps)
    assert around["last"] == numbers_of(around["steps"])[len(texts)]
