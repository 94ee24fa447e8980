"""Time the explorer in a browser: from an input event to the redrawn curve.

python benchmarks/explorer_latency.py [--events 20] [--drag 3]

Two models at n = 1000. Every slider of the first group is moved along several axes: single events,
with a pause after each for the refined curve; then a drag, an event in every frame for some
seconds, where newer events overtake older ones. Times are taken in the page by `performance.now`,
from the event to the end of the drawing.
"""

import argparse
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from browser_case import browsing, serving, visiting

SLIDERS = "#main-controls input[type=range]"
SHOWN_IDS = "(all) => all.filter((e) => e.checkVisibility()).map((e) => e.id)"
AXES = ("network.width_ratio", "scaling.strength", "readout.ridge", "readout.samples")

# One event; resolves with the times of its draft and of its refined curve.
SINGLE = """([id, share]) => new Promise((resolve) => {
  const slider = document.getElementById(id);
  const times = {};
  const started = performance.now();
  const heard = ({ detail }) => {
    times[detail.draft ? "draft" : "refined"] ??= performance.now() - started;
    if (times.refined) finish();
  };
  const finish = () => {
    document.removeEventListener("onegrad:drawn", heard);
    resolve(times);
  };
  document.addEventListener("onegrad:drawn", heard);
  setTimeout(finish, 8000);
  slider.value = Math.round(200 * share);
  slider.dispatchEvent(new Event("input"));
})"""

# An event in every frame; resolves with the time from each to the first drawing of it or a newer.
DRAG = """([id, seconds]) => new Promise((resolve) => {
  const slider = document.getElementById(id);
  const waiting = [];
  const times = [];
  const frames = [];
  let turn = Math.max(...window.drawings.map((d) => d.turn));
  const heard = ({ detail }) => {
    if (!detail.draft) return;
    frames.push(performance.now());
    while (waiting.length && waiting[0].turn <= detail.turn) {
      times.push(performance.now() - waiting.shift().at);
    }
  };
  document.addEventListener("onegrad:drawn", heard);
  const begun = performance.now();
  const move = () => {
    const t = (performance.now() - begun) / 1000;
    if (t > seconds) {
      setTimeout(() => {
        document.removeEventListener("onegrad:drawn", heard);
        resolve({ times, redrawn: frames.length, events: times.length + waiting.length });
      }, 500);
      return;
    }
    const place = Math.round(100 + 80 * Math.sin(2 * Math.PI * t / 2));
    if (Number(slider.value) !== place) {
      turn += 1;
      waiting.push({ turn, at: performance.now() });
      slider.value = place;
      slider.dispatchEvent(new Event("input"));
    }
    requestAnimationFrame(move);
  };
  move();
})"""


def main() -> None:
    """Print the times of every slider along every axis, and of all together."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--events", type=int, default=12, help="single events per slider and axis")
    parser.add_argument("--drag", type=float, default=3.0, help="seconds of a drag")
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    with serving() as address, browsing() as browser, visiting(browser, address) as visit:
        page = visit.page
        visit.wait_settled()
        singles: list[dict[str, float]] = []
        drags: list[float] = []
        print("axis, slider: median and 95 % of draft, of refined; drag: redraws a second, median")
        for axis in AXES:
            page.select_option("#axis", axis)
            visit.wait_drawn(after=visit.turn() - 1)
            page.wait_for_timeout(1000)
            for slider in page.eval_on_selector_all(SLIDERS, SHOWN_IDS):
                times = [
                    page.evaluate(SINGLE, [slider, float(share)])
                    for share in rng.uniform(0.1, 0.9, options.events)
                ]
                drag = page.evaluate(DRAG, [slider, options.drag])
                page.wait_for_timeout(300)
                page.locator("#reset").click()
                page.wait_for_timeout(300)
                page.select_option("#axis", axis)
                page.wait_for_timeout(1000)
                singles += times
                drags += drag["times"]
                print(
                    f"{axis}, {slider}: {shown(times, 'draft')}; {shown(times, 'refined')}; "
                    f"{drag['redrawn'] / options.drag:.0f}/s, {np.median(drag['times']):.0f} ms",
                    flush=True,
                )
    print(f"all single events ({len(singles)}): draft {shown(singles, 'draft')}")
    print(f"all single events ({len(singles)}): refined {shown(singles, 'refined')}")
    print(
        f"all events of drags ({len(drags)}): median {np.median(drags):.0f} ms, "
        f"95 % {np.quantile(drags, 0.95):.0f} ms"
    )


def shown(times: list[dict[str, float]], kind: str) -> str:
    """Return median and 95 % quantile of the times of one kind."""
    values = [entry[kind] for entry in times if kind in entry]
    if not values:
        return "none"
    return f"{np.median(values):.0f} ms, {np.quantile(values, 0.95):.0f} ms of {len(values)}"


if __name__ == "__main__":
    main()
