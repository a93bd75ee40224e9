from typing import Final

from kernels_core.earley.machine import Machine

class Lookahead:
    machine: Final[Machine]
    def __init__(self, machine: Machine) -> None: ...
