"""The theory that verbs use unless said; imports nothing, so that `onegrad --help` stays quick."""

from __future__ import annotations

from typing import Final

DEFAULT_METHOD: Final = "single"
