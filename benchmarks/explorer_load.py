"""What the explorer does under load: good, bad and hostile clients at once, on this machine alone.

    python benchmarks/explorer_load.py                    # 10,000 requests from 20 clients
    python benchmarks/explorer_load.py --requests 1000

Starts a server of its own and sends requests to 127.0.0.1: valid drafts and controls, invalid
fields, wrong tokens, foreign origins and hosts, bodies of 10 MB, NaN, deep JSON, heads and bodies
that never end, and what is not HTTP. Prints how they were answered, the answers of status 500
(there must be none), how long a valid draft takes before and during the load, and the memory of
server and workers before and after.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

LOOPBACK = "127.0.0.1"
SECONDS = 30.0  # of one request
MOST_SECONDS = 900.0  # of all
LARGE = b"x" * 10_000_000
GOLDEN = 0.6180339887  # no slider position comes twice: answers are remembered
SILENCE = 0.2  # that a slow client keeps up


@dataclass
class Tally:
    """Answers and times, shared by all clients."""

    answers: Counter[str] = field(default_factory=Counter)
    drafts: list[float] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, kind: str, status: object, seconds: float | None = None) -> None:
        """Count one answer."""
        with self.lock:
            self.answers[f"{kind}: {status}"] += 1
            if seconds is not None:
                self.drafts.append(seconds)


@dataclass(frozen=True)
class LoadClient:
    """One client of the server: what it sends is drawn from its seed."""

    port: int
    token: str
    seed: int
    tally: Tally

    def send(self, count: int, until: float) -> None:
        """Send requests until there are `count`, or time is over."""
        draws = random.Random(self.seed)
        kinds = list(KINDS)
        for turn in range(count):
            if time.monotonic() > until:
                return
            kind = draws.choices(kinds, weights=[weight for weight, _ in KINDS.values()])[0]
            try:
                KINDS[kind][1](self, draws, turn)
            except (OSError, http.client.HTTPException) as error:
                self.tally.add(kind, f"closed ({type(error).__name__})")

    def post(
        self,
        kind: str,
        body: bytes,
        headers: dict[str, str] | None = None,
        path: str = "/api/curve",
    ) -> float:
        """Count the answer to a body; return how long it took."""
        started = time.perf_counter()
        connection = http.client.HTTPConnection(LOOPBACK, self.port, timeout=SECONDS)
        try:
            sent = {"X-Onegrad-Token": self.token, **(headers or {})}
            connection.request("POST", path, body, sent)
            answer = connection.getresponse()
            answer.read()
        finally:
            connection.close()
        seconds = time.perf_counter() - started
        self.tally.add(kind, answer.status, seconds if kind == "draft" else None)
        return seconds

    def bare(self, kind: str, content: bytes) -> None:
        """Send bytes, keep silent for a while, and leave."""
        with socket.create_connection((LOOPBACK, self.port), timeout=SECONDS) as connection:
            connection.sendall(content)
            time.sleep(SILENCE)
        self.tally.add(kind, "left")

    @property
    def head(self) -> bytes:
        """The head of a request whose body has 99 bytes."""
        return (
            f"POST /api/curve HTTP/1.1\r\nHost: {LOOPBACK}:{self.port}\r\n"
            f"X-Onegrad-Token: {self.token}\r\nContent-Length: 99\r\n\r\n"
        ).encode()


def _draft(client: LoadClient, draws: random.Random, _turn: int) -> None:
    client.post("draft", draft_body(draws.uniform(0.2, 0.9)))


def draft_body(strength: float) -> bytes:
    """Return the request for a draft of two models at n = 1000."""
    state = {"problem": {"scaling.strength": strength}, "models": ["network", "hermite:3"]}
    return json.dumps({"state": state, "points": 8, "draft": True}).encode()


def _invalid(client: LoadClient, draws: random.Random, _turn: int) -> None:
    bodies = [
        {"state": {"problem": {"scaling.strength": 7}}},
        {"state": {"problem": {"no.such.field": 1}}},
        {"state": {"axis": "nothing"}},
        {"state": {"models": ["nobody"]}},
        {"points": -3},
        {"state": {"problem": {"data.file": "/etc/passwd"}}},
    ]
    client.post("invalid", json.dumps(draws.choice(bodies)).encode())


# Weight and sender of every kind of request.
KINDS = {
    "draft": (10, _draft),
    "controls": (20, lambda c, d, t: c.post("controls", b"{}", path="/api/controls")),
    "invalid": (20, _invalid),
    "wrong token": (10, lambda c, d, t: c.post("wrong token", b"{}", {"X-Onegrad-Token": "x"})),
    "foreign origin": (
        10,
        lambda c, d, t: c.post("foreign origin", b"{}", {"Origin": "http://evil.example"}),
    ),
    "foreign host": (5, lambda c, d, t: c.post("foreign host", b"{}", {"Host": "evil.example"})),
    "10 MB": (2, lambda c, d, t: c.post("10 MB", LARGE)),
    "NaN": (8, lambda c, d, t: c.post("NaN", b'{"points": NaN}')),
    "deep JSON": (8, lambda c, d, t: c.post("deep JSON", b"[" * 30_000 + b"]" * 30_000)),
    "slow head": (2, lambda c, d, t: c.bare("slow head", c.head[: d.randrange(5, 40)])),
    "slow body": (2, lambda c, d, t: c.bare("slow body", c.head + b"{")),
    "not HTTP": (3, lambda c, d, t: c.bare("not HTTP", d.randbytes(300))),
}


def memory_of(pid: int) -> float:
    """Return the resident memory of a process and its children in MB."""
    own = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    listed = [task / "children" for task in Path(f"/proc/{pid}/task").iterdir()]
    children = [int(child) for path in listed for child in path.read_text().split()]
    return (int(own.group(1)) / 1024 if own else 0.0) + sum(memory_of(child) for child in children)


def quantiles(seconds: list[float]) -> str:
    """Return median and 95 % of times in milliseconds."""
    ordered = sorted(seconds)
    if not ordered:
        return "none"
    at = [1000 * ordered[min(len(ordered) - 1, int(q * len(ordered)))] for q in (0.5, 0.95)]
    return f"median {at[0]:.0f} ms, 95 % {at[1]:.0f} ms ({len(ordered)} drafts)"


def probe(port: int, token: str) -> None:
    """Ask for drafts one after the other, as a page does, until stdin ends; print the times."""
    client, seconds, turn = LoadClient(port, token, -1, Tally()), list[float](), 0
    ended = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
    while not ended.is_set():
        turn += 1
        seconds.append(client.post("page", draft_body(0.3 + 0.6 * (GOLDEN * turn % 1))))
        ended.wait(0.1)
    print(json.dumps(seconds))


def started_server() -> tuple[subprocess.Popen[str], int, str]:
    """Return a server of its own, with port and token."""
    command = [sys.executable, "-c", "from onegrad.cli.main import main; main()"]
    server = subprocess.Popen(
        [*command, "explore", "--no-browser"], stdout=subprocess.PIPE, text=True
    )
    assert server.stdout is not None
    address = re.search(r":(\d+)/\?token=(\S+)", server.stdout.readline())
    assert address is not None
    return server, int(address.group(1)), address.group(2)


def run_load(port: int, token: str, requests: int, clients: int) -> tuple[Tally, list[float]]:
    """Return how all requests were answered, and how long a page's drafts took meanwhile."""
    tally, until = Tally(), time.monotonic() + MOST_SECONDS
    senders = [
        threading.Thread(
            target=LoadClient(port, token, seed, tally).send, args=(requests // clients, until)
        )
        for seed in range(clients)
    ]
    # A process of its own: threads of this one would wait for each other.
    page = subprocess.Popen(
        [sys.executable, __file__, "--probe", str(port), token],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    for thread in senders:
        thread.start()
    for thread in senders:
        thread.join()
    out, _ = page.communicate("")
    return tally, json.loads(out)


def main() -> None:
    """Print answers, times and memory."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--clients", type=int, default=20)
    parser.add_argument("--drafts", type=int, default=10, help="Drafts among 100 requests.")
    parser.add_argument("--probe", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.probe:
        probe(int(options.probe[0]), options.probe[1])
        return
    KINDS["draft"] = (options.drafts, _draft)
    server, port, token = started_server()
    try:
        quiet = Tally()
        page = LoadClient(port, token, -1, quiet)
        before = [page.post("before", draft_body(0.3 + 0.01 * i)) for i in range(40)][10:]
        start, memory = time.perf_counter(), memory_of(server.pid)
        tally, during = run_load(port, token, options.requests, options.clients)
        wall = time.perf_counter() - start
        after = [page.post("after", draft_body(0.305 + 0.01 * i)) for i in range(30)]
        left = memory_of(server.pid)
    finally:
        server.send_signal(signal.SIGTERM)
        code = server.wait(60)
    for kind, count in sorted(tally.answers.items()):
        print(f"{count:6d}  {kind}")
    total = sum(tally.answers.values())
    wrong = sum(count for kind, count in tally.answers.items() if kind.endswith(": 500"))
    print(f"{total} requests of {options.clients} clients in {wall:.0f} s, status 500: {wrong}")
    print(f"a page's draft before: {quantiles(before)}")
    print(f"a page's draft during: {quantiles(during)}")
    print(f"a page's draft after:  {quantiles(after)}")
    print(f"memory of server and workers: {memory:.0f} MB before, {left:.0f} MB after")
    print(f"exit code on SIGTERM: {code}; load of the machine: {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
