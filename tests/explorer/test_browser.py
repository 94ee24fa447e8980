"""The explorer in a real browser: load, drag, choose, go along charts and map, overtake."""

import re

from optional_parts import CHROMIUM, needs

pytestmark = needs(CHROMIUM)


def open_all(page):
    page.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })")


def shown_controls(page, selector):
    return page.eval_on_selector_all(
        f"#main-controls .control {selector}, #more-controls .control {selector}",
        """(elements) => elements.filter((e) => !e.closest("[hidden]") && e.id)
            .map((e) => [e.id, e.closest(".control").dataset.path])""",
    )


def test_the_page_loads_draws_a_draft_and_then_sixty_points(visit):
    drawings = visit.drawings()
    assert drawings[0]["draft"]
    assert drawings[0]["points"] >= 8
    assert not drawings[-1]["draft"]
    assert drawings[-1]["points"] >= 50
    page = visit.page
    assert page.locator("#charts .plot .canvas svg").count() >= 1
    rows = page.locator("#readings tbody tr")
    assert rows.count() == page.locator("#models [aria-pressed=true]").count() >= 2
    numbers = [float(text) for text in rows.locator("td:nth-child(2)").all_inner_texts()]
    assert all(0 < number < 100 for number in numbers)
    assert page.locator("#degree-picture svg rect").count() >= 2
    assert page.locator("#step-picture svg .spike, #step-picture svg .bulk").count() >= 1
    assert page.locator("#step-numbers .number-row").count() >= 2
    assert "%" in page.locator("#map-says").inner_text()


def test_every_slider_can_be_dragged(visit):
    page = visit.page
    open_all(page)
    sliders = shown_controls(page, "input[type=range]")
    assert len(sliders) >= 8
    for identity, path in sliders:
        slider = page.locator(f"#{identity}")
        if not slider.is_visible():
            continue  # an earlier slider replaced what it belongs to
        before, turn = slider.input_value(), visit.turn()
        slider.scroll_into_view_if_needed()
        box = slider.bounding_box()
        start = box["x"] + 9 + (box["width"] - 18) * int(before) / 200
        page.mouse.move(start, box["y"] + box["height"] / 2)
        page.mouse.down()
        target = box["x"] + box["width"] * (0.35 if int(before) > 100 else 0.65)
        page.mouse.move((start + target) / 2, box["y"] + box["height"] / 2)
        page.mouse.move(target, box["y"] + box["height"] / 2)
        page.mouse.up()
        assert slider.input_value() != before, path
        visit.wait_drawn(after=turn, refined=False)
        visit.wait_address(f"{path}=")
        line = visit.error()
        assert line is None or re.fullmatch(r".+: .+; .+", line), f"{path}: {line}"
        page.locator(f'.control[data-path="{path}"] .reset').click()
        visit.wait_drawn(after=turn + 1, refined=False)


def test_every_choice_can_be_changed(visit):
    page = visit.page
    open_all(page)
    choices = shown_controls(page, "select")
    assert len(choices) >= 5
    for identity, path in choices:
        select = page.locator(f"#{identity}")
        values = select.locator("option").evaluate_all("(all) => all.map((o) => o.value)")
        first = select.input_value()
        for value in [v for v in values if v not in (first, "own")][:3]:
            turn = visit.turn()
            select.select_option(value)
            visit.wait_drawn(after=turn, refined=False)
            line = visit.error()
            assert line is None or re.fullmatch(r".+: .+; .+", line), f"{path}: {line}"
        turn = visit.turn()
        page.locator("#reset").click()
        visit.wait_drawn(after=turn, refined=False)
        assert visit.error() is None
        open_all(page)


def test_a_reset_shows_every_field_as_at_the_start_at_once(visit):
    page = visit.page
    choices = "[...document.querySelectorAll('.control select')].map((e) => [e.id, e.value])"
    start, turn = page.evaluate(choices), visit.turn()
    page.select_option("#field-teacher-kind", index=1)
    visit.wait_drawn(after=turn)
    visit.wait_settled()
    assert page.evaluate(choices) != start  # other fields follow from the kind
    assert page.evaluate(f"document.getElementById('reset').click(), {choices}") == start


def test_every_axis_gives_a_curve(visit):
    page = visit.page
    axes = page.locator("#axis option").evaluate_all("(all) => all.map((o) => o.value)")
    assert len(axes) >= 8
    for axis in axes:
        if axis == page.locator("#axis").input_value():
            continue
        turn = visit.turn()
        page.select_option("#axis", axis)
        visit.wait_drawn(after=turn, refined=False)
        line = visit.error()
        assert line is None or re.fullmatch(r".+: .+; .+", line), f"{axis}: {line}"


def test_a_task_with_classes_shows_its_rate_and_its_loss(visit):
    page = visit.page
    shown = page.locator("#metrics [aria-pressed=true]")
    assert shown.all_inner_texts() == ["Test error", "Training error"]
    for control, option, metrics in (
        ("teacher-kind", "Labels by component or class", ["Test error", "Misclassification"]),
        ("readout-loss", "logistic", ["Misclassification", "Test loss"]),
    ):
        turn = visit.turn()
        page.select_option(f"#field-{control}", label=option)
        visit.wait_drawn(after=turn)
        assert visit.error() is None
        assert shown.all_inner_texts() == metrics
        assert page.locator("#charts figure b").all_inner_texts() == metrics
    # What one chooses stays chosen.
    page.locator('#metrics [data-metric="train_loss"]').click()
    visit.wait_address("show.metrics=misclassification,test_loss,train_loss")
    turn = visit.turn()
    page.locator("#field-readout-ridge").press("ArrowRight")
    visit.wait_drawn(after=turn)
    assert shown.all_inner_texts() == ["Misclassification", "Test loss", "Training loss"]


def test_charts_share_the_width_when_there_are_more_or_fewer(visit):
    page = visit.page
    shown = page.locator("#metrics [aria-pressed=true]")
    assert shown.count() == 2
    name = shown.last.get_attribute("data-metric")
    page.locator(f'#metrics [data-metric="{name}"]').click()
    alone = page.locator("#charts .canvas").first.bounding_box()["width"]
    page.locator(f'#metrics [data-metric="{name}"]').click()
    page.wait_for_function(  # the charts take their new size in the next frames
        """(alone) => [...document.querySelectorAll("#charts .canvas")]
             .every((canvas) => canvas.getBoundingClientRect().width < 0.6 * alone)""",
        arg=alone,
    )
    left, right = (box.bounding_box() for box in page.locator("#charts .canvas").all())
    assert left["x"] + left["width"] <= right["x"]


def test_a_click_on_a_chart_and_on_the_map_goes_there(visit):
    page = visit.page
    before, turn = page.evaluate("location.hash"), visit.turn()
    chart = page.locator("#charts .canvas").first
    box = chart.bounding_box()
    page.mouse.click(box["x"] + 0.8 * box["width"], box["y"] + box["height"] / 2)
    visit.wait_drawn(after=turn)
    page.wait_for_function("(before) => location.hash !== before", arg=before)
    visit.wait_settled()
    turn, says = visit.turn(), page.locator("#map-says").inner_text()
    page.locator("#map").click(position={"x": 250, "y": 20})
    visit.wait_drawn(after=turn)
    visit.wait_settled()
    assert page.locator("#map-says").inner_text() != says
    turn = visit.turn()
    page.locator("#map").press("ArrowDown")
    visit.wait_drawn(after=turn, refined=False)


def test_newer_events_overtake_older_ones(visit):
    page = visit.page
    sent = len(curve_requests(visit))
    slider = page.locator("#main-controls input[type=range]").first
    events = 40
    slider.evaluate(
        """(slider, events) => { for (let i = 0; i < events; i += 1) {
             slider.value = 20 + 4 * i; slider.dispatchEvent(new Event("input")); } }""",
        events,
    )
    page.wait_for_function(
        "(turn) => window.drawings.some((d) => d.turn > turn && !d.draft)", arg=events
    )
    drafts = [
        request for request in curve_requests(visit)[sent:] if '"draft":true' in request.post_data
    ]
    assert 1 <= len(drafts) <= 5  # the first, the newest, and what the page slept over
    assert visit.drawings()[-1]["turn"] == events + 1
    path = slider.evaluate("(s) => s.closest('.control').dataset.path")
    value = page.locator(f'.control[data-path="{path}"] input.number').input_value()
    visit.wait_address(f"{path}={value}")


def curve_requests(visit):
    return [request for request in visit.requests if request.url.endswith("/api/curve")]


def test_a_value_that_breaks_a_rule_is_one_line_and_can_be_corrected(visit):
    page = visit.page
    typed = page.locator("#main-controls input.number").first
    turn = visit.turn()
    typed.fill("-7")
    typed.press("Enter")
    page.wait_for_selector("#error:not([hidden])")
    assert re.fullmatch(r".+=-7.*: .+; .+", visit.error())
    assert page.locator(".control.wrong").count() >= 1
    page.locator("#reset").click()
    page.wait_for_selector("#error", state="hidden")
    visit.wait_drawn(after=turn)
    assert page.locator(".control.wrong").count() == 0


def test_a_server_that_has_gone_is_one_line(visit):
    page = visit.page
    page.route("**/api/**", lambda route: route.abort("connectionrefused"))
    page.locator("#main-controls input[type=range]").first.press("ArrowRight")
    page.wait_for_selector("#error:not([hidden])")
    assert re.fullmatch(r"server: does not answer; start onegrad explore again .+", visit.error())
    page.unroute("**/api/**")
    turn = visit.turn()
    page.locator("#main-controls input[type=range]").first.press("ArrowRight")
    visit.wait_drawn(after=turn)
    assert visit.error() is None
    assert all("ERR_CONNECTION_REFUSED" in complaint for complaint in visit.complaints)
    visit.complaints.clear()


def test_presets_tell_a_story_and_draw(visit):
    page = visit.page
    presets = page.locator("#presets button")
    names = presets.evaluate_all("(all) => all.map((b) => b.dataset.preset)")
    assert len(names) >= 10
    for name in reversed(names):  # the first is the setting that the page opens with
        turn = visit.turn()
        page.locator(f'[data-preset="{name}"]').click()
        visit.wait_drawn(after=turn, refined=False)
        assert visit.error() is None, name
        assert len(page.locator("#story").inner_text()) > 40, name
        assert page.locator("#charts .plot").count() >= 1, name
