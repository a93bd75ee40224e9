from enum import IntEnum

class Quick(IntEnum):
    NEVER = 0
    NOTE = 1
    SAME = 2
    TYPE = 3
    ONE_CONSTANT = 4
    CONSTANTS = 5
    OPTIONS = 6
    MEMBERS = 7
    NAMES = 8
    OTHER_MEMBERS = 9
    PATTERNS = 10
    ITEMS = 11
    OTHER_ITEMS = 12
    ITEM_COUNT = 13
    LENGTH = 14
    PATTERN = 15
    FORMAT = 16
    BOUND = 17
    FALSE_ALONE = 18

class QuickTable:
    idle: frozenset[str]
    def __init__(self, entries: tuple[object, ...]) -> None: ...
