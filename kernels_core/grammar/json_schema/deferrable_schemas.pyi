from collections.abc import Callable

from .dialect import Dialect

__all__ = ["UNSET", "DeferrableSchemas", "Spelling", "is_pointer", "pointed"]

UNSET: object

def is_pointer(reference: str) -> bool: ...
def pointed(root: object, pointer: str) -> object: ...

class Spelling:
    @property
    def avoid(self) -> tuple[str, ...]: ...
    def __init__(
        self, avoid: tuple[str, ...], special: str, closes_with_names: bool, keeps_clear: Callable[[str, str], bool]
    ) -> None: ...

class DeferrableSchemas:
    def __init__(
        self,
        root: object,
        dialect: Dialect,
        *,
        pointers: bool | Callable[[], bool],
        strict: bool,
        named: bool | Callable[[], bool] = True,
        spelling: Spelling | None = None,
        loose: bool = False,
    ) -> None: ...
    def renew(self, root: object) -> None: ...
    def holds(self, schema: object) -> bool: ...
    def followed(self, schema: object) -> object: ...
    def waiting(self, word: str, options: list[object]) -> list[object]: ...
