"""The README: a short first screen, and a program whose printed output is the one shown."""

import contextlib
import io
import re
import shlex
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner
from test_code_blocks import made_small, parse_only

from onegrad.cli.main import cli

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?")
PAPERS = ("Demir & Dogan", "Dandi et al.", "Ba et al.", "Cui et al.", "Moniri et al.", "Hu & Lu")
COMMANDS = re.findall(r"^\|.*\| `onegrad ([^`|]*)` \|$", README, re.MULTILINE)


def difference(shown, printed):
    """Return what differs first between two outputs, None if numbers agree to the digits shown."""
    words = [NUMBER.sub("#", text).split() for text in (shown, printed)]
    if words[0] != words[1]:
        return next((pair for pair in zip(*words, strict=False) if pair[0] != pair[1]), words)
    for ours, theirs in zip(NUMBER.findall(shown), NUMBER.findall(printed), strict=True):
        last_digit = 10.0 ** -len(ours.partition(".")[2])
        if abs(float(ours) - float(theirs)) > 1.001 * last_digit:
            return ours, theirs
    return None


def test_the_first_screen_is_short_and_names_every_paper():
    first_screen = README.partition("```python")[0]
    words = re.findall(r"[\w'-]+(?:\.\w+)*", first_screen)
    assert len(words) <= 120
    assert [paper for paper in PAPERS if paper not in first_screen] == []


def test_the_program_prints_what_is_shown():
    program, shown = re.search(
        r"```python\n(.*?)```\n\n```text\n(.*?)```", README, re.DOTALL
    ).groups()
    assert len([line for line in program.splitlines() if line]) <= 8
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(program, "README.md", "exec"), {})
    assert difference(shown, printed.getvalue()) is None
    # Negative control: the next digit of one number is noticed.
    assert difference(shown.replace("0.08217", "0.08219"), printed.getvalue())


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.split()[0])
def test_the_command_of_a_paper_runs(command):
    result = CliRunner().invoke(cli, made_small(shlex.split(command)), catch_exceptions=False)
    assert result.exit_code == 0, result.output


def test_percentages_in_the_text_are_those_printed():
    _, _, after = README.partition("```text\n")
    printed, _, text = after.partition("```\n")
    said = re.findall(r"(\d+)%", text.partition("## Two commands")[0])
    gaps = re.findall(r"([+-][\d.]+) ± [\d.]+ %", printed)
    assert said == [f"{abs(float(gaps[1])):.0f}", f"{abs(float(gaps[0])):.0f}"]


def test_other_commands_of_the_text_exist(tmp_path):
    table = README.partition("## Papers")[2].partition("Every command")[0]
    found = set(re.findall(r"`onegrad ([^`|]+)`", README.replace(table, "")))
    assert "reproduce 1a --scale paper" in found
    for command, *words in map(shlex.split, found):
        if words:
            parse_only(command, [*words, "--out", str(tmp_path)])
        else:
            assert command.startswith("--") or command in cli.commands


def test_every_paper_has_its_command():
    table = README.partition("## Papers")[2].partition("##")[0]
    assert len(COMMANDS) == len(PAPERS)
    assert all(f"| {paper}" in table for paper in PAPERS)


def test_no_block_is_left_out():
    """One program, installs, and the two commands that `.ci/run` executes."""
    blocks = re.findall(r"^```(\w+)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    assert [language for language, _ in blocks if language == "python"] == ["python"]
    for line in (
        line for language, text in blocks if language == "sh" for line in text.split("\n")
    ):
        assert re.match(r"$|pip install |python3 -m venv ", line)
        assert "onegrad explore" in line or line.startswith("python3") or "onegrad" not in line


def test_extras_that_are_installed_exist():
    named = {n for found in re.findall(r"'\.\[([\w,]*)\]'", README) for n in found.split(",")}
    assert named
    assert named <= set(PROJECT["optional-dependencies"])


def test_the_description_of_the_package_says_what_the_first_sentence_says():
    first = " ".join(README.partition("\n\n")[2].partition("\n\n")[0].split())
    assert first == f"onegrad {PROJECT['description'][0].lower()}{PROJECT['description'][1:]}."
    assert "Development Status :: 4 - Beta" in PROJECT["classifiers"]
