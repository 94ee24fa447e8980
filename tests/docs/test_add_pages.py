"""The pages "Add a …" hold programs that run from outside the package, on two workers."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGES = Path(__file__).parents[2] / "docs"
NAMES = ["function", "model", "data_source", "teacher", "rule"]


def program_of(name):
    text = (PAGES / f"add_a_{name}.md").read_text("utf-8")
    (program,) = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    return program


def is_as_promised(said, folder):
    pairs = re.findall(r"trained ([\d.]+), theory ([\d.]+)", said)
    assert pairs
    for trained, theory in pairs:
        # 16 paired draws at n = 60: standard errors of 3 %, and C/n with C = 6 as in the theory's
        # own tests.
        assert float(theory) == pytest.approx(float(trained), rel=4 * 0.03 + 6 / 60)
    assert re.search(r"[1-9]\d* values, 0 failures", said)
    assert list((folder / "runs").glob("rows-*"))


@pytest.mark.parametrize("name", NAMES[1:])
def test_a_page_s_program_goes_through_simulate_predict_and_a_sweep(
    name, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    exec(compile(program_of(name), name, "exec", dont_inherit=True), {"__name__": "__main__"})
    is_as_promised(capsys.readouterr().out, tmp_path)


def test_a_page_s_program_runs_in_a_process_of_its_own(tmp_path):
    (tmp_path / "program.py").write_text(program_of(NAMES[0]))
    done = subprocess.run(
        [sys.executable, "program.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    is_as_promised(done.stdout, tmp_path)
