"""Optional parts: hidden by their variables, and one command that adds what is missing."""

from optional_parts import CHROMIUM, ESLINT, NODE, PARTS, absent_parts, needs


def test_a_variable_alone_says_where_a_program_is(monkeypatch, tmp_path):
    monkeypatch.setenv("ONEGRAD_NODE", str(tmp_path / "none"))
    assert NODE.look() is None
    (tmp_path / "none").write_text("#!/bin/sh\n")
    (tmp_path / "none").chmod(0o755)
    assert NODE.look() == str(tmp_path / "none")


def test_a_test_is_skipped_for_every_part_that_is_missing(monkeypatch, tmp_path):
    monkeypatch.setenv("ONEGRAD_CHROMIUM", str(tmp_path / "none"))
    monkeypatch.setenv("ONEGRAD_NODE_TOOLS", str(tmp_path))
    mark = needs(CHROMIUM, ESLINT).mark
    assert mark.args == (True,)
    assert CHROMIUM.reason in mark.kwargs["reason"]
    assert ESLINT.reason in mark.kwargs["reason"]


def test_reasons_are_those_that_readers_know():
    """Literal on purpose: .ci/run takes the reasons from the same place as the tests."""
    assert [part.reason for part in PARTS] == [
        "Chromium is missing; apt-get install -y chromium",
        "node is missing; apt-get install -y nodejs npm",
        "eslint is missing; npm install --prefix . --no-save eslint@9",
        "axe-core is missing; npm install --prefix . --no-save axe-core",
        "Fashion-MNIST is missing; apt-get install -y dataset-fashion-mnist",
        "tqdm is missing; pip install tqdm",
    ]


def test_the_absent_parts_and_their_command_come_from_the_reasons():
    absent, add = absent_parts({f"Skipped: {CHROMIUM.reason}, {ESLINT.reason}", "another reason"})
    assert absent == "absent: Chromium, eslint"
    assert add == (
        "add them: apt-get update && apt-get install -y chromium && "
        "npm install --prefix . --no-save eslint@9"
    )
    assert absent_parts({"another reason"}) == []
