from collections.abc import Callable, Collection

__all__ = ["DeferrableSchemas"]

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
    ) -> None: ...
    def renew(self, root: object) -> None: ...
    def holds(self, schema: object) -> bool: ...
    def reason(self, schema: object) -> str: ...
    def followed(self, schema: object) -> object: ...
