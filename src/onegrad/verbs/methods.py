"""The ways of theory; imports nothing, so that `onegrad --help` stays quick."""

from __future__ import annotations

from typing import Literal, get_args

Method = Literal["single", "types", "full_types"]
METHODS: tuple[Method, ...] = get_args(Method)
DEFAULT_METHOD: Method = "types"
