"""The name under which this room knows `..rulebook`."""

from ..rulebook import *  # noqa: F403
