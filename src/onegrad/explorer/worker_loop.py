"""What runs inside a worker process of the explorer: calls from stdin, answers to stdout.

A message is eight bytes of length and a pickle. Both ends are one program: the server starts the
worker and nobody else can write to its pipes.
"""

from __future__ import annotations

import os
import pickle
import struct
import sys
import threading
import time
import traceback
import warnings
from typing import Any, BinaryIO

LENGTH = struct.Struct("<Q")
LOOK_FOR_PARENT_SECONDS = 1.0
LEAST_BYTES, SHARE = 2e9, 0.5  # of the machine's memory, for one worker


def packed(message: Any) -> bytes:
    """Return a message as bytes, functions and classes that users made by value."""
    from joblib.externals.loky.backend.reduction import dumps

    content = bytes(dumps(message))
    return LENGTH.pack(len(content)) + content


def _read(stream: BinaryIO) -> Any:
    """Return the next message; raise EOFError where the server has gone."""
    head = stream.read(LENGTH.size)
    if len(head) < LENGTH.size:
        raise EOFError
    content = stream.read(LENGTH.unpack(head)[0])
    return pickle.loads(content)


def answer(function: Any, arguments: tuple[Any, ...]) -> tuple[str, Any]:
    """Return ("value", result), or what went wrong: ("invalid" or "failed", one line)."""
    from onegrad.describe.exceptions import Failure, InvalidInput

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return "value", function(*arguments)
    except InvalidInput as error:
        return "invalid", str(error)
    except Failure as error:
        return "failed", str(error)
    except MemoryError:
        return "failed", "memory: is not enough for this setting; lower dimension or samples"
    except Exception as error:
        # The server stays up whatever a setting meets; the terminal has the traceback.
        traceback.print_exc(file=sys.stderr)
        return "failed", f"{type(error).__name__}: {' '.join(str(error).split())}; see the terminal"


def main() -> None:
    """Answer calls until the server closes the pipe."""
    calls, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a user's function prints must not mix with answers
    parent = os.getppid()
    threading.Thread(target=_leave_with, args=(parent,), daemon=True).start()
    try:
        niceness, known = _read(calls)
        os.nice(niceness)
        _limit_memory()
        from onegrad.describe.registry import adopt

        adopt(known)
        while True:
            function, arguments = _read(calls)
            answers.write(packed(answer(function, arguments)))
            answers.flush()
    except (EOFError, BrokenPipeError, KeyboardInterrupt):
        return


def _limit_memory() -> None:
    """Let a setting that needs too much memory fail by itself, not the machine."""
    try:
        import resource
    except ImportError:  # another system than Unix: the server's time limit remains
        return
    from onegrad.machine.memory import machine_bytes

    limit = max(LEAST_BYTES, SHARE * machine_bytes())
    if limit < float("inf"):
        resource.setrlimit(
            resource.RLIMIT_AS, (int(limit), resource.getrlimit(resource.RLIMIT_AS)[1])
        )


def _leave_with(parent: int) -> None:
    """Leave soon after the server has died, however it died."""
    while os.getppid() == parent:
        time.sleep(LOOK_FOR_PARENT_SECONDS)
    os._exit(1)


if __name__ == "__main__":
    main()
