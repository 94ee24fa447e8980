"""Headless Chromium, and a page of the explorer in it with what went wrong there."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from optional_parts import CHROMIUM

ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
PATIENCE = 60_000  # milliseconds, on a machine that does other things
WATCH = """
window.drawings = [];
document.addEventListener("onegrad:drawn", (event) => window.drawings.push(event.detail));
"""


@contextmanager
def serving(*options: str) -> Iterator[str]:
    """Yield the address of an explorer in a process of its own, and end it by SIGTERM."""
    command = [sys.executable, "-c", "from onegrad.cli.main import main; main()", "explore"]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    process = subprocess.Popen(
        [*command, "--no-browser", *options], stdout=subprocess.PIPE, text=True, env=environment
    )
    try:
        assert process.stdout is not None
        said = process.stdout.readline()
        address = re.search(r"http://127\.0\.0\.1:\d+/\S+", said)
        assert address, said
        yield address.group(0)
    finally:
        process.terminate()
        process.wait(60)
        process.stdout.close()


@contextmanager
def browsing() -> Iterator[Any]:
    """Yield headless Chromium, driven by Playwright."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM.look(), args=ARGUMENTS)
        yield browser
        browser.close()


@dataclass
class Visit:
    """One page, with everything that it complained about or asked of other hosts."""

    page: Any
    complaints: list[str] = field(default_factory=list)
    requests: list[Any] = field(default_factory=list)

    def turn(self) -> int:
        """Return the number of the newest state that was drawn, or refused by an error's line."""
        return self.page.evaluate(
            """() => Math.max(0, Number(document.getElementById("error").dataset.turn ?? 0),
                 ...window.drawings.map((d) => d.turn))"""
        )

    def drawings(self) -> list[dict[str, Any]]:
        """Return all drawings so far: draft or refined, turn, points, milliseconds."""
        return self.page.evaluate("window.drawings")

    def wait_drawn(self, *, after: int = 0, refined: bool = True) -> None:
        """Wait for a drawing of a newer state than number `after`, or for an error's line."""
        self.page.wait_for_function(
            """([after, refined]) =>
               Number(document.getElementById("error").dataset.turn ?? 0) > after ||
               window.drawings.some((d) => d.turn > after && (!refined || !d.draft))""",
            arg=[after, refined],
            timeout=PATIENCE,
        )

    def wait_settled(self) -> None:
        """Wait until everything beside the curves is up to date."""
        self.page.wait_for_function(
            "() => document.querySelectorAll('.card.stale').length === 0", timeout=PATIENCE
        )

    def wait_address(self, part: str) -> None:
        """Wait until the address, which follows a change after a short pause, has this part."""
        self.page.wait_for_function(
            "(part) => decodeURIComponent(location.hash).includes(part)", arg=part, timeout=PATIENCE
        )

    def error(self) -> str | None:
        """Return the line of an error that is shown."""
        line = self.page.locator("#error")
        return line.inner_text() if line.is_visible() else None


@contextmanager
def visiting(browser: Any, address: str, **options: Any) -> Iterator[Visit]:
    """Yield an open page; afterwards it must not have complained, nor asked another host."""
    context = browser.new_context(**{"viewport": {"width": 1400, "height": 1000}, **options})
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    visit = Visit(page)
    page.add_init_script(WATCH)
    page.on("pageerror", lambda error: visit.complaints.append(f"error: {error}"))
    page.on("console", lambda message: _note_message(visit, message))
    page.on("request", lambda request: visit.requests.append(request))
    page.goto(address)
    visit.wait_drawn()
    yield visit
    origin = "/".join(address.split("/")[:3])
    own = (f"{origin}/", f"blob:{origin}/", "data:")
    foreign = [request.url for request in visit.requests if not request.url.startswith(own)]
    complaints = list(visit.complaints)  # before requests under way are cut off
    context.close()
    assert foreign == []
    assert complaints == []


def _note_message(visit: Visit, message: Any) -> None:
    # An answer 422 is the server's "this value breaks a rule", which the page shows in its line.
    if message.type in ("error", "warning") and "status of 422" not in message.text:
        visit.complaints.append(f"{message.type}: {message.text}")
