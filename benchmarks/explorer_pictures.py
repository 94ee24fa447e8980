"""Take the pictures of docs/explorer.md and README from the explorer itself.

python benchmarks/explorer_pictures.py [--out docs]

n = m = 300, so that networks are simulated while one waits: the preset of the linear model with
simulated points, the same after a drag to a strength where it holds, and the page on a phone.
"""

import argparse
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from browser_case import browsing, serving, visiting

PRESET, SLIDER, PLACE = "linear-fails", "field-scaling-strength", 60
SIZE = {"width": 1280, "height": 900}
PATIENCE = 600_000
SIMULATED = """() => document.getElementById("simulate-status").textContent
                  .includes("points simulated")"""


def main() -> None:
    """Write the pictures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[1] / "docs")
    out = parser.parse_args().out
    with serving("--dimension", "300", "--samples", "300") as address, browsing() as browser:
        with visiting(browser, address, viewport=SIZE) as visit:
            page = visit.page
            visit.wait_settled()
            page.locator(f'[data-preset="{PRESET}"]').click()
            visit.wait_drawn(after=1)
            visit.wait_settled()
            page.locator("#simulate").click()
            page.wait_for_function(SIMULATED, timeout=PATIENCE)
            page.screenshot(path=out / "explorer-fails.png", full_page=True)
            page.screenshot(path=out / "explorer.png")
            tell(page)
            turn = visit.turn()
            page.locator(f"#{SLIDER}").evaluate(
                "(slider, place) => { slider.value = place;"
                " slider.dispatchEvent(new Event('input')); }",
                PLACE,
            )
            visit.wait_drawn(after=turn)
            visit.wait_settled()
            page.screenshot(path=out / "explorer-holds.png", full_page=True)
            tell(page)
        with visiting(
            browser, address, viewport={"width": 390, "height": 844}, color_scheme="dark"
        ) as visit:
            visit.wait_settled()
            visit.page.screenshot(path=out / "explorer-phone.png")


def tell(page: Any) -> None:
    """Print what the page says about the marked point."""
    for part in ("#readings", "#degree-says", "#step-says", "#step-numbers", "#map-says"):
        print(page.locator(part).inner_text())


if __name__ == "__main__":
    main()
