from kernels_core.automata.nfa import Nfa

__all__ = ["spell_dispatch"]

def spell_dispatch(
    nfa: Nfa, tags: tuple[bytes, ...], excludes: tuple[bytes, ...], source: int, end: int, place: int, limit: int
) -> tuple[int, list[tuple[int, int]]] | None: ...
