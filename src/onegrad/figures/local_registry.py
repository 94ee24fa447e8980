"""Registries of what only the process that draws needs: kinds, panels, studies."""

from __future__ import annotations

from typing import TypeVar

from onegrad.describe.registry import Entry, Registry

T = TypeVar("T")


class LocalRegistry(Registry[T]):
    """A registry that workers do not learn of: they compute rows and draw nothing.

    So a kind may use what workers do not have, and need not be sent to them.
    """

    def added(self) -> dict[str, Entry[T]]:
        """Return nothing to send to workers."""
        return {}
