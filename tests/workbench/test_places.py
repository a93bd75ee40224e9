"""Numbers of places: the same steps, the same number; and the neighbours are those the tape would go to."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from workbench.history import Step, Tape
from workbench.places import Places

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
    assert around["last"] == around["steps"][str(len(texts))]
