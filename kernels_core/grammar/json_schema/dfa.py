"""The name under which this room knows `..regular.dfa`."""

from ..regular.dfa import *  # noqa: F403
