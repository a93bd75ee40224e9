"""The name under which this room knows `..regular.graph`."""

from ..regular.graph import *  # noqa: F403
