"""The command line: one group, errors in one line. Heavy imports come late."""

from __future__ import annotations

import functools
import io
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import click

from onegrad import __version__
from onegrad.cli.equivalence import equivalence
from onegrad.cli.fetch import fetch
from onegrad.cli.figures import figures
from onegrad.cli.limit import limit
from onegrad.cli.predict import predict
from onegrad.cli.reproduce import reproduce
from onegrad.cli.results import results
from onegrad.cli.simulate import simulate
from onegrad.cli.steps import steps
from onegrad.cli.sweep import sweep
from onegrad.cli.tune import tune


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="onegrad")
def cli() -> None:
    """Two-layer networks after one or several steps, beside their equivalent models."""


for command in (
    simulate,
    predict,
    equivalence,
    tune,
    limit,
    steps,
    sweep,
    results,
    reproduce,
    figures,
    fetch,
):
    cli.add_command(command)


def main() -> None:
    """Run the command line: errors are one line on stderr, exit code 2 for bad input."""
    if sys.stdout is None:
        sys.exit(_complain("output: standard output is closed; open it", 2))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without β still shows the numbers
    sys.exit(run_command(sys.argv[1:]))


def run_command(arguments: Sequence[str]) -> int:
    """Return the exit code of one command; what goes wrong is one line on stderr."""
    warnings.showwarning = _note  # type: ignore[assignment]
    call = functools.partial(cli.main, list(arguments), prog_name="onegrad", standalone_mode=False)
    return _guarded(call)


def _note(message: Warning | str, *_details: object) -> None:
    click.echo(f"onegrad: note: {' '.join(str(message).split())}", err=True)


def _guarded(run: Callable[[], Any]) -> int:
    try:
        code = run()  # click hands the code of a command that ended early back
    except click.exceptions.NoArgsIsHelpError as nothing:
        click.echo(nothing.ctx.get_help() if nothing.ctx else "")
        return 2
    except click.ClickException as error:
        context = getattr(error, "ctx", None)
        path = "onegrad" if context is None else context.command_path
        return _complain(f"{error.format_message().rstrip('.')}; see {path} --help", 2)
    except OSError as error:
        return _complain(f"output: cannot be written ({error.strerror}); check where it goes", 1)
    except (click.Abort, KeyboardInterrupt) as stop:
        # click turns an interrupt into Abort; a sweep's tells what is stored.
        said = str(stop.__cause__ or stop) or "interrupted; start the command again to repeat it"
        return _complain(said, 130)
    except (ValueError, RuntimeError) as error:
        from onegrad.describe.exceptions import Failure, InvalidInput

        if isinstance(error, InvalidInput | Failure):
            return _complain(str(error), 2 if isinstance(error, InvalidInput) else 1)
        raise
    return code if isinstance(code, int) else 0


def _complain(message: str, code: int) -> int:
    click.echo(f"onegrad: {' '.join(message.split())}", err=True)
    return code
