"""The command line as one group, whose errors are one line each."""

from __future__ import annotations

import errno
import io
import logging
import os
import platform
import re
import shlex
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from typing import Any

import click

from onegrad import __version__
from onegrad.cli.figures import figures, plot, reproduce
from onegrad.cli.sweeps import results, sweep
from onegrad.cli.tools import doctor, explore, fetch
from onegrad.cli.verbs import equivalence, limit, predict, simulate, steps, tune
from onegrad.describe.exceptions import Failure, InvalidInput
from onegrad.machine.signals import exit_code, stop_on_signals

LONGEST_WORD = 120  # a path of this length is still shown whole
LONGEST_LINE = 600
_LONG_WORD = re.compile(rf"\S{{{LONGEST_WORD + 1},}}")


def shortened(message: str) -> str:
    """Return a message as one line; very long words and lines lose their middle."""
    line = " ".join(message.split())
    line = _LONG_WORD.sub(lambda match: _without_middle(match.group(), LONGEST_WORD), line)
    return _without_middle(line, LONGEST_LINE)


def _without_middle(text: str, longest: int) -> str:
    """Return the beginning and the end of a string, which contain the field and the remedy."""
    if len(text) <= longest:
        return text
    half = (longest - 1) // 2
    return f"{text[:half]}…{text[-half:]}"


DEFECT_CODE = 70  # EX_SOFTWARE of sysexits.h
PACKAGES = ("onegrad", "numpy", "scipy", "pydantic", "click", "rich", "pandas", "joblib")
LONGEST_PART = 200_000  # characters of a traceback or command line in a report


def defect_line(error: BaseException, arguments: Sequence[str]) -> str:
    """Report an unexpected exception in a single line, and in a file that the line names."""
    reason = " ".join(f"{type(error).__name__}: {error}".split())
    line = f"defect: onegrad met an unexpected error ({reason[:160]})"
    path = write_report(report(error, arguments))
    if path is None:
        return f"{line} {_place(error)}; please report it, no report file could be written"
    return f"{line}; please report it and attach {path}"


def report(error: BaseException, arguments: Sequence[str]) -> str:
    """Return the text of a report: versions, command line and traceback."""
    lines = traceback.format_exception(error, limit=-200)
    versions = [f"{name} {version}" for name, version in _versions()]
    return "\n".join(
        [
            "onegrad: report of a defect",
            "",
            f"time     {time.strftime('%Y-%m-%d %H:%M:%S %z')}",
            f"command  {shlex.join(['onegrad', *arguments])[:LONGEST_PART]}",
            f"python   {platform.python_version()} on {platform.platform()}",
            *(f"package  {version}" for version in versions),
            "",
            "".join(lines)[-LONGEST_PART:],
        ]
    )


def write_report(text: str) -> Path | None:
    """Return the file that holds the text, whole: in the temporary folder, else in the cache."""
    name = f"onegrad-report-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}"
    for folder in _folders():
        try:
            folder.mkdir(parents=True, exist_ok=True)
            handle, part = tempfile.mkstemp(prefix=f".{name}-", dir=folder)
        except OSError:
            continue  # try the next folder
        target = folder / f"{name}{Path(part).name[-9:]}.txt"
        try:
            with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
                file.write(text)
            Path(part).replace(target)
        except OSError:
            Path(part).unlink(missing_ok=True)
            continue
        return target
    return None


def _folders() -> Iterator[Path]:
    """Yield the folders in which a report may be written, in order."""
    with suppress(OSError):  # no folder for temporary files on this machine
        yield Path(tempfile.gettempdir()).absolute()
    with suppress(RuntimeError):  # no home either
        yield Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "onegrad"


def _versions() -> Iterator[tuple[str, str]]:
    for name in PACKAGES:
        try:
            yield name, metadata.version(name)
        except metadata.PackageNotFoundError:
            yield name, "is not installed"


def _place(error: BaseException) -> str:
    """Return the innermost line of onegrad's code in an error's traceback."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "onegrad" in f.filename]
    return f"at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "nowhere"


def open_closed_streams() -> bool:
    """Return whether standard output was open; open the null device for every closed stream.

    Otherwise a file that is opened later would get the number of a closed stream, and with it the
    output that libraries print there.
    """
    open_before = sys.stdout is not None
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if getattr(sys, name) is None:
            handle = os.open(os.devnull, os.O_RDWR)
            if handle != number:
                os.dup2(handle, number)
                os.close(handle)
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115
    return open_before


def give_up_output() -> None:
    """Discard unwritten output if its reader is gone; Python would print an error otherwise."""
    null = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(null, stream.fileno())
    os.close(null)


ENTRIES = """\
@software{{onegrad,
  title   = {{onegrad}},
  author  = {{{{The onegrad authors}}}},
  version = {{{version}}},
  license = {{MIT}},
}}

@inproceedings{{demir2025asymptotic,
  title     = {{Asymptotic Analysis of Two-Layer Neural Networks after One Gradient Step under
               Gaussian Mixtures Data with Structure}},
  author    = {{Demir, Samet and Dogan, Zafer}},
  booktitle = {{International Conference on Learning Representations (ICLR)}},
  year      = {{2025}},
  url       = {{https://openreview.net/forum?id=tNn6Hskmti}},
}}
"""


def print_citation(context: click.Context, _option: click.Parameter, asked: bool) -> None:
    """Print the entries and end the command, if it was asked to."""
    if asked and not context.resilient_parsing:
        click.echo(ENTRIES.format(version=__version__), nl=False)
        context.exit()


class LineHandler(logging.Handler):
    """A handler that prints every record as a line on standard error."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print the record after the name of its logger."""
        click.echo(f"{record.name}: {record.getMessage()}", err=True)


def log_verbosely(context: click.Context, _option: click.Parameter, count: int) -> None:
    """Show log messages during the command: INFO and above, also DEBUG if asked for twice."""
    if count and not context.resilient_parsing:
        logger, handler = logging.getLogger("onegrad"), LineHandler()
        logger.addHandler(handler)
        context.call_on_close(lambda: logger.removeHandler(handler))
        context.call_on_close(lambda level=logger.level: logger.setLevel(level))
        logger.setLevel(logging.INFO if count == 1 else logging.DEBUG)


BAD_INPUT, UNFINISHED = 2, 1
# The machine lacks a resource; no file is to blame.
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
@click.option(
    "-v",
    "--verbose",
    count=True,
    expose_value=False,
    callback=log_verbosely,
    help="Show progress messages on standard error; twice shows more.",
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
    """Return the exit code of one command; an error is one line on stderr."""
    warnings.showwarning = _note  # type: ignore[assignment]

    def run() -> Any:
        Path.cwd()  # raises if the folder was deleted; later imports would fail in odd ways
        code = cli.main(list(arguments), prog_name="onegrad", standalone_mode=False)
        sys.stdout.flush()  # here, where a broken pipe becomes one line
        return code

    return _guarded(run, arguments)


def _note(message: Warning | str, *_details: object) -> None:
    click.echo(f"onegrad: note: {shortened(str(message))}", err=True)


def _guarded(run: Callable[[], Any], arguments: Sequence[str]) -> int:
    """Return the exit code of `run`; an exception becomes one line on stderr."""
    try:
        code = run()  # click returns the code of a command that ended early
    except click.exceptions.NoArgsIsHelpError as nothing:
        click.echo(nothing.ctx.get_help() if nothing.ctx else "")
        return BAD_INPUT
    except click.ClickException as error:
        context = getattr(error, "ctx", None)
        path = "onegrad" if context is None else context.command_path
        return _complain(f"{error.format_message().rstrip('.')}; see {path} --help", BAD_INPUT)
    except SystemExit as left:  # from click, after a broken pipe
        return left.code if isinstance(left.code, int) else UNFINISHED
    except (click.Abort, KeyboardInterrupt) as stop:
        # click turns an interrupt into Abort; the cause may have a message of its own.
        cause = stop.__cause__ or stop
        message = str(cause) or "interrupted; start the command again to repeat it"
        return _complain(message, exit_code(cause))
    except Exception as error:  # the last resort: no traceback reaches a user
        return _complain(*line_of(error, arguments))
    return code if isinstance(code, int) else 0


def line_of(error: Exception, arguments: Sequence[str]) -> tuple[str, int]:
    """Return the line and the exit code for an error that ended a command."""
    if isinstance(error, InvalidInput):
        return str(error), BAD_INPUT
    if isinstance(error, Failure):
        return str(error), UNFINISHED
    if isinstance(error, MemoryError):
        asked = f" ({error})" if str(error) else ""
        return f"memory: is not enough{asked}; lower dimension, samples or width", UNFINISHED
    if isinstance(error, OSError):
        return line_of_system(error)
    return defect_line(error, arguments), DEFECT_CODE


def line_of_system(error: OSError) -> tuple[str, int]:
    """Return the line and the exit code for an error of the operating system."""
    reason = error.strerror or str(error) or type(error).__name__
    if error.filename is not None:
        return f"file={os.fsdecode(error.filename)!r}: {reason}; check the path", BAD_INPUT
    if error.errno == errno.ENOENT:  # without a name, it is the working folder
        return "working folder: does not exist any more; change to another", BAD_INPUT
    if error.errno in SHORT_OF:
        return f"system: {reason}; use fewer workers, or try again later", UNFINISHED
    return f"output: cannot be written ({reason}); check where it goes", UNFINISHED


def _complain(message: str, code: int) -> int:
    try:
        line = message if code == DEFECT_CODE else shortened(message)  # a report's path is whole
        click.echo(f"onegrad: {line}", err=True)
    except OSError:
        return code  # standard error is closed: only the code is left
    return code
