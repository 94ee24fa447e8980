"""The page's own code: it runs, passes its linter, asks no other host, and names no field."""

import re
import subprocess
from pathlib import Path

import onegrad
from onegrad.core.problem import Problem
from onegrad.explorer.controls import controls_of
from optional_parts import ESLINT, NODE, needs

PACKAGE = Path(onegrad.__file__).parent
PAGE = PACKAGE / "explorer" / "page"
FOLDERS = (PAGE, PACKAGE / "plotting" / "page")
HERE = Path(__file__).parent


def page_files(*endings):
    return [path for folder in FOLDERS for path in folder.rglob("*") if path.suffix in endings]


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=HERE.parents[1])
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@needs(NODE)
def test_pure_modules_pass_their_own_tests():
    said = run(NODE.look(), "--test", str(HERE / "page"))
    assert int(re.search(r"^# pass (\d+)", said, re.MULTILINE).group(1)) >= 4


@needs(NODE, ESLINT)
def test_modules_pass_the_linter(tmp_path):
    eslint = (NODE.look(), str(ESLINT.look()))
    # The source: what is installed lies where the linter looks at nothing.
    source = HERE.parents[1] / "src" / "onegrad"
    pages = [str(source / name / "page") for name in ("explorer", "plotting", "papers")]
    run(*eslint, "--max-warnings", "0", *pages, str(HERE))
    # Negative control: a module with an unknown name is refused.
    wrong = source / "explorer" / "page" / "js" / "main.js"
    text = wrong.read_text() + "\nunknownName(1);\n"
    done = subprocess.run(
        [*eslint, "--stdin", "--stdin-filename", str(wrong)],
        input=text,
        capture_output=True,
        text=True,
        cwd=HERE.parents[1],
    )
    assert done.returncode == 1
    assert "no-undef" in done.stdout


def test_no_module_names_a_field_of_the_problem():
    paths = {control.path for control in controls_of(Problem())}
    dotted = {path for path in paths if "." in path}
    assert len(dotted) > 20
    for path in page_files(".js", ".html"):
        text = path.read_text()
        assert not [field for field in dotted if field in text], path


def test_the_page_has_no_inline_code_and_no_address_of_another_host():
    html = (PAGE / "index.html").read_text()
    assert not re.search(r"<script(?![^>]*\ssrc=)", html)
    assert not re.search(r"<style|\sstyle=|\son\w+=", html)
    for path in page_files(".js", ".html", ".css"):
        outside = re.findall(r"(?:https?:)?//[\w.-]+\.\w+[\w/.]*", path.read_text())
        assert set(outside) <= {"http://www.w3.org/2000/svg"}, path


def test_every_file_of_the_page_is_used():
    texts = "\n".join(path.read_text() for path in page_files(".js", ".html"))
    for path in page_files(".js", ".css"):
        assert path.name in texts, path
