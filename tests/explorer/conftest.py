"""One explorer for all tests that change nothing in it: a client, an address, a page."""

import pytest
from explorer_cases import explorer_client

from browser_case import serving, visiting


@pytest.fixture(scope="session")
def client():
    """Yield a client of an explorer in this process."""
    with explorer_client() as running:
        yield running


@pytest.fixture(scope="session")
def address():
    """Yield the address of an explorer in a process of its own."""
    with serving("--dimension", "80", "--samples", "80") as url:
        yield url


@pytest.fixture
def visit(browser, address):
    """Yield a page of that explorer, with everything up to date."""
    with visiting(browser, address) as opened:
        opened.wait_settled()
        yield opened
