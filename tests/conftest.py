"""Shared helpers: small problems with everything in them."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
import warnings
from pathlib import Path

# Before numpy loads: two spinning BLAS threads on a busy machine slow small products down.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import pytest

from browser_case import browsing, serving, visiting
from onegrad import Component, MixtureSource, Problem
from onegrad.cli.main import run_command
from onegrad.core.run import Run
from onegrad.describe import registry as registries
from optional_parts import absent_parts

FIGURES = Path(__file__).parent / "papers"  # where tiny studies lie, for tests elsewhere too


def small(**changes):
    """Return a problem of dimension 40 that runs in milliseconds."""
    return Problem(dimension=40, readout={"samples": 50}, network={"width": 30}).replace(**changes)


def small_steps(**changes):
    """Return a problem of three giant steps that runs in milliseconds."""
    base = Problem(
        dimension=24,
        network={"width": 20},
        training={"samples": 300, "steps": 3},
        readout={"batch": "same", "penalty": 1.0},
        test="sampled",
        test_samples=500,
        teacher={"links": ["z+z**2", "z-z**2"]},
    )
    return base.replace(**changes)


def onegrad(*arguments, cwd=None):
    """Run the command line as a user does, in a process of its own."""
    return subprocess.run(
        [sys.executable, "-c", "from onegrad.cli.main import main; main()", *arguments],
        capture_output=True,
        text=True,
        cwd=cwd,
        check=False,
    )


def onegrad_here(*arguments, cwd=None):
    """Run the command line in this process, which saves the time of starting another."""
    stdout, stderr = io.StringIO(), io.StringIO()
    before = warnings.showwarning
    try:
        with (
            contextlib.chdir(cwd or "."),
            contextlib.redirect_stdout(stdout),
            contextlib.redirect_stderr(stderr),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("default")
            code = run_command(arguments)
    finally:
        warnings.showwarning = before
    return subprocess.CompletedProcess(arguments, code, stdout.getvalue(), stderr.getvalue())


@contextlib.contextmanager
def nothing_registered():
    """Forget what is registered inside: others see the names that they know."""
    before = {title: known.added() for title, known in registries._REGISTRIES.items()}
    try:
        yield
    finally:
        for title, known in registries._REGISTRIES.items():
            for name in known.added():
                del known.entries[name]
            known.entries.update(before.get(title, {}))


def pytest_collectreport(report):
    note_skipped(report)


def pytest_runtest_logreport(report):
    note_skipped(report)


def note_skipped(report):
    """Append what is skipped, with the reason, to $ONEGRAD_SKIPPED; .ci/run compares."""
    path = os.environ.get("ONEGRAD_SKIPPED")
    if path and report.skipped and not hasattr(report, "wasxfail"):
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(f"{report.nodeid}\t{report.longrepr[2]}\n")


@pytest.hookimpl(wrapper=True, tryfirst=True)  # after the list of what was skipped
def pytest_terminal_summary(terminalreporter):
    """Say which optional parts were absent, and the command that adds them."""
    yield
    skipped = terminalreporter.stats.get("skipped", [])
    for line in absent_parts({report.longrepr[2] for report in skipped}):
        terminalreporter.line(line)


@pytest.fixture(scope="module")
def browser():
    """Yield headless Chromium, for modules that have needs(CHROMIUM)."""
    with browsing() as chromium:
        yield chromium


@pytest.fixture(scope="session")
def client():
    """Yield a client of an explorer in this process, for tests that change nothing in it."""
    from explorer_cases import explorer_client

    with explorer_client() as running:
        yield running


@pytest.fixture(scope="session")
def address():
    """Yield the address of an explorer in a process of its own."""
    with serving("--dimension", "80", "--samples", "80") as url:
        yield url


@pytest.fixture
def visit(browser, address):
    """Yield a page of that explorer, with everything up to date."""
    with visiting(browser, address) as opened:
        opened.wait_settled()
        yield opened


@pytest.fixture(autouse=True)
def nothing_left_registered():
    """Let no test see what another has registered."""
    with nothing_registered():
        yield


@pytest.fixture
def rng():
    return np.random.default_rng(20250301)


@pytest.fixture
def rich_source():
    """Three components: means, levels, ranks 0 to 2, labels, fixed and uniform strengths."""
    rng = np.random.default_rng(7)
    return MixtureSource(
        components=(
            Component(weight=0.5, mean=0.3 * rng.standard_normal(40), rank=2, label=1.0),
            Component(weight=0.3, level=0.5, rank=1, strengths="uniform", label=-1.0),
            Component(weight=0.2, mean=-0.2 * np.ones(40), rank=0, label=1.0),
        )
    )


@pytest.fixture
def rows(rng):
    """Return 400 rows of two classes that differ in mean, scale and covariance."""
    y = np.repeat([3, 7], 200)
    x = rng.standard_normal((400, 10)) * np.where(y == 3, 1.0, 2.0)[:, None]
    x[:, 0] *= 3
    return x + np.where(y == 3, 1.0, -2.0)[:, None], y


@pytest.fixture
def tiny(monkeypatch):
    """Put small studies in place of those of all panels."""
    monkeypatch.syspath_prepend(FIGURES)
    from tiny_studies import tiny_studies

    with tiny_studies():
        yield


@pytest.fixture(scope="session")
def small_report(tmp_path_factory):
    """Return the path of a report over tiny panels of several kinds."""
    from small_reports import draw_small_report
    from tiny_studies import tiny_studies, unarranged_pictures

    with tiny_studies(), unarranged_pictures():
        return draw_small_report(tmp_path_factory.mktemp("report") / "figures")


@pytest.fixture(scope="session")
def hostile(small_report, tmp_path_factory):
    """Return the path of the same report where files hold markup in place of texts."""
    from small_reports import hostile_report

    return hostile_report(small_report.parent, tmp_path_factory.mktemp("hostile") / "figures")


@pytest.fixture
def unarranged(monkeypatch):
    """Draw pictures without arranging them, which takes most of their time."""
    monkeypatch.syspath_prepend(FIGURES)
    from tiny_studies import unarranged_pictures

    with unarranged_pictures():
        yield


@pytest.fixture
def advances(monkeypatch):
    """Return the numbers of the steps that are taken, as they are."""
    seen, advance = [], Run.advance

    def counted(self):
        taken = advance(self)
        seen.append(taken.number)
        return taken

    monkeypatch.setattr(Run, "advance", counted)
    return seen
