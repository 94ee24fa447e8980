"""Processes by more than their number, which the system gives to others later."""

from __future__ import annotations

import os
import socket
from pathlib import Path

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
NAMESPACE = Path("/proc/self/ns/pid")
_GONE = ("Z", "X")  # states of a process that has ended and waits to be noticed


def this_machine() -> str:
    """Return what tells this machine, boot and space of process numbers from others."""
    boot = BOOT_ID.read_text().strip() if BOOT_ID.exists() else ""
    space = str(NAMESPACE.readlink()) if NAMESPACE.exists() else ""
    return " ".join(part for part in (socket.gethostname(), boot, space) if part)


def start_of(process: int) -> str | None:
    """Return when a process began, in the system's ticks; None where the system does not say."""
    fields = _state_fields(process)
    return None if fields is None else fields[19]


def is_running(process: int, start: str | None) -> bool | None:
    """Return whether the process of that number and start runs here; None when unknown."""
    if os.name != "posix":
        return None
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # another user's, and there
        pass
    fields = _state_fields(process)
    if fields is None or start is None:
        return None
    return fields[0] not in _GONE and fields[19] == start


def _state_fields(process: int) -> list[str] | None:
    """Return the fields of /proc/N/stat from the state on, which is the third; None without."""
    try:
        text = Path(f"/proc/{process}/stat").read_text(errors="replace")
    except OSError:
        return None
    return text.rpartition(")")[2].split()
