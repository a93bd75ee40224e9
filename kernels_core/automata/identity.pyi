from kernels_core.automata.tables import EagerTables, Tables

__all__ = ["EagerIdentities", "Identities"]

class Identities:
    def __init__(self, tables: Tables, key: bytes) -> None: ...
    def __getitem__(self, state: int) -> bytes: ...

class EagerIdentities(Identities):
    def __init__(self, tables: EagerTables, key: bytes) -> None: ...
