"""The server as a user starts and ends it, and clients that try to keep it from others."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path

import pytest
from explorer_cases import TOKEN, explorer_client, state_of

import onegrad
from onegrad.describe.exceptions import InvalidInput
from onegrad.explorer import guard, opening, patience

COMMAND = [sys.executable, "-c", "from onegrad.cli.main import main; main()", "explore"]


def children_of(pid):
    """Return the processes that a process has started."""
    listed = Path(f"/proc/{pid}/task/{pid}/children")
    own = [p for t in listed.parent.parent.iterdir() for p in (t / "children").read_text().split()]
    return [int(child) for child in own]


def ask(host, token, document, answers):
    """Add the answer to a request for a curve."""
    request = urllib.request.Request(
        f"{host}/api/curve", json.dumps(document).encode(), {"X-Onegrad-Token": token}
    )
    answers.append(json.load(urllib.request.urlopen(request, timeout=60)))


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs /proc to count processes")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
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
        first, late = [], []
        ask(host, token, {"points": 3}, first)
        assert len(first[0]["x"]) == 3
        sizes = {"training.steps": 3, "dimension": 4000, "readout.samples": 4000}
        slow = {"state": {"problem": sizes}}  # minutes, were it not for the signal
        waiting = threading.Thread(target=ask, args=(host, token, slow, late))
        waiting.start()
        time.sleep(1)
        workers = children_of(process.pid)
        assert len(workers) >= 2
        process.send_signal(number)
        _, err = process.communicate(timeout=60)
    finally:
        process.kill()
    waiting.join()
    assert late == [{"overtaken": True}]  # who waits is answered, not cut off
    assert process.returncode == 0, err
    assert err == ""
    assert not [pid for pid in workers if Path(f"/proc/{pid}").exists()]
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
    made = patience.PatientProtocol.connection_made

    def noted(self, transport):
        accepted = transport.get_extra_info("socket")
        at_once.append(accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        made(self, transport)

    monkeypatch.setattr(patience.PatientProtocol, "connection_made", noted)
    with explorer_client() as client:
        assert client.get("/api/controls").status_code == 200
    assert at_once
    assert all(at_once)


def test_slow_and_silent_clients_lose_their_connection(monkeypatch):
    monkeypatch.setattr(patience, "HEAD_SECONDS", 0.3)
    monkeypatch.setattr(guard, "BODY_SECONDS", 0.3)
    with explorer_client() as client:
        host = f"Host: 127.0.0.1:{client.port}\r\nX-Onegrad-Token: {TOKEN}\r\n".encode()
        with client.connect() as silent, client.connect() as half, client.connect() as slow:
            half.sendall(b"GET / HTTP/1.1\r\nHost: 127")
            slow.sendall(b"POST /api/curve HTTP/1.1\r\nContent-Length: 9\r\n" + host + b"\r\n{")
            assert slow.recv(100).split()[1] == b"408"
            assert half.recv(100) == b""
            assert silent.recv(100) == b""
        assert client.get("/api/controls").status_code == 200


def test_many_idle_connections_keep_nobody_out(monkeypatch):
    monkeypatch.setattr(patience, "MOST_CONNECTIONS", 10)
    with explorer_client() as client:
        idle = [client.connect() for _ in range(30)]
        try:
            assert client.get("/api/controls").status_code == 200
        finally:
            for connection in idle:
                connection.close()


def test_garbage_in_place_of_http_is_answered_and_forgotten():
    with explorer_client() as client:
        for garbage in (b"\x16\x03\x01\x02\x00\x01", b"GET\r\n\r\n", b"\x00" * 70_000):
            with client.connect() as connection:
                connection.sendall(garbage)
                connection.shutdown(socket.SHUT_WR)
                answer = connection.recv(1000)
                assert answer == b"" or b"400" in answer.split(b"\r\n")[0]
        assert client.get("/api/controls").status_code == 200


def test_a_newer_simulation_of_a_view_ends_the_older_one():
    with explorer_client() as client:
        view = {"X-Onegrad-View": "one"}
        body = json.dumps({"state": state_of(), "points": 24, "trials": 32}).encode()
        head = (
            f"POST /api/simulate HTTP/1.1\r\nHost: 127.0.0.1:{client.port}\r\nX-Onegrad-View: one"
            f"\r\nX-Onegrad-Token: {TOKEN}\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        with client.connect() as older:
            older.sendall(head.encode() + body)
            received = older.recv(1000)
            assert b"200" in received.split(b"\r\n")[0]
            small = {"state": state_of(), "points": 2, "trials": 2}
            newer = client.post("/api/simulate", json=small, headers=view)
            assert json.loads(newer.text.splitlines()[-1]) == {"done": True}
            while b"overtaken" not in received:
                part = older.recv(65_536)
                assert part
                received += part


def test_a_simulation_ends_with_its_client():
    with explorer_client() as client:
        body = json.dumps({"state": state_of(), "points": 24, "trials": 32}).encode()
        for _ in range(3):  # more than may run at once
            head = (
                f"POST /api/simulate HTTP/1.1\r\nHost: 127.0.0.1:{client.port}\r\n"
                f"X-Onegrad-Token: {TOKEN}\r\nContent-Length: {len(body)}\r\n\r\n"
            )
            with client.connect() as connection:
                connection.sendall(head.encode() + body)
                assert b"200" in connection.recv(1000).split(b"\r\n")[0]
            time.sleep(0.5)


def test_at_most_a_few_workers_are_started():
    assert 2 <= opening.worker_count() <= opening.MOST_WORKERS


def test_a_newer_event_overtakes_an_older_one():
    slow = state_of({"training.steps": 3, "dimension": 1500, "readout.samples": 1500})
    with explorer_client() as client:
        answers = []

        def ask(state, turn):
            headers = {"X-Onegrad-View": "page", "X-Onegrad-Turn": str(turn)}
            answers.append(
                (turn, client.post("/api/curve", json={"state": state}, headers=headers))
            )

        older = threading.Thread(target=ask, args=(slow, 1))
        older.start()
        time.sleep(0.5)
        ask(state_of(), 2)
        older.join()
        ask(state_of(), 1)
    by_arrival = [(turn, answer.json()) for turn, answer in answers]
    assert by_arrival[0][0] == 1  # answered before the newer one was computed
    assert by_arrival[0][1] == {"overtaken": True}
    assert by_arrival[1][1]["method"] == "closed"


def test_work_of_a_client_that_has_gone_is_given_up():
    slow = state_of({"training.steps": 3, "dimension": 1500, "readout.samples": 1500})
    body = json.dumps({"state": slow}).encode()
    with explorer_client() as client:
        head = (
            f"POST /api/curve HTTP/1.1\r\nHost: 127.0.0.1:{client.port}\r\n"
            f"X-Onegrad-Token: {TOKEN}\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        for _ in range(40):  # more than may be at work
            with client.connect() as connection:
                connection.sendall(head.encode() + body)
                time.sleep(0.02)
        assert client.post("/api/curve", json={"state": state_of()}).status_code == 200
