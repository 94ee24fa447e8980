"""The command line: one group, errors in one line. Heavy imports come late."""

from __future__ import annotations

import errno
import io
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import click

from onegrad import __version__
from onegrad.cli.cite import print_citation
from onegrad.cli.doctor import doctor
from onegrad.cli.equivalence import equivalence
from onegrad.cli.explore import explore
from onegrad.cli.fetch import fetch
from onegrad.cli.figures import figures
from onegrad.cli.last_resort import (
    DEFECT_CODE,
    defect_line,
    give_up_output,
    open_closed_streams,
)
from onegrad.cli.limit import limit
from onegrad.cli.plot import plot
from onegrad.cli.predict import predict
from onegrad.cli.reproduce import reproduce
from onegrad.cli.results import results
from onegrad.cli.shortening import shortened
from onegrad.cli.simulate import simulate
from onegrad.cli.steps import steps
from onegrad.cli.sweep import sweep
from onegrad.cli.tune import tune
from onegrad.machine.signals import exit_code, stop_on_signals

BAD_INPUT, UNFINISHED = 2, 1
# What the machine has too little of, where no file is to blame.
SHORT_OF = (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN)


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="onegrad")
@click.option(
    "--cite",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=print_citation,
    help="Print what to cite, as BibTeX, and stop.",
)
def cli() -> None:
    """Two-layer networks after one or several steps, beside their equivalent models."""


for command in (
    simulate,
    predict,
    equivalence,
    tune,
    limit,
    explore,
    steps,
    sweep,
    results,
    plot,
    reproduce,
    figures,
    fetch,
    doctor,
):
    cli.add_command(command)


def main() -> None:
    """Run the command line: errors are one line on stderr, exit code 2 for bad input."""
    if not open_closed_streams():
        sys.exit(_complain("output: standard output is closed; open it", BAD_INPUT))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without β still shows the numbers
    stop_on_signals()
    code = run_command(sys.argv[1:])
    give_up_output()
    sys.exit(code)


def run_command(arguments: Sequence[str]) -> int:
    """Return the exit code of one command; what goes wrong is one line on stderr."""
    warnings.showwarning = _note  # type: ignore[assignment]

    def run() -> Any:
        code = cli.main(list(arguments), prog_name="onegrad", standalone_mode=False)
        sys.stdout.flush()  # here, where a reader that has left is told in one line
        return code

    return _guarded(run, arguments)


def _note(message: Warning | str, *_details: object) -> None:
    click.echo(f"onegrad: note: {shortened(str(message))}", err=True)


def _guarded(run: Callable[[], Any], arguments: Sequence[str]) -> int:
    """Return the exit code of what `run` does; whatever it raises is said in one line."""
    try:
        code = run()  # click hands the code of a command that ended early back
    except click.exceptions.NoArgsIsHelpError as nothing:
        click.echo(nothing.ctx.get_help() if nothing.ctx else "")
        return BAD_INPUT
    except click.ClickException as error:
        context = getattr(error, "ctx", None)
        path = "onegrad" if context is None else context.command_path
        return _complain(f"{error.format_message().rstrip('.')}; see {path} --help", BAD_INPUT)
    except SystemExit as left:  # click's, where the reader of a pipe has had enough
        return left.code if isinstance(left.code, int) else UNFINISHED
    except (click.Abort, KeyboardInterrupt) as stop:
        # click turns an interrupt into Abort; a sweep's tells what is stored.
        cause = stop.__cause__ or stop
        said = str(cause) or "interrupted; start the command again to repeat it"
        return _complain(said, exit_code(cause))
    except Exception as error:  # the last resort: no traceback reaches a user
        return _complain(*said_of(error, arguments))
    return code if isinstance(code, int) else 0


def said_of(error: Exception, arguments: Sequence[str]) -> tuple[str, int]:
    """Return the one line and the exit code of an error that ended a command."""
    from onegrad.describe.exceptions import Failure, InvalidInput

    if isinstance(error, InvalidInput):
        return str(error), BAD_INPUT
    if isinstance(error, Failure):
        return str(error), UNFINISHED
    if isinstance(error, MemoryError):
        asked = f" ({error})" if str(error) else ""
        return f"memory: is not enough{asked}; lower dimension, samples or width", UNFINISHED
    if isinstance(error, OSError):
        return said_of_system(error)
    return defect_line(error, arguments), DEFECT_CODE


def said_of_system(error: OSError) -> tuple[str, int]:
    """Return the one line and the exit code of what the operating system refuses."""
    reason = error.strerror or str(error) or type(error).__name__
    if error.filename is not None:
        return f"file={os.fsdecode(error.filename)!r}: {reason}; check the path", BAD_INPUT
    if error.errno == errno.ENOENT:  # nothing was named: it is the folder that we are in
        return "working folder: does not exist any more; change to another", BAD_INPUT
    if error.errno in SHORT_OF:
        return f"system: {reason}; use fewer workers, or try again later", UNFINISHED
    return f"output: cannot be written ({reason}); check where it goes", UNFINISHED


def _complain(message: str, code: int) -> int:
    try:
        said = message if code == DEFECT_CODE else shortened(message)  # its path must be whole
        click.echo(f"onegrad: {said}", err=True)
    except OSError:
        return code  # standard error takes nothing: the code alone tells
    return code
