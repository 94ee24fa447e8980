"""The report's script: small files without an error that a linter knows."""

import subprocess
from pathlib import Path

import onegrad
from onegrad.papers.report import SCRIPTS, script
from optional_parts import ESLINT, NODE, ROOT, needs

FOLDER = Path(onegrad.__file__).parent / "papers" / "page"
RULES = Path(__file__).parent / "eslint.report.mjs"


def test_every_file_is_shipped_used_and_short():
    assert {path.name for path in FOLDER.glob("*.js")} == set(SCRIPTS)
    for path in [*FOLDER.glob("*.js"), FOLDER / "report.css"]:
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


@needs(NODE, ESLINT)
def test_eslint_finds_nothing(tmp_path):
    command = [NODE.look(), ESLINT.look(), "--no-config-lookup", "-c", str(RULES), str(FOLDER)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
