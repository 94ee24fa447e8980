"""What every request passes first: host, origin, token, size and time of its body."""

from __future__ import annotations

import asyncio
import hmac
import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import parse_qs

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

LARGEST_BODY = 65_536
BODY_SECONDS = 5.0
TOKEN_HEADER = b"x-onegrad-token"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
HEADERS = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)


class Refused(Exception):
    """A request that is not answered: a status and one line."""

    def __init__(self, status: int, said: str) -> None:
        super().__init__(said)
        self.status, self.said = status, said


class Guard:
    """The application behind its checks.

    Loopback alone does not keep other pages of the same browser out: they are foreign by Host
    (a name that was made to point here), by Origin, and do not know the token.
    """

    def __init__(self, app: App, *, token: str, hosts: frozenset[str]) -> None:
        self._app, self._token, self._hosts = app, token.encode(), hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            return await self._app(scope, receive, send)  # lifespan
        sender = _WithHeaders(send)
        try:
            self._check(scope)
            scope["body"] = await asyncio.wait_for(_body(scope, receive), BODY_SECONDS)
        except TimeoutError:
            await _refuse(sender, 408, f"body: must arrive within {BODY_SECONDS:g} s; send it anew")
        except Refused as refused:
            await _refuse(sender, refused.status, refused.said)
        else:
            await self._app(scope, receive, sender)
        return None

    def _check(self, scope: Scope) -> None:
        """Raise Refused unless host, origin and token are those of this explorer."""
        headers = dict(scope["headers"])  # of repeated ones the last
        if _repeated(scope, b"host") or _text(headers.get(b"host")) not in self._hosts:
            raise Refused(403, "Host: is not this explorer's; open the address that it printed")
        origin = headers.get(b"origin")
        if origin is not None and _text(origin).removeprefix("http://") not in self._hosts:
            raise Refused(403, "Origin: is not this explorer's; open the address that it printed")
        if headers.get(b"sec-fetch-site", b"none") not in (b"none", b"same-origin"):
            raise Refused(403, "Sec-Fetch-Site: is foreign; open the address that was printed")
        path = scope["path"]
        if path.startswith("/static/"):
            return
        given = headers.get(TOKEN_HEADER, b"")
        if path == "/":
            asked = parse_qs(_text(scope["query_string"])).get("token", [""])
            given = asked[0].encode()
        if not hmac.compare_digest(given, self._token):
            raise Refused(403, "token: is wrong or missing; open the address that was printed")


def _repeated(scope: Scope, name: bytes) -> bool:
    return sum(key == name for key, _ in scope["headers"]) > 1


def _text(value: bytes | None) -> str:
    return "" if value is None else value.decode("latin-1")


async def _body(scope: Scope, receive: Receive) -> bytes:
    """Return the body; raise Refused where it is too large, at the latest when it has become so."""
    if scope["method"] in ("GET", "HEAD"):
        return b""
    announced = _text(dict(scope["headers"]).get(b"content-length"))
    too_large = Refused(413, f"body: must have at most {LARGEST_BODY} bytes; send less")
    if announced.isdigit() and int(announced[:20]) > LARGEST_BODY:
        raise too_large
    body, more = bytearray(), True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Refused(400, "body: ended early; send it anew")
        body += message.get("body", b"")
        more = message.get("more_body", False)
        if len(body) > LARGEST_BODY:
            raise too_large
    return bytes(body)


class _WithHeaders:
    """A sender that adds the headers that every answer has."""

    def __init__(self, send: Send) -> None:
        self._send = send

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message.get("headers", []), *HEADERS]
        await self._send(message)


async def _refuse(send: _WithHeaders, status: int, said: str) -> None:
    content = json.dumps({"error": said}).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(content)).encode()),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": content})
