"""The explorer for everyone: axe-core, keyboard, phone, light and dark, labels."""

import pytest

from browser_case import visiting
from optional_parts import AXE, CHROMIUM, needs

pytestmark = needs(CHROMIUM)

WIDE, PHONE = {"width": 1400, "height": 1000}, {"width": 390, "height": 844}


def violations(page, source):
    """Return the serious violations that axe-core finds, with the elements."""
    page.evaluate(source)  # past the policy, which lets the page load no other script
    found = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")["violations"]
    return [
        (entry["id"], entry["help"], [node["html"][:120] for node in entry["nodes"][:3]])
        for entry in found
        if entry["impact"] in ("serious", "critical")
    ]


@needs(AXE)
@pytest.mark.parametrize("size", [WIDE, PHONE], ids=["wide", "phone"])
@pytest.mark.parametrize("colours", ["light", "dark"])
def test_axe_finds_nothing_serious(browser, address, size, colours):
    source = AXE.look().read_text()
    with visiting(browser, address, viewport=size, color_scheme=colours) as visit:
        visit.wait_settled()
        page = visit.page
        page.locator("#presets button").nth(1).click()
        page.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
        visit.wait_drawn(after=1)
        visit.wait_settled()
        page.locator("#pin").click()
        assert violations(page, source) == []
        page.locator("#copy").click()
        assert violations(page, source) == []
        # Negative control: a button without a name is found.
        page.evaluate("document.querySelector('dialog').append(document.createElement('button'))")
        assert "button-name" in {name for name, *_ in violations(page, source)}


def test_a_phone_shows_everything_without_scrolling_sideways(browser, address):
    with visiting(browser, address, viewport=PHONE, has_touch=True) as visit:
        visit.wait_settled()
        page = visit.page
        page.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
        slider = page.locator("#main-controls input[type=range]").nth(2)
        slider.scroll_into_view_if_needed()
        chart = page.locator("#charts .canvas").first.bounding_box()
        assert chart["y"] >= 0
        assert chart["y"] + chart["height"] <= PHONE["height"]  # in sight while one drags


def test_every_control_works_by_keyboard(visit):
    page = visit.page
    reached = []
    page.locator("#copy").focus()
    for _ in range(120):
        reached.append(
            page.evaluate("document.activeElement.id || document.activeElement.className")
        )
        page.keyboard.press("Tab")
    main = page.eval_on_selector_all(
        "#main-controls input[type=range], #main-controls select, #charts ~ .tools button",
        "(all) => all.filter((e) => e.checkVisibility()).map((e) => e.id)",
    )
    assert len(main) > 8
    assert set(main) <= set(reached)
    assert {"copy", "theme", "axis", "log", "simulate", "automatic", "map"} <= set(reached)
    slider = page.locator("#main-controls input[type=range]").first
    turn, text = visit.turn(), slider.get_attribute("aria-valuetext")
    slider.press("ArrowRight")
    visit.wait_drawn(after=turn, refined=False)
    assert slider.get_attribute("aria-valuetext") != text


def test_every_control_has_a_label_and_a_sentence(visit):
    page = visit.page
    page.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    silent = page.eval_on_selector_all(
        ".control",
        """(rows) => rows.filter((row) => !row.hidden && (
             row.querySelector(".sentence").textContent.trim().length < 8 ||
             !row.querySelector("label").textContent.trim() ||
             !row.querySelector(`[id="${row.querySelector("label").htmlFor}"]`)))
           .map((row) => row.dataset.path)""",
    )
    assert silent == []


def test_results_are_told_to_screen_readers(visit):
    page = visit.page
    page.wait_for_function("() => document.getElementById('live').textContent.includes(' at ')")


def test_the_switch_turns_colours_and_they_stay(browser, address):
    with visiting(browser, address, color_scheme="light") as visit:
        page = visit.page
        paper = "getComputedStyle(document.body).backgroundColor"
        light = page.evaluate(paper)
        page.locator("#theme").click()
        dark = page.evaluate(paper)
        assert dark != light
        page.reload()
        assert page.evaluate(paper) == dark
        visit.wait_drawn()
