"""The report in a browser: curves to touch, one file, no request, readable without JavaScript."""

import pytest

from optional_parts import CHROMIUM, needs

pytestmark = needs(CHROMIUM)

SIZES = {"wide": (1280, 900), "phone": (360, 740)}


@pytest.fixture
def open_page(browser):
    """Return a function that opens a file and keeps what was said and asked for."""
    contexts = []

    def open_file(path, *, size="wide", **options):
        width, height = SIZES[size]
        context = browser.new_context(viewport={"width": width, "height": height}, **options)
        contexts.append(context)
        page = context.new_page()
        page.said, page.asked = [], []
        page.on("console", lambda message: page.said.append(message.text))
        page.on("pageerror", lambda error: page.said.append(str(error)))
        page.on("request", lambda request: page.asked.append(request.url))
        page.goto(path.as_uri())
        return page

    yield open_file
    for context in contexts:
        context.close()


def only_itself(page, path):
    return [url for url in page.asked if not url.startswith(("data:", path.as_uri()))] == []


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_opens_without_errors_requests_or_sideways_scrolling(
    open_page, small_report, size, scheme
):
    page = open_page(small_report, size=size, color_scheme=scheme)
    assert page.said == []
    assert only_itself(page, small_report)
    assert page.locator(".chart").count() == 6
    assert page.locator("figure img:visible").count() == 0  # charts are in their place
    fits = "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
    assert page.evaluate(fits)
    colours = "getComputedStyle(document.body).backgroundColor"
    assert (page.evaluate(colours) == "rgb(255, 255, 255)") == (scheme == "light")


def test_a_model_is_switched_off_and_on(open_page, small_report):
    page = open_page(small_report)
    panel = page.locator("#panel-1a")
    curves = panel.locator(".plot svg > g:not(.axes)")
    before = curves.count()
    button = panel.locator("button[data-role='Hermite model']")
    assert button.get_attribute("aria-pressed") == "true"
    button.click()
    assert button.get_attribute("aria-pressed") == "false"
    assert curves.count() == before - 2  # one of each activation
    panel.locator("button[data-series='tanh']").click()
    assert curves.count() < before - 2
    button.click()
    panel.locator("button[data-series='tanh']").click()
    assert curves.count() == before
    assert page.said == []


def test_pointing_at_a_marker_says_its_value_and_error(open_page, small_report):
    page = open_page(small_report)
    holder = page.locator("#panel-1a .holder").first
    holder.scroll_into_view_if_needed()
    place = page.evaluate(
        """() => {
          const path = document.querySelector("#panel-1a .holder .series-0 .filled");
          const [, x, y] = path.getAttribute("d").match(/^M([\\d.]+) ([\\d.]+)/);
          const area = document.querySelector("#panel-1a .holder svg").getBoundingClientRect();
          return [area.left + Number(x) + 4, area.top + Number(y)];
        }"""
    )
    page.mouse.move(*place)
    said = page.locator("#panel-1a .said").first.inner_text()
    table = (small_report.parent / "1a.csv").read_text("utf-8").splitlines()
    first = next(line.split(",") for line in table if ",relu,network,k/m,0.5," in line)
    value, error = (f"{float(first[i]):.4g}" for i in (6, 7))
    assert said == f"ReLU, network: {value} ± {error} (2 trials) at width per sample, k/m 0.5"
    assert page.locator("#panel-1a .ring").first.get_attribute("visibility") == "visible"


def test_points_are_read_by_keys_alone(open_page, small_report):
    page = open_page(small_report)
    page.locator("#panel-1a .holder").first.focus()
    said = page.locator("#panel-1a .said").first
    texts = []
    for key in ("ArrowRight", "ArrowRight", "ArrowDown", "ArrowLeft"):
        page.keyboard.press(key)
        texts.append(said.inner_text())
    assert len(set(texts)) == 4
    page.locator("#panel-4a .cells").first.focus()
    page.keyboard.press("ArrowRight")
    first = page.locator("#panel-4a .said").inner_text()
    page.keyboard.press("ArrowUp")
    assert "½ test MSE" in first
    assert page.locator("#panel-4a .said").inner_text() != first


def test_numbers_are_a_table_for_those_who_ask(open_page, small_report):
    page = open_page(small_report)
    details = page.locator("#panel-1a details.numbers")
    assert details.locator("table").count() == 0
    details.locator("summary").click()
    details.locator("table").wait_for()
    # Two widths of two activations: network, Hermite model, theory of both, closed theory; and
    # two of the best constant; beside them, per activation, closed theory at two widths and three
    # published values.
    assert details.locator("tbody tr").count() == 2 * 2 * 5 + 2 + 2 * (2 + 3)


def test_without_javascript_every_picture_and_word_is_there(open_page, small_report):
    page = open_page(small_report, java_script_enabled=False)
    assert page.locator("figure img:visible").count() == 6
    widths = [image.bounding_box()["width"] for image in page.locator("figure img").all()]
    assert min(widths) > 50
    assert page.locator(".chart").count() == 0
    assert page.locator("#verdict").inner_text().count("compared points agree") == 1
    page.locator("nav summary").click()
    page.locator("nav a[href='#panel-4a']").click()
    assert page.url.endswith("#panel-4a")


def test_hostile_texts_stay_texts(open_page, hostile):
    page = open_page(hostile)
    assert page.evaluate("window.hacked") is None
    assert page.said == []
    assert only_itself(page, hostile)
    assert page.locator("#panel-1a .chart").count() == 1
    assert "</script>" in page.locator("#panel-1a .switches").first.inner_text()
