"""A field added to the problem is on the page, which knows it from its description alone."""

import pytest
from explorer_cases import TOKEN, explorer_client
from pydantic import Field

from browser_case import visiting
from onegrad.core.problem import Problem
from onegrad.describe.value import Unit, control
from optional_parts import CHROMIUM, needs

pytestmark = needs(CHROMIUM)


class Extended(Problem):
    """The problem with two more fields: one that says nothing of the page, one that does."""

    dropout: Unit = Field(default=0.25, description="Share of neurons left out.")
    thrift: bool = Field(
        default=False,
        description="Whether little is spent.",
        json_schema_extra=control(label="Thrifty", symbol="τ", main=True),
    )


@pytest.fixture(scope="module")
def address():
    with explorer_client(Extended(dimension=80, readout={"samples": 80})) as client:
        yield f"http://127.0.0.1:{client.port}/?token={TOKEN}"


def test_a_new_field_has_a_control_an_axis_and_a_place_in_the_address(browser, address):
    with visiting(browser, address) as visit:
        page = visit.page
        visit.wait_settled()
        row = page.locator('.control[data-path="dropout"]')
        row.locator("xpath=ancestor::details").evaluate("(group) => { group.open = true; }")
        assert row.locator("label").inner_text() == "Dropout"
        assert row.locator(".sentence").inner_text() == "Share of neurons left out."
        assert row.locator("input.number").input_value() == "0.25"
        slider, turn = row.locator("input[type=range]"), visit.turn()
        slider.press("End")
        visit.wait_drawn(after=turn)
        page.wait_for_function("() => location.hash.includes('dropout=1')")
        assert any('"dropout":1' in (request.post_data or "") for request in visit.requests)
        turn = visit.turn()
        page.select_option("#axis", "dropout")
        visit.wait_drawn(after=turn)
        assert visit.error() is None
        assert "Dropout" in page.locator("#charts .axes").first.text_content()


def test_a_new_field_is_shown_as_it_asks_to_be(browser, address):
    with visiting(browser, address) as visit:
        page = visit.page
        row = page.locator('#main-controls .control[data-path="thrift"]')
        assert row.locator("label").inner_text().split() == ["Thrifty", "τ"]
        turn = visit.turn()
        row.locator("input[type=checkbox]").check()
        visit.wait_drawn(after=turn)
        page.wait_for_function("() => location.hash.includes('thrift=true')")
        page.reload()
        visit.wait_drawn()
        assert row.locator("input[type=checkbox]").is_checked()
