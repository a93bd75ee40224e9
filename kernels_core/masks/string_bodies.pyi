from typing import Final

class BodyPool:
    @property
    def made(self) -> int: ...

class StringBodies:
    shared: Final[BodyPool]
