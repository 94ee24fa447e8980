"""Foreign pages, wrong tokens and broken bodies are refused in one line."""

import pytest
from explorer_cases import TOKEN, state_of

from onegrad.explorer.server import LARGEST_BODY


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "127.0.0.1:1"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "https://127.0.0.1:PORT"},
        {"Sec-Fetch-Site": "cross-site"},
        {"X-Onegrad-Token": "wrong"},
        {"X-Onegrad-Token": ""},
        {"X-Onegrad-Token": "é"},
    ],
)
def test_a_foreign_request_is_forbidden(client, headers):
    encoded = {
        name: value.replace("PORT", str(client.port)).encode("latin-1")
        for name, value in headers.items()
    }
    answer = client.post("/api/curve", json={"state": state_of()}, headers=encoded)
    assert answer.status_code == 403
    assert "\n" not in answer.json()["error"]


def test_the_own_origin_is_welcome(client):
    headers = {"Origin": f"http://127.0.0.1:{client.port}", "Sec-Fetch-Site": "same-origin"}
    assert client.get("/api/controls", headers=headers).status_code == 200


def test_the_page_needs_the_token_in_its_address(client):
    assert client.get("/").status_code == 403
    assert client.get("/?token=wrong").status_code == 403
    page = client.get(f"/?token={TOKEN}")
    assert page.status_code == 200
    assert "text/html" in page.headers["content-type"]


def test_every_answer_forbids_inline_script_and_other_hosts(client):
    for path in (f"/?token={TOKEN}", "/", "/api/controls", "/nowhere", "/static/nowhere.js"):
        policy = client.get(path).headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self';" in policy
        assert "unsafe" not in policy


def test_files_outside_the_page_are_not_served(client):
    for path in ("/static/../server.py", "/static/%2e%2e/server.py", "/static//etc/passwd"):
        assert client.get(path).status_code in (403, 404)


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"[1, 2", 400),
        (b"[1, 2]", 400),
        (b'{"state": {"problem": {"dimension": NaN}}}', 400),
        (b'{"state": {"problem": {"readout.ridge": 1e999}}}', 400),
        (b'{"state": {"problem": {"readout.ridge": -Infinity}}}', 400),
        (b'{"state": ' + b"[" * 20_000 + b"]" * 20_000 + b"}", 400),
        (b'{"a":' * 20 + b"1" + b"}" * 20, 400),
        (b'{"points": 1' + b"0" * 6000 + b"}", 400),
        (b"\xff\xfe{}", 400),
        (b'{"state": {"problem": {"scaling.strength": 1.5}}}', 422),
        (b'{"points": "many"}', 422),
        (b'{"points": 100000}', 422),
        (b'{"draft": 1}', 422),
        (b'{"state": {"models": ["nobody"]}}', 422),
        (b'{"state": {"axis": "nothing"}}', 422),
        (b" " * (LARGEST_BODY + 1), 413),
        (b"x" * 10_000_000, 413),
    ],
)
def test_a_broken_body_is_refused_in_one_line(client, body, status):
    answer = client.post("/api/curve", content=body)
    assert answer.status_code == status
    assert "\n" not in answer.json()["error"]


def test_a_body_without_a_length_is_measured_as_it_comes(client):
    def chunks():
        for _ in range(100):
            yield b"x" * 10_000

    assert client.post("/api/curve", content=chunks()).status_code == 413


def test_deep_brackets_inside_a_text_are_no_depth(client):
    answer = client.post("/api/curve", json={"state": {"axis": "[" * 50}})
    assert answer.status_code == 422


def test_other_methods_and_paths_are_refused(client):
    assert client.get("/api/curve").status_code == 405
    assert client.request("DELETE", "/api/controls").status_code == 405
    assert client.get("/api/nothing").status_code == 404


def test_two_hosts_in_one_request_are_refused(client):
    with client.connect() as connection:
        own = f"Host: 127.0.0.1:{client.port}\r\n".encode()
        connection.sendall(b"GET /static/x HTTP/1.1\r\nHost: evil.example\r\n" + own + b"\r\n")
        assert connection.recv(100).split()[1] in (b"400", b"403")
