"""Digests: what names a value by its contents. The only place that hashes."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np
from numpy.typing import NDArray


def digest(value: Any) -> str:
    """Return the SHA-256 of a plain value's canonical JSON, in hexadecimal."""
    return digest_of_bytes(canonical(value).encode())


def digest_of_bytes(*parts: Any) -> str:
    """Return the SHA-256 of bytes or buffers, one after the other, in hexadecimal."""
    hasher = hashlib.sha256()
    for part in parts:
        hasher.update(part)
    return hasher.hexdigest()


def digest_of_array(array: NDArray[np.float64]) -> str:
    """Return "sha256:…" of the shape and the little-endian float64 bytes."""
    contents = np.ascontiguousarray(array, dtype="<f8").tobytes()
    return "sha256:" + digest_of_bytes(repr(array.shape).encode(), contents)


def checksum_of_text(text: str) -> str:
    """Return the short digest of a text to the letter; what UTF-8 cannot say counts too."""
    return checksum_of_bytes(text.encode(errors="surrogatepass"))


def checksum_of_bytes(data: bytes) -> str:
    """Return the short digest of bytes."""
    return hashlib.blake2b(data, digest_size=8).hexdigest()


def canonical(value: Any) -> str:
    """Return the one JSON text of a plain value: keys sorted, no spaces, finite numbers."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
