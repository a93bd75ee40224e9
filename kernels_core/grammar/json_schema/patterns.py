"""The name under which this room knows `..regular.patterns`."""

from ..regular.patterns import *  # noqa: F403
