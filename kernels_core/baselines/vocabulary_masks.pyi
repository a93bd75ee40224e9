from kernels_core.masks.cache import MaskCache

__all__ = ["FsmMasks", "NaiveMasks"]

class NaiveMasks(MaskCache): ...

class FsmMasks(MaskCache):
    def precompute(self) -> None: ...
