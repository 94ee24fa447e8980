"""The explorer in a real browser: pin, share and reopen, simulate, cancel, copy, download."""

import csv
import io
import tomllib
import xml.etree.ElementTree as ElementTree

import pytest

from browser_case import visiting
from onegrad import Problem
from optional_parts import CHROMIUM, needs

pytestmark = needs(CHROMIUM)


@pytest.fixture
def long_visit(browser, address):
    """A page at a size where a simulation takes seconds: it cannot end while one looks."""
    with visiting(browser, f"{address}#dimension=500&readout.samples=500") as opened:
        opened.wait_settled()
        yield opened


def move_first_slider(visit, places=30):
    slider = visit.page.locator("#main-controls input[type=range]").first
    turn = visit.turn()
    slider.evaluate(
        """(slider, places) => { slider.value = Number(slider.value) + places;
             slider.dispatchEvent(new Event("input")); }""",
        -places if int(slider.input_value()) > 150 else places,
    )
    visit.wait_drawn(after=turn)
    return slider


def readings(page):
    return page.locator("#readings").inner_text()


def test_a_pinned_curve_stays_while_the_setting_changes(visit):
    page = visit.page
    page.locator("#pin").click()
    assert page.locator("#pins li").count() == 1
    move_first_slider(visit)
    label = page.locator("#charts .canvas").first.get_attribute("aria-label")
    assert "(start)" in label
    page.locator("#pins button").click()
    assert page.locator("#pins li").count() == 0
    assert "(start)" not in page.locator("#charts .canvas").first.get_attribute("aria-label")


def test_a_shared_address_opens_the_same_page(visit, browser):
    page = visit.page
    page.locator("#pin").click()
    move_first_slider(visit)
    page.locator('#models [data-model="untrained"]').click()
    page.locator("#log").check()
    turn = visit.turn()
    axis = page.locator("#axis option").nth(3).get_attribute("value")
    page.select_option("#axis", axis)
    visit.wait_drawn(after=turn)
    visit.wait_settled()
    visit.wait_address(f"show.axis={axis}")
    shared, said = page.url, readings(page)
    with visiting(browser, shared) as other:
        other.wait_settled()
        assert other.page.url == shared
        assert readings(other.page) == said
        assert other.page.locator("#axis").input_value() == axis
        assert other.page.locator("#log").is_checked()
        assert other.page.locator("#pins li").count() == 1
        assert "(start)" in other.page.locator("#charts .canvas").first.get_attribute("aria-label")


def test_back_leads_to_the_setting_before_a_preset(visit):
    page = visit.page
    before = readings(page)
    turn = visit.turn()
    page.locator("#presets button").nth(2).click()
    visit.wait_drawn(after=turn)
    turn = visit.turn()
    page.go_back()
    visit.wait_drawn(after=turn)
    visit.wait_settled()
    assert readings(page) == before


def test_points_are_simulated_one_by_one_and_cancelled(long_visit):
    visit, page = long_visit, long_visit.page
    seen = set()
    page.expose_function("noteStatus", lambda text: seen.add(text))
    page.evaluate(
        """() => new MutationObserver(() =>
             noteStatus(document.getElementById("simulate-status").textContent))
             .observe(document.getElementById("simulate-status"), { childList: true })"""
    )
    page.locator("#simulate").click()
    page.wait_for_function(
        "() => document.getElementById('simulate-status').textContent.includes('points simulated')"
    )
    counts = {int(text.split()[0]) for text in seen if " so far" in text}
    assert len(counts) >= 4
    assert simulated(page) == max(counts)
    # A change takes the points away; the curve answers meanwhile.
    move_first_slider(visit)
    assert simulated(page) == 0
    page.locator("#simulate").click()
    assert page.locator("#simulate").inner_text() == "Cancel"
    move_first_slider(visit)
    assert page.locator("#simulate").inner_text() == "Simulate"
    page.locator("#simulate").click()
    page.locator("#simulate").click()
    assert page.locator("#simulate-status").inner_text() == "Cancelled"


def simulated(page):
    rows = downloaded_rows(page)
    return len({(row["model"], row_axis(row)) for row in rows if row["kind"] == "simulated"})


def row_axis(row):
    return list(row.values())[2]


def downloaded_rows(page):
    with page.expect_download() as info:
        page.locator("#download-csv").click()
    return list(csv.DictReader(io.StringIO(info.value.path().read_text())))


def test_a_pause_simulates_by_itself_where_one_wants_it(long_visit):
    page = long_visit.page
    page.locator("#automatic").check()
    page.wait_for_function("() => document.getElementById('simulate').textContent === 'Cancel'")
    page.locator("#automatic").uncheck()
    page.locator("#simulate").click()
    assert page.locator("#simulate").inner_text() == "Simulate"


def test_downloads_hold_what_is_drawn(visit):
    page = visit.page
    rows = downloaded_rows(page)
    kinds = {(row["kind"], row["model"]) for row in rows}
    models = page.locator("#models [aria-pressed=true]").count()
    assert len(kinds) == models
    assert len(rows) >= 50 * models
    assert all(float(row["value"]) >= 0 for row in rows)
    page.locator("#metrics [aria-pressed=true]").last.click()  # one chart, one file
    with page.expect_download() as info:
        page.locator("#download-svg").click()
    svg = ElementTree.fromstring(info.value.path().read_text())
    lines = svg.findall(".//{http://www.w3.org/2000/svg}path[@fill='none']")
    assert len(lines) == 2 * models  # each with a sample in the legend
    with page.expect_download() as info:
        page.locator("#download-png").click()
    assert info.value.path().read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert info.value.suggested_filename.endswith(".png")


def test_a_setting_is_copied_as_link_python_toml_and_command(visit):
    page = visit.page
    move_first_slider(visit)
    page.locator("#copy").click()
    text = page.locator("#copy-text")
    page.wait_for_function("() => document.getElementById('copy-text').value === location.href")
    page.locator("[data-as=toml]").click()
    page.wait_for_function("() => document.getElementById('copy-text').value.includes('[scaling]')")
    wanted = Problem(**tomllib.loads(text.input_value()))
    assert wanted != Problem(dimension=80, readout={"samples": 80})  # the slider was moved
    page.locator("[data-as=python]").click()
    page.wait_for_function("() => document.getElementById('copy-text').value.includes('Problem(')")
    space = {}
    exec(text.input_value().partition("\nerrors")[0], space)
    assert space["problem"] == wanted
    page.locator("[data-as=command]").click()
    page.wait_for_function("() => document.getElementById('copy-text').value.startsWith('onegrad')")
    page.keyboard.press("Escape")
    assert not page.locator("#copy-dialog").is_visible()
