"""An explorer's server for tests, in a thread of this process, and a client with its token."""

import http.client
import json
import socket
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from onegrad.core.problem import Problem
from onegrad.explorer.server import LOOPBACK, listening_on, server_on

TOKEN = "a-token-of-tests"
SMALL = {"dimension": 100, "readout.samples": 100}
SECONDS = 120


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status_code: int
    headers: dict
    content: bytes

    @property
    def text(self):
        """The body as text."""
        return self.content.decode()

    def json(self):
        """The body as JSON."""
        return json.loads(self.content)


@dataclass(frozen=True)
class Client:
    """Requests to one server, with its host and token unless said."""

    port: int

    def request(self, method, path, content=None, headers=None):
        """Return the answer to one request on a connection of its own."""
        connection = http.client.HTTPConnection(LOOPBACK, self.port, timeout=SECONDS)
        sent = {"X-Onegrad-Token": TOKEN} | (headers or {})
        try:
            connection.request(method, path, body=content, headers=sent)
            answer = connection.getresponse()
            lower = {name.lower(): value for name, value in answer.getheaders()}
            return Answer(answer.status, lower, answer.read())
        finally:
            connection.close()

    def get(self, path, headers=None):
        """Return the answer to a GET."""
        return self.request("GET", path, headers=headers)

    def post(self, path, *, json=None, content=None, headers=None):
        """Return the answer to a POST of JSON or of bytes."""
        body = _dumped(json) if content is None else content
        return self.request("POST", path, body, headers)

    def connect(self):
        """Return a bare connection."""
        return socket.create_connection((LOOPBACK, self.port), timeout=SECONDS)


def _dumped(document):
    return json.dumps(document).encode()


@contextmanager
def explorer_client(problem=None):
    """Yield a client of a server that runs meanwhile."""
    with listening_on(0) as listening:
        server = server_on(listening, problem or Problem(), TOKEN)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            while not server.started:
                time.sleep(0.02)
            yield Client(listening.getsockname()[1])
        finally:
            server.should_exit = True
            thread.join()


def alive(pid):
    """Return whether a process runs and is no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"
    except OSError:
        return False


def state_of(changes=None, **parts):
    """Return a state that is quick to compute."""
    return {"problem": {**SMALL, **(changes or {})}, **parts}
