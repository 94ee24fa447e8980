"""Odd command lines, generated from the real commands and options, and what makes one faulty.

Every line has a number: `odd_line(commands, seed, number)` is the same line alone and among others.
Sizes are tiny or absurd, nothing between, so that what is valid ends in milliseconds.
"""

import random
import re
from pathlib import Path

import click
from odd_files import FILES, odd_problem, odd_sweep

from onegrad.cli.options import MIXTURE_ONLY, ROWS_ONLY, FieldOption

LONG = "9" * 400
NUMBERS = [
    "0",
    "1",
    "2",
    "3",
    "0.5",
    "-1",
    "-0.0",
    "1.5",
    "7",
    "1e-12",
    "1e308",
    "-1e308",
    "1e-320",
]
NUMBERS += [
    "nan",
    "inf",
    "-inf",
    LONG,
    f"-{LONG}",
    "1e400",
    "9" * 12,
    "1e9",
    "0x10",
    "1_0",
    "１２",
    "٣",
]
LISTS = [
    "1,2",
    "1,2,3",
    "0.5,0.5",
    "1,-1",
    ",",
    "1,,2",
    "1e308,1e308",
    f"1,{LONG}",
    "nan,1",
    "3,2,1",
]
LISTS += ["1..5", "1:5", "1;2", "[1, 2]", "{1}", "0.25,0.25,0.5", "1,1", ",".join(["1"] * 300)]
TEXTS = [
    "",
    " ",
    "\t",
    "a\nb",
    "\\n",
    "é",
    "β",
    "\U0001f40d",
    "caf\udce9",
    "‮x",
    "%s%d",
    "{0}",
    "'",
    '"',
]
TEXTS += [
    "[red]x[/red]",
    "[/x]",
    "a" * 5000,
    "x " * 3000,
    "--",
    "-",
    "=",
    "None",
    "true",
    "$HOME",
    "`id`",
]
FORMULAS = ["relu", "tanh", "u**2", "z", "4*z + z**2", "u**u", "((((", "exp(exp(u))", "1/0", "u/0"]
FORMULAS += [
    "sqrt(-1)",
    "log(u)",
    "u+" * 400 + "u",
    "(" * 300,
    "__import__('os')",
    "lambda: 0",
    "max(u)",
]
FORMULAS += [
    "hermite:3",
    "hermite:-1",
    "hermite:999999999",
    f"hermite:{LONG}",
    "network,network",
    "huber:0",
]
PATHS = [
    "~nouser/x.npz",
    "~",
    "/",
    ".",
    "..",
    "/dev/null",
    "/dev/full",
    "nowhere/x.toml",
    "x" * 300,
]
PATHS += ["/".join(["d"] * 3000), "a:b", "tcp://127.0.0.1:1", "foo://127.0.0.1:1", "inproc://x:1"]
PATHS += ["ucx://[::1]:99999", "tls://localhost:2", "127.0.0.1:65536", "http://x:80"]
# Given first, so that an odd value after them wins: work of milliseconds, most of the time.
SMALL = {"dimension": "12", "samples": "14", "workers": "1", "out": "out", "over": "ridge"}
AT_TIMES = {"trials": "1", "draws": "1", "degrees": "1,2"}
REQUIRED = {
    "step_ratio": "1",
    "rate": "0.1",
    "width_ratio": "1",
    "sample_ratio": "1",
    "ridge": "0.1",
}
# What problems are about; a command that has not all of these options is left as it is.
SETTINGS = [
    {},
    {},
    {"task": "classification"},
    {"task": "sign"},
    {"task": "logistic"},
    {"steps": "2"},
]
SETTINGS += [{"links": "z,z**2"}, {"test": "sampled"}, {"task": "sign", "loss": "logistic"}]
SETTINGS += [
    {"data": "rows.npz"},
    {"data": "table.csv"},
    {"task": "classification", "labels": "1,-1"},
]
# A cluster on this machine takes seconds to start, and a test of its own starts one.
LEFT_OUT = {"dask": {"local"}}
CODES = {0, 1, 2, 130}  # 70 is documented too, and means that we have found a defect
LONGEST = 700


def commands_of(group, path=()):
    """Yield the path and the command of every command below a group."""
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from commands_of(command, (*path, name))
        else:
            yield (*path, name), command


def odd_line(group, seed, number):
    """Return the arguments of one odd command line."""
    rng = random.Random(f"{seed}:{number}")
    known = sorted(commands_of(group), key=lambda pair: pair[0])
    path, command = rng.choices(known, weights=[0.2 + len(c.params) ** 0.5 for _, c in known])[0]
    options = {p.name: p for p in command.params if isinstance(p, click.Option)}
    words = [*path]
    for name, value in _common(rng, options).items():
        words += [options[name].opts[0], value]
    others = MIXTURE_ONLY if "--data" in words else ROWS_ONLY
    usual = [option for name, option in options.items() if name not in others]
    for option in rng.sample(usual, min(len(usual), rng.choice([0, 0, 1, 2]))):
        words += _given(rng, option, odd=False)
    for option in rng.sample(list(options.values()), min(len(options), rng.choice([0, 1, 1, 2]))):
        words += _given(rng, option, odd=True)
    for argument in (p for p in command.params if isinstance(p, click.Argument)):
        if argument.required or argument.nargs == -1 or rng.random() < 0.15:
            words.insert(len(path), _of_argument(rng, argument))
    if rng.random() < 0.03:
        words.insert(rng.randint(0, len(words)), rng.choice([*TEXTS, "--bogus", "-h", "--ver"]))
    return words


def _common(rng, options):
    """Return what makes the work of a line small, and what its problem is about."""
    given = dict(SMALL)  # always: what an option after them overrides is odd enough
    given |= {n: v for n, v in AT_TIMES.items() if rng.random() < 0.9}
    given |= {n: v for n, v in REQUIRED.items() if n in options and options[n].required}
    setting = rng.choice(SETTINGS)
    given |= setting if setting.keys() <= options.keys() else {}
    if "data" in given:
        given.pop("dimension", None)  # it is that of the data
    return {n: v for n, v in given.items() if n in options}


def _of_argument(rng, argument):
    if argument.nargs == -1 and rng.random() < 0.7:
        return rng.choice(["1a", "1b", "G2", "T1", "1A", "1a,1b"])  # panels
    if rng.random() < 0.8:
        return rng.choice(["odd.toml"] * 10 + ["small.toml", "sweep.toml", *FILES])
    return rng.choice([*PATHS, *TEXTS, "out"])


def _given(rng, option, *, odd):
    """Return an option with a value that fits it, or that is odd."""
    flag = rng.choice([*option.opts, *option.secondary_opts])
    if option.is_flag:
        return [flag]
    fits = fitting(option)
    values = fits
    if odd:
        numeric = all(value[:1].isdigit() for value in fits) and rng.random() < 0.8
        pools = [NUMBERS] if numeric else [NUMBERS, LISTS, FORMULAS, [*PATHS, *FILES], TEXTS]
        values = rng.choice(pools)
    value = rng.choice([v for v in values if v not in LEFT_OUT.get(option.name, ())])
    return [f"{flag}={value}"] if rng.random() < 0.2 else [flag, value]


def fitting(option):
    """Return values that an option may take: choices, small numbers, default, words of its help."""
    if isinstance(option.type, click.Choice):
        return list(option.type.choices)
    if isinstance(option, FieldOption):
        option.get_help_record(click.Context(click.Command("x")))  # its field fills help in
    held = option.metavar or ""
    if option.type is click.INT or held == "INTEGER":
        return ["1", "2", "3", "5"]
    if option.type is click.FLOAT or held == "NUMBER":
        return ["0.1", "0.5", "1", "2"]
    if held.startswith("NUMBERS"):
        return ["1", "0.5,0.5", "1,2", "1,-1", *held.split("|")[1:]]
    if isinstance(option, FieldOption) and "|" in held:
        return held.split("|")
    default = [option.default] if isinstance(option.default, str) else []
    return [*re.findall(r"[a-z][a-z_:-]{2,}", option.help or ""), *FORMULAS[:5], *default * 3]


def write_odd_files(seed, number, folder=Path()):
    """Write the problem and sweep files that belong to a line."""
    rng = random.Random(f"files {seed}:{number}")
    odd = odd_sweep(rng) if rng.random() < 0.4 else odd_problem(rng)
    (folder / "odd.toml").write_text(odd, encoding="utf-8")


def faults(done):
    """Return what is wrong with how a command ended: nothing, where the user was told in a line."""
    found = []
    if done.returncode not in CODES:
        found.append(f"exit code {done.returncode}")
    if "Traceback (most recent call last)" in done.stdout + done.stderr:
        found.append("traceback")
    lines = done.stderr.splitlines()
    if any(not line.startswith("onegrad: ") for line in lines):
        found.append("a message of several lines, or not ours")
    if any(len(line) > LONGEST for line in lines):
        found.append("a line that nobody reads")
    said = [line for line in lines if not line.startswith("onegrad: note: ")]
    if done.returncode == 2 and not done.stdout.startswith("Usage:"):
        if len(said) != 1 or ";" not in said[0]:
            found.append("bad input without one line that names the remedy")
        if done.stdout:
            found.append("output beside bad input")
    return found
