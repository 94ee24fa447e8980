"""The server as a user starts and ends it, and clients that try to keep it from others."""

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest
from explorer_cases import TOKEN, alive, explorer_client, state_of
from uvicorn.protocols.http.h11_impl import H11Protocol

import onegrad
from onegrad.describe.exceptions import InvalidInput
from onegrad.explorer import server
from onegrad.explorer.server import MOST_SIMULATIONS, AnswerCache

COMMAND = [sys.executable, "-c", "from onegrad.cli.main import main; main()", "explore"]


def children_of(pid):
    """Return the processes that a process has started."""
    listed = Path(f"/proc/{pid}/task/{pid}/children")
    own = [p for t in listed.parent.parent.iterdir() for p in (t / "children").read_text().split()]
    return [int(child) for child in own]


def ask(host, token, document):
    """Return the answer to a request for a curve."""
    request = urllib.request.Request(
        f"{host}/api/curve", json.dumps(document).encode(), {"X-Onegrad-Token": token}
    )
    return json.load(urllib.request.urlopen(request, timeout=60))


def posted(port, path, document, *, token=TOKEN, **headers):
    """Return the bytes of a request, for a connection of one's own."""
    body = json.dumps(document).encode()
    said = {"Host": f"127.0.0.1:{port}", "X-Onegrad-Token": token, "Content-Length": len(body)}
    lines = [f"{name.replace('_', '-')}: {value}" for name, value in (said | headers).items()]
    head = "\r\n".join([f"POST {path} HTTP/1.1", *lines, "", ""])
    return head.encode() + body


def received(connection, end):
    """Return what comes until `end`, which must come."""
    content = b""
    while end not in content:
        part = connection.recv(65_536)
        assert part, content
        content += part
    return content


def until(condition):
    """Wait until a condition holds, half a minute at the most."""
    for _ in range(300):
        if condition():
            return
        time.sleep(0.1)
    raise AssertionError("it did not come to hold")


# By types at this size a curve takes minutes: it cannot end before someone ends it.
ENDLESS = {"training.steps": 3, "dimension": 2000, "readout.samples": 2000}


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs /proc to count processes")
@pytest.mark.parametrize(
    "number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)]
)
def test_a_signal_closes_it_and_no_worker_stays(tmp_path, number):
    process = subprocess.Popen(
        [*COMMAND, "--no-browser", "--dimension", "100", "--samples", "100"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
    )
    try:
        address = re.search(r"http://\S+", process.stdout.readline()).group()
        host, token = address.split("/?token=")
        assert len(ask(host, token, {"points": 3})["x"]) == 3
        port = int(host.rpartition(":")[2])
        slow = posted(port, "/api/curve", {"state": {"problem": ENDLESS}}, token=token)
        with socket.create_connection(("127.0.0.1", port), timeout=60) as waiting:
            waiting.sendall(slow)
            ask(host, token, {"points": 2})  # answered, so the request before it was read
            workers = children_of(process.pid)
            assert len(workers) >= 2
            process.send_signal(number)
            assert received(waiting, b"}").endswith(
                b'closing; start onegrad explore again"}'
            )  # not cut off
        _, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 0, err
    assert err == ""
    until(lambda: not [pid for pid in workers if alive(pid)])
    assert list(tmp_path.iterdir()) == []  # nothing was written


def test_a_port_that_is_taken_is_one_line():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(InvalidInput, match=f"port={port}: .*; choose another"):
            onegrad.explore(port=port, browser=False)


@pytest.mark.parametrize("port", [-1, 70_000, "80"])
def test_a_port_that_is_none_is_one_line(port):
    with pytest.raises(InvalidInput, match=f"port={port!r}: must "):
        onegrad.explore(port=port, browser=False)


def test_what_is_no_problem_is_one_line():
    with pytest.raises(InvalidInput, match="problem=5: must be a Problem"):
        onegrad.explore(5)


def test_a_missing_server_names_the_command_that_installs_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    with pytest.raises(InvalidInput) as refused:
        onegrad.explore(browser=False)
    assert "pip install 'onegrad[explore]'" in str(refused.value)


def test_small_answers_are_sent_at_once(monkeypatch):
    # Else the body of an answer waits 40 ms until the browser acknowledges its head.
    at_once = []
    made = H11Protocol.connection_made

    def noted(self, transport):
        accepted = transport.get_extra_info("socket")
        at_once.append(accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        made(self, transport)

    monkeypatch.setattr(H11Protocol, "connection_made", noted)
    with explorer_client() as client:
        assert client.get("/api/controls").status_code == 200
    assert at_once
    assert all(at_once)


def test_garbage_in_place_of_http_is_answered_and_forgotten():
    with explorer_client() as client:
        for garbage in (b"\x16\x03\x01\x02\x00\x01", b"GET\r\n\r\n", b"\x00" * 70_000):
            with client.connect() as connection:
                connection.sendall(garbage)
                connection.shutdown(socket.SHUT_WR)
                answer = connection.recv(1000)
                assert answer == b"" or b"400" in answer.split(b"\r\n")[0]
        assert client.get("/api/controls").status_code == 200


LONG = {"state": state_of(), "points": 24, "trials": 32}  # a simulation that takes long


def test_a_simulation_ends_with_its_client():
    with explorer_client() as client:

        def taken():
            with client.connect() as connection:
                connection.sendall(posted(client.port, "/api/simulate", LONG))
                return b"200" in connection.recv(1000).split(b"\r\n")[0]

        for _ in range(MOST_SIMULATIONS + 1):
            until(taken)


def test_at_most_a_few_workers_are_started():
    assert 2 <= server.worker_count() <= server.MOST_WORKERS


def test_work_of_a_client_that_has_gone_is_given_up():
    with explorer_client() as client:
        for _ in range(40):  # more than may be at work
            with client.connect() as connection:
                connection.sendall(posted(client.port, "/api/curve", {"state": state_of(ENDLESS)}))
                assert client.get("/api/controls").status_code == 200
        until(lambda: client.post("/api/curve", json={"state": state_of()}).status_code == 200)


def test_what_was_asked_before_is_not_computed_again():
    calls = []

    async def work():
        calls.append(1)
        return {"value": len(calls)}

    async def main():
        cache = AnswerCache(most=2)
        first = {"state": {"problem": {"a": 1, "b": 2}}, "points": 8}
        same = {"points": 8, "state": {"problem": {"b": 2, "a": 1}}}
        assert await cache.answer("curve", first, work) == {"value": 1}
        assert await cache.answer("curve", same, work) == {"value": 1}
        assert await cache.answer("map", same, work) == {"value": 2}
        assert await cache.answer("curve", {**first, "points": 60}, work) == {"value": 3}
        assert await cache.answer("curve", same, work) == {"value": 4}  # it was the oldest

    asyncio.run(main())


def test_a_refusal_is_not_cached():
    async def refuse():
        raise InvalidInput("x=1: must be 2; change it")

    async def work():
        return {"value": 1}

    async def main():
        cache = AnswerCache()
        with pytest.raises(InvalidInput):
            await cache.answer("curve", {}, refuse)
        assert await cache.answer("curve", {}, work) == {"value": 1}

    asyncio.run(main())
