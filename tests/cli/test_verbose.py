"""Log messages: silent by default, on standard error with -v, more with -vv."""

import logging

import pytest

from conftest import onegrad_here, small
from onegrad import simulate

LINE = ("simulate", "--dimension", "15", "--samples", "15", "--trials", "2", "--workers", "2")


@pytest.mark.parametrize(("flags", "loggers"), [((), 0), (("-v",), 1), (("--verbose", "-v"), 2)])
def test_the_flag_chooses_how_much_is_logged(flags, loggers):
    done = onegrad_here(*flags, *LINE)
    assert done.returncode == 0
    assert ("onegrad.machine.pool: jobs: 2, workers: 2" in done.stderr) == (loggers >= 1)
    assert ("onegrad.machine.pool: tasks done: 2" in done.stderr) == (loggers >= 2)


def test_a_command_leaves_the_logger_as_it_was():
    logger = logging.getLogger("onegrad")
    before = logger.level, list(logger.handlers)
    onegrad_here("-vv", *LINE)
    assert (logger.level, logger.handlers) == before


def test_the_library_is_silent_until_a_handler_is_given(capfd, caplog):
    simulate(small(), ["network"], trials=1)
    assert capfd.readouterr() == ("", "")
    with caplog.at_level(logging.INFO, "onegrad"):
        simulate(small(), ["network"], trials=1)
    assert "jobs: 1, workers: 1" in caplog.text
