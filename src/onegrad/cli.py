"""The command line: parse, call one public function, format. Heavy imports come late."""

from __future__ import annotations

import io
import json
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from onegrad import __version__
from onegrad.cli_figures import fetch, figures, reproduce
from onegrad.cli_steps import steps
from onegrad.cli_sweep import results, sweep
from onegrad.cli_theory import equivalence, limit, predict, tune
from onegrad.options import problem_options

DEFAULT_MODELS = "network,hermite"


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="onegrad")
def cli() -> None:
    """Two-layer networks after one gradient step, beside their equivalent models."""


@cli.command()
@problem_options
@click.option(
    "--models",
    default=DEFAULT_MODELS,
    show_default=True,
    metavar="NAMES",
    help="Comma list: network, hermite, hermite:DEGREE, linear, conditional, untrained.",
)
@click.option("--trials", type=int, help="Number of trials.  [default: 8]")
@click.option(
    "--target-stderr",
    type=float,
    metavar="FRACTION",
    help="Run until test_mse is known to this relative standard error.",
)
@click.option("--seed", type=int, default=0, show_default=True)
@click.option(
    "--workers",
    type=int,
    default=1,
    show_default=True,
    help="Processes, one BLAS thread each; the numbers do not depend on it.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--print-toml", is_flag=True, help="Print the problem as TOML and stop.")
def simulate(
    problem_file: str | None,
    models: str,
    trials: int | None,
    target_stderr: float | None,
    seed: int,
    workers: int,
    as_json: bool,
    print_toml: bool,
    **changes: Any,
) -> None:
    """Train the network and its equivalent models; print their errors with standard errors.

    The problem comes from PROBLEM.toml, from the options, or both: options win.
    """
    from onegrad.options import build_problem
    from onegrad.progress import TrialProgress
    from onegrad.report import print_table
    from onegrad.simulation import simulate as run

    problem = build_problem(None if problem_file is None else Path(problem_file), changes)
    if print_toml:
        from onegrad.problem_file import printed

        click.echo(printed(problem), nl=False)
        return
    names = models.split(",")
    with TrialProgress() as progress:
        errors = run(
            problem,
            names,
            trials=trials,
            target_stderr=target_stderr,
            seed=seed,
            workers=workers,
            progress=progress.update,
        )
    if as_json:
        click.echo(json.dumps(errors.to_dict(), allow_nan=False))
    else:
        print_table(errors)


for command in (
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
    warnings.showwarning = _note  # type: ignore[assignment]
    if sys.stdout is None:
        sys.exit(_complain("output: standard output is closed; open it", 2))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without β still shows the numbers
    sys.exit(_guarded(lambda: cli.main(prog_name="onegrad", standalone_mode=False)))


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
        from onegrad.validation import Failure, InvalidInput

        if isinstance(error, InvalidInput | Failure):
            return _complain(str(error), 2 if isinstance(error, InvalidInput) else 1)
        raise
    return code if isinstance(code, int) else 0


def _complain(message: str, code: int) -> int:
    click.echo(f"onegrad: {' '.join(message.split())}", err=True)
    return code
