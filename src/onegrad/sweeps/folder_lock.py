"""An advisory lock that admits one driver to a folder, and that a dead driver does not keep.

The lock is a file that names its driver: machine, process, start. It appears whole, by a hard link
that fails if the file exists, or by exclusive creation on file systems without links; both are
atomic on network file systems, on which locks of the system need not be. On the same machine the
process shows whether the driver is alive; on other machines its heartbeat does, by the clock of the
file system.
"""

from __future__ import annotations

import os
import secrets
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from onegrad.describe.files import seal, unseal
from onegrad.sweeps.store import StoreError

NAME = "driver.lock"
FORMAT = 1
BEAT_SECONDS = 15.0
SILENT_SECONDS = 180.0  # without a heartbeat; attributes of network files may be a minute old
GUARD_SECONDS = 20.0  # removing a lock takes milliseconds; an older guard was left by a kill
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
NAMESPACE = Path("/proc/self/ns/pid")
ENDED = ("Z", "X")  # states of a process that has ended but is still listed


class StoreBusy(StoreError):
    """Another driver is writing to the folder."""


@dataclass(frozen=True)
class Holder:
    """The driver that holds a lock; `token` distinguishes locks of one process."""

    machine: str
    process: int
    start: str | None
    since: str
    token: str


@contextmanager
def hold(directory: Path) -> Iterator[Heartbeat]:
    """Hold the folder's lock inside the block; raise StoreBusy if a live driver has it."""
    path = directory / NAME
    now = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime())
    process = os.getpid()
    own = Holder(this_machine(), process, start_of(process), now, secrets.token_hex(8))
    try:
        while not _place(path, own):
            require_free(directory)
            _remove_stale(path)
    except OSError as error:
        raise StoreError(
            f"out={str(directory)!r}: cannot be locked ({error.strerror}); check the folder"
        ) from None
    beat = Heartbeat(path, own)
    try:
        yield beat
    finally:
        beat.end()
        if _holder(path) == own:
            path.unlink(missing_ok=True)


def require_free(directory: Path) -> None:
    """Raise StoreBusy if a live driver holds the folder's lock."""
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
    """A thread that renews the lock's time; `lost` once another driver has taken the lock."""

    def __init__(self, path: Path, own: Holder) -> None:
        self._path, self._own = path, own
        self._over = threading.Event()
        self.lost = False
        self._thread = threading.Thread(target=self._beat, daemon=True)
        self._thread.start()

    def _beat(self) -> None:
        while not self._over.wait(BEAT_SECONDS):
            holder = _holder(self._path)
            self.lost = holder is not None and holder != self._own
            if holder == self._own:
                with suppress(OSError):  # the next beat may succeed
                    os.utime(self._path)

    def end(self) -> None:
        """Stop beating."""
        self._over.set()
        self._thread.join()


def _place(path: Path, own: Holder) -> bool:
    """Return whether the lock is now ours: it appears with its contents, or not at all."""
    part = path.with_name(f".{path.name}-{own.token}")
    part.write_text(seal(asdict(own), FORMAT), "utf-8")
    try:
        os.link(part, path)
    except FileExistsError:
        # A network file system may have made the link and lost the answer.
        return part.stat().st_nlink == 2 and _holder(path) == own
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
    """Remove the lock if its driver is dead; a guard file lets one process check at a time."""
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


def _holder(path: Path) -> Holder | None:
    """Return the holder of the lock; None without a lock, or if it cannot be read."""
    try:
        return Holder(**unseal(path.read_text("utf-8", errors="replace"), FORMAT))
    except (OSError, ValueError, TypeError):  # damaged, or not written by this package
        return None


def _is_held(path: Path) -> bool:
    """Return whether there is a lock of a driver that is, or may be, alive."""
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
    except OSError:  # cannot be determined: assume that the driver is alive
        return 0.0
    finally:
        probe.unlink(missing_ok=True)


def this_machine() -> str:
    """Return a name of this machine, its boot and its namespace of process numbers."""
    boot = BOOT_ID.read_text().strip() if BOOT_ID.exists() else ""
    space = str(NAMESPACE.readlink()) if NAMESPACE.exists() else ""
    return " ".join(part for part in (socket.gethostname(), boot, space) if part)


def start_of(process: int) -> str | None:
    """Return when a process began, in the system's ticks; None if unknown."""
    fields = _process_fields(process)
    return None if fields is None else fields[19]


def is_running(process: int, start: str | None) -> bool | None:
    """Return whether the process with this number and start runs here; None if unknown."""
    if os.name != "posix":
        return None
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # it exists and belongs to another user
        pass
    fields = _process_fields(process)
    if fields is None or start is None:
        return None
    return fields[0] not in ENDED and fields[19] == start


def _process_fields(process: int) -> list[str] | None:
    """Return the fields of /proc/N/stat from the third on, which is the state; None without."""
    try:
        line = Path(f"/proc/{process}/stat").read_text(errors="replace")
    except OSError:
        return None
    return line.rpartition(")")[2].split()
