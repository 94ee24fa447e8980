"""The report's script: small modules that run as one, linted with those of the explorer."""

import subprocess
from pathlib import Path

import onegrad
from onegrad.papers.report import SCRIPTS, script
from optional_parts import NODE, needs

PACKAGE = Path(onegrad.__file__).parent


def test_every_file_is_shipped_used_and_short():
    for package in ("plotting", "papers"):
        files = [*(PACKAGE / package / "page").glob("*.js")]
        used = {name for owner, name in SCRIPTS if owner == package}
        assert {path.name for path in files} == used
        for path in files:
            assert len(path.read_text("utf-8").splitlines()) <= 400, path


def test_the_script_cannot_end_its_element_and_asks_no_one():
    text = script()
    assert "</script" not in text
    assert "<!--" not in text
    for name in ("innerHTML", "fetch(", "XMLHttpRequest", "eval(", "http:"):
        assert name not in text.replace("http://www.w3.org/2000/svg", ""), name


@needs(NODE)
def test_the_script_is_javascript(tmp_path):
    file = tmp_path / "report.js"
    file.write_text(script(), "utf-8")
    done = subprocess.run(
        [NODE.look(), "--check", str(file)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
