from collections.abc import Callable, Collection

__all__ = ["DeferrableSchemas", "Spelling"]

class Spelling:
    @property
    def avoid(self) -> tuple[str, ...]: ...
    def __init__(
        self, avoid: tuple[str, ...], special: str, closes_with_names: bool, keeps_clear: Callable[[str, str], bool]
    ) -> None: ...

class DeferrableSchemas:
    @property
    def root(self) -> object: ...
    @property
    def keywords(self) -> Collection[str]: ...
    @property
    def strict(self) -> bool: ...
    def __init__(
        self,
        root: object,
        keywords: Collection[str],
        *,
        pointers: bool | Callable[[], bool],
        strict: bool,
        identifier: str | None = None,
        named: bool | Callable[[], bool] = True,
        ref_alone: bool = False,
        tuples: bool = False,
        spelling: Spelling | None = None,
    ) -> None: ...
    def renew(self, root: object) -> None: ...
    def holds(self, schema: object) -> bool: ...
    def reason(self, schema: object) -> str: ...
    def followed(self, schema: object) -> object: ...
