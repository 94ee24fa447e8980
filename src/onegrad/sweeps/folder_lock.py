"""One driver at a time in a folder: an advisory lock that a dead driver does not keep.

The lock is a file that names its driver: machine, process, start. It appears whole, by a hard link
that fails where there is one, or by exclusive creation where links are unknown; both hold on
network file systems, on which locks of the system need not. On the same machine the process tells
whether the driver lives; on others its heartbeat does, by the clock of the file system.
"""

from __future__ import annotations

import os
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from onegrad.describe.files import seal, unseal
from onegrad.machine.pool import is_running, start_of, this_machine
from onegrad.sweeps.store import StoreError

NAME = "driver.lock"
FORMAT = 1
BEAT_SECONDS = 15.0
SILENT_SECONDS = 180.0  # without a heartbeat; the attributes of network files may be a minute old
GUARD_SECONDS = 20.0  # a taking over lasts milliseconds; a guard of this age was left by a kill


class StoreBusy(StoreError):
    """Another driver is writing to the folder."""


@dataclass(frozen=True)
class Holder:
    """Who holds a lock: `token` tells the locks of one process apart."""

    machine: str
    process: int
    start: str | None
    since: str
    token: str


@contextmanager
def hold(directory: Path) -> Iterator[Heartbeat]:
    """Hold the folder's lock meanwhile; raise StoreBusy where a live driver has it."""
    path = directory / NAME
    now = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime())
    process = os.getpid()
    me = Holder(this_machine(), process, start_of(process), now, secrets.token_hex(8))
    try:
        while not _place(path, me):
            require_free(directory)
            _remove_stale(path)
    except OSError as error:
        raise StoreError(
            f"out={str(directory)!r}: cannot be locked ({error.strerror}); check the folder"
        ) from None
    beat = Heartbeat(path, me)
    try:
        yield beat
    finally:
        beat.end()
        if _holder(path) == me:
            path.unlink(missing_ok=True)


def require_free(directory: Path) -> None:
    """Raise StoreBusy where a live driver holds the folder's lock."""
    path = directory / NAME
    if not _is_held(path):
        return
    holder = _holder(path)
    who = "another driver"
    if holder is not None:
        host = holder.machine.partition(" ")[0]
        who = f"process {holder.process} on {host} since {holder.since}"
    raise StoreBusy(
        f"out={str(directory)!r}: {who} is computing there, and both would compute the same "
        f"trials; wait for it, or remove {NAME} in it if that process is gone"
    )


class Heartbeat:
    """A thread that renews the lock's time; `lost` once another driver has taken the lock over."""

    def __init__(self, path: Path, me: Holder) -> None:
        self._path, self._me = path, me
        self._over = threading.Event()
        self.lost = False
        self._thread = threading.Thread(target=self._beat, daemon=True)
        self._thread.start()

    def _beat(self) -> None:
        while not self._over.wait(BEAT_SECONDS):
            holder = _holder(self._path)
            self.lost = holder is not None and holder != self._me
            if holder == self._me:
                with suppress(OSError):  # the next one may come through
                    os.utime(self._path)

    def end(self) -> None:
        """Beat no more."""
        self._over.set()
        self._thread.join()


def _holder(path: Path) -> Holder | None:
    """Return who holds the lock; None where there is none, or one that cannot be read."""
    try:
        return Holder(**unseal(path.read_text("utf-8", errors="replace"), FORMAT))
    except (OSError, ValueError, TypeError):  # a lock that is no record of ours is damaged
        return None


def _is_held(path: Path) -> bool:
    """Return whether there is a lock of a driver that lives, or may live."""
    holder = _holder(path)
    if holder is not None and holder.machine == this_machine():
        alive = is_running(holder.process, holder.start)
        if alive is not None:
            return alive
    age = _age(path)
    return age is not None and age < SILENT_SECONDS


def _age(path: Path) -> float | None:
    """Return the seconds since the file was renewed, by the file system's clock; None without."""
    probe = path.with_name(f".probe-{secrets.token_hex(4)}")
    try:
        probe.touch()
        now = probe.stat().st_mtime
        with path.open("rb") as file:  # opening makes a network file system ask its server
            return now - os.fstat(file.fileno()).st_mtime
    except FileNotFoundError:
        return None
    except OSError:  # not to be told: its driver may live
        return 0.0
    finally:
        probe.unlink(missing_ok=True)


def _place(path: Path, me: Holder) -> bool:
    """Return whether the lock is ours now: it appears with its contents, or not at all."""
    part = path.with_name(f".{path.name}-{me.token}")
    part.write_text(seal(asdict(me), FORMAT), "utf-8")
    try:
        os.link(part, path)
    except FileExistsError:
        # A network file system may have made the link and lost the answer.
        return part.stat().st_nlink == 2 and _holder(path) == me
    except OSError:  # no hard links here
        return _place_without_links(path, part.read_bytes())
    finally:
        part.unlink(missing_ok=True)
    return True


def _place_without_links(path: Path, contents: bytes) -> bool:
    try:
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    except FileExistsError:
        return False
    with os.fdopen(file, "wb") as opened:
        opened.write(contents)
    return True


def _remove_stale(path: Path) -> None:
    """Remove the lock if its driver is dead; of several that try, one at a time looks again."""
    guard = path.with_name(f"{path.name}.guard")
    if not _place_without_links(guard, b""):
        age = _age(guard)
        if age is not None and age > GUARD_SECONDS:
            guard.unlink(missing_ok=True)
        time.sleep(0.05)
        return
    try:
        if not _is_held(path):
            path.unlink(missing_ok=True)
    finally:
        guard.unlink(missing_ok=True)
