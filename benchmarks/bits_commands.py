"""Commands, requests of the explorer's page and refusals for `bits.py`, and what they give."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import signal
import subprocess
import sys
import tomllib
import urllib.error
import urllib.request
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import onegrad as og
from bits_problems import problem
from onegrad import simulate
from onegrad.cli.main import run_command

COMMAND_LINE = "from onegrad.cli.main import main; main()"
AGAIN = {"digest", "versions", "seconds", "milliseconds"}
SIZES = "--dimension 40 --samples 50 --width 30"
CLASSES = f"{SIZES} --task classification --activation tanh"
TABLE = "--data rows.csv --label-column kind --samples 30 --test-samples 40 --width 20"
APART = (
    "--dimension 20 --width 8 --samples 16 --activation tanh --rank 0 --draws 1 "
    "--task classification --loss logistic"
)
LIMIT = "limit --step-ratio 2 --rate 1 --width-ratio 1 --ridge 0.1"
# Each prints JSON, TOML or CSV; run in a folder with the files of `prepare`.
COMMANDS = (
    f"simulate {SIZES} --trials 2 --json",
    f"simulate {CLASSES} --trials 2 --ridge 1e-3,1e-1 --models network,conditional --json",
    f"simulate {CLASSES} --loss logistic --flips 0.1 --weights 0.3,0.7 --labels -1,1 --json",
    f"simulate {SIZES} --target-stderr 0.2 --seed 5 --json",
    f"simulate {SIZES} --steps 2 --rule sign --momentum 0.5 --batches reused --json",
    f"simulate {SIZES} --links z,He2 --combine sum --directions spikes --rank 2 --noise 0.1 --json",
    f"simulate {SIZES} --components 3 --rank 2 --strengths uniform --levels 1,0.5,2 --json",
    f"simulate {SIZES} --means 0.5,-0.5 --alignment 0.5 --equal-totals --test sampled --json",
    f"simulate {TABLE} --trials 2 --standardise --centring class --equal-traces --json",
    "simulate problem.toml --learning-rate 3 --spread 4 --trials 2 --workers 2 --json",
    f"predict {SIZES} --draws 2 --json",
    f"predict {SIZES} --method closed --ridge 1e-3,1e-1 --json",
    f"predict {CLASSES} --method auto --draws 1 --json",
    f"predict {SIZES} --samples 20,50 --step-samples 60 --draws 1 --json",
    f"predict {SIZES} --samples 20,50 --method closed --models network,linear,untrained --json",
    f"predict {TABLE} --check-trials 4 --draws 2 --components-per-class 2 --fit-rank 2 --json",
    f"equivalence {SIZES} --degrees 1,2,3 --draws 2 --json",
    f"equivalence {SIZES} --degrees 1,2 --dimensions 40,60,80 --draws 2 --json",
    f"equivalence {CLASSES} --metric misclassification --method closed --tolerance 0.1 --json",
    f"tune {SIZES} --over ridge --draws 2 --json",
    f"tune {SIZES} --over ridge,learning_rate --method closed --json",
    f"tune {SIZES} --over width --budget 20 --draws 1 --json",
    f"tune {TABLE} --over ridge --draws 2 --check-trials 4 --json",
    f"{LIMIT} --sample-ratio 0.5,2 --json",
    f"{LIMIT} --sample-ratio 1 --activation erf --target tanh --json",
    f"steps {SIZES} --steps 2 --trials 2 --json",
    f"steps {SIZES} --steps 2 --trials 1 --neurons --links z,He2 --json",
    "doctor --json",
    "simulate --task classification --width-ratio 2 --print-toml",
    "predict problem.toml --penalty 0.1 --print-toml",
    "steps --steps 3 --per-width 0.5 --spread 2 --step-samples-exponent 1.2 --print-toml",
    "results runs --csv -",
    "results runs --csv - --metric train_mse",
)
ENDPOINTS = (
    ("curve", {"points": 5, "draft": True}),
    ("curve", {"points": 5, "draft": False}),
    ("map", {"size": 3}),
    ("degree", {}),
    ("step", {}),
    ("copy", {"as": "toml"}),
    ("copy", {"as": "command"}),
    ("simulate", {"points": 3, "trials": 2}),
)
PAGES = (
    {"axis": "scaling.strength", "problem": {"dimension": 60, "readout.samples": 80}},
    {
        "axis": "readout.ridge",
        "problem": {"dimension": 60, "readout.samples": 80, "training.rule": "sign"},
        "models": ["network", "conditional"],
    },
)
# What is refused: a command line, or an expression.
REFUSALS = (
    "onegrad",
    "onegrad nonsense",
    "onegrad simulate --nonsense",
    "onegrad simulate --trials 0",
    "onegrad simulate --trials x",
    "onegrad simulate --trials 2 --target-stderr 0.1",
    "onegrad simulate --target-stderr 2",
    "onegrad simulate --seed -1",
    "onegrad simulate --workers 0",
    "onegrad simulate --dimension 0",
    "onegrad simulate --dimension 1000000000",
    "onegrad simulate --ridge 1e-3,x",
    "onegrad simulate --ridge -1",
    "onegrad simulate --ridge 1 --penalty 1",
    "onegrad simulate --models nonsense",
    "onegrad simulate --models hermite:x",
    "onegrad simulate --activation nonsense",
    "onegrad simulate --activation u**",
    "onegrad simulate --strength 2",
    "onegrad simulate --strength 0.5 --learning-rate 3",
    "onegrad simulate --per-width 1 --learning-rate 3",
    "onegrad simulate --rule whitened:x",
    "onegrad simulate --precision half",
    "onegrad simulate --degree-cap 50",
    "onegrad simulate --momentum 0.5",
    "onegrad simulate --batches reused",
    "onegrad simulate --subtract everything",
    "onegrad simulate --task nonsense",
    "onegrad simulate --task classification --link relu",
    "onegrad simulate --flips 0.1",
    "onegrad simulate --slope 2",
    "onegrad simulate --combine sum",
    "onegrad simulate --labels 1,2",
    "onegrad simulate --loss logistic",
    "onegrad simulate --loss nonsense",
    "onegrad simulate --outputs classes",
    "onegrad simulate --test-samples 100",
    "onegrad simulate --weights 0.5,0.6",
    "onegrad simulate --weights 0.5,x",
    "onegrad simulate --components 0",
    "onegrad simulate --components 3 --levels 1,2",
    "onegrad simulate --components 1 --alignment 0.5",
    "onegrad simulate --rank 0 --strengths uniform",
    "onegrad simulate --level 1 --levels 1,2",
    "onegrad simulate --links z,He2 --dimension 1",
    "onegrad simulate --centring none",
    "onegrad simulate --data digits --rank 2",
    "onegrad simulate --data digits --label-column kind",
    "onegrad simulate --data digits --classes 3,nonsense",
    "onegrad simulate --data missing.csv",
    "onegrad simulate --data rows.csv",
    "onegrad simulate --data rows.csv --label-column kind --samples 5000",
    "onegrad simulate missing.toml",
    "onegrad simulate broken.toml",
    "onegrad simulate unknown.toml",
    "onegrad simulate sweep.toml",
    "onegrad predict --method nonsense",
    "onegrad predict --draws 0",
    "onegrad predict --readout same",
    "onegrad predict --models conditional",
    "onegrad predict --models conditional --method closed",
    "onegrad predict --rule polar --method closed",
    "onegrad predict --steps 2 --method closed",
    "onegrad predict --links z,He2 --method closed",
    "onegrad predict --change-exponent 0.3 --spread 2 --method closed",
    "onegrad predict --dimension 5 --method closed",
    "onegrad predict --task classification --outputs classes --method closed",
    "onegrad predict --task classification --outputs classes --flips 0.1",
    "onegrad predict --task classification --outputs classes --loss logistic",
    f"onegrad predict {TABLE} --method closed",
    f"onegrad predict {APART} --means 30,-30 --ridge 1e-12",
    f"onegrad predict {APART} --means 10,-10 --ridge 1e-10 --method closed",
    "onegrad predict --samples 10,x",
    "onegrad predict --samples 10.5,20",
    "onegrad predict --check-trials 4",
    "onegrad equivalence --degrees 0.5",
    "onegrad equivalence --degrees 99",
    "onegrad equivalence --dimensions 40",
    "onegrad equivalence --tolerance 2",
    "onegrad equivalence --metric nonsense",
    "onegrad equivalence --metric misclassification",
    "onegrad equivalence --metric test_loss",
    "onegrad equivalence --samples 10,20",
    "onegrad equivalence --ridge 1e-3,1e-2",
    f"onegrad equivalence {TABLE} --dimensions 10,20",
    "onegrad tune --over nonsense",
    "onegrad tune --over ridge --ridge 1e-3",
    "onegrad tune --over width --ridge 1e-3,1e-2",
    "onegrad tune --over ridge --budget 10",
    "onegrad tune --budget 0",
    "onegrad tune --check-trials 2",
    "onegrad tune --over ridge --per-width 1 --spread 2",
    "onegrad tune --task sign --loss logistic --method closed",
    "onegrad limit",
    f"onegrad {LIMIT} --sample-ratio x",
    f"onegrad {LIMIT} --sample-ratio -1",
    f"onegrad {LIMIT} --sample-ratio 1 --activation relu",
    f"onegrad {LIMIT} --sample-ratio 1 --target nonsense",
    "onegrad steps --neurons",
    "onegrad steps --trials 0",
    "onegrad steps --steps 0",
    "onegrad sweep sweep.toml",
    "onegrad sweep missing.toml --out new",
    "onegrad sweep problem.toml --out new",
    "onegrad sweep axes.toml --out new",
    "onegrad sweep sweep.toml --out rows.csv",
    "onegrad sweep failing.toml --out failed",
    "onegrad sweep sweep.toml --out new --workers 0",
    "onegrad sweep sweep.toml --out new --dask nonsense",
    "onegrad results missing",
    "onegrad results empty",
    "onegrad results runs --metric nonsense",
    "onegrad results runs --csv empty",
    "onegrad plot missing",
    "onegrad plot runs --out plot.nonsense",
    "onegrad plot runs --width three",
    "onegrad plot runs --style nonsense",
    "onegrad plot runs --x nonsense",
    "onegrad plot runs --metric nonsense",
    "onegrad reproduce nonsense",
    "onegrad reproduce 1a --scale nonsense",
    "onegrad reproduce 1a --redraw nonsense",
    "onegrad reproduce 1a --workers 0",
    "onegrad reproduce missing.toml",
    "onegrad reproduce panel.toml",
    "onegrad figures 1a",
    "onegrad fetch 1a",
    "onegrad doctor --nonsense",
    "onegrad explore --port 99999",
    "onegrad explore --samples 10,20",
    "og.Problem(3)",
    "og.Problem(nonsense=1)",
    "og.Problem(dimension=-1)",
    "og.Problem(dimension=2.5)",
    "og.Problem(data={'kind': 'nonsense'})",
    "og.Problem(teacher={'link': 'nonsense'})",
    "og.Problem(network={'width': 5, 'width_ratio': 1})",
    "problem().replace(network__nonsense=1)",
    "problem().replace({'data.components.9.weight': 1})",
    "og.Problem.load('broken.toml')",
    "og.Component(weight=2)",
    "og.MixtureSource(components=[])",
    "og.MixtureSource(components=[og.Component(weight=0.2)])",
    "og.MultiIndex(links=[])",
    "og.MultiIndex(links=['nonsense'])",
    "og.EmpiricalData([[1.0], [np.nan]], [0, 1])",
    "og.EmpiricalData([[1.0], [2.0]], [0, 1, 2])",
    "og.simulate(3)",
    "og.simulate(problem(), [])",
    "og.simulate(problem(), trials=1.5)",
    "og.simulate(problem(), observe='yes')",
    "og.simulate(problem(), progress=3)",
    "og.simulate(problem(scaling__learning_rate=1e300, scaling__spread=1.0))",
    "og.predict(problem(), seed=-1)",
    "og.predict(problem(), method=None)",
    "og.predict(problem(teacher__link='exp(u**2)'))",
    "og.predict_curve(problem(), samples=[10], over={'scaling.strength': [0.1]})",
    "og.predict_curve(problem(), samples=[])",
    "og.predict_curve(problem(), over={})",
    "og.predict_curve(problem(), over={'scaling.strength': [0.1], 'dimension': [40, 50]})",
    "og.predict_curve(problem(), over={'training.steps': [1, 2]})",
    "og.predict_curve(problem(), over={'training.rule': ['gradient', 'sign']}, method='closed')",
    "og.equivalence(problem(), [])",
    "og.equivalence(problem(), dimensions=[40, 40])",
    "og.tune(problem(), [])",
    "og.tune(problem(), metric='misclassification')",
    "og.take_steps(problem(), trial=-1)",
    "og.take_steps(problem(), seed=None)",
    "og.maximal_rate_limit('relu', 'sin', **limits)",
    "og.Sweep(verbs=())",
    "og.Sweep(observe='steps', verbs='predict')",
    "og.Sweep(zip=['scaling.strength'])",
    "og.Sweep(axes={'scaling.strength': [0.1, 0.1]})",
    "og.Sweep(axes={'scaling.strength': [0.1, None]})",
    "og.Sweep(axes={'network.nonsense': [1]}).settings()",
    "og.run_sweep(3, 'new')",
    "og.run_sweep(og.Sweep(trials=10**9), 'new')",
    "og.Results.load('rows.csv')",
    "og.Errors.load('missing.npz')",
    "og.Errors.load('damaged.npz')",
    "og.Tuned.load('errors.npz')",
    "og.Errors.load('errors.npz')['nonsense']",
    "og.Errors.load('errors.npz').estimate('nonsense')",
    "og.Errors.load('errors.npz').plot(x='nonsense')",
    "og.Results.load('runs').gaps('nonsense')",
    "og.fit_mixture(np.ones((5, 2)), np.zeros(4))",
    "og.fit_mixture(np.ones((5, 2)), np.zeros(5), rank=-1)",
    "og.on_fitted_mixture(problem())",
    "og.load_fashion_mnist('empty')",
    "og.explore(3)",
    "og.register_function('relu', np.tanh)",
    "og.register_function('two words', np.tanh)",
    "og.register_function('bits_short', lambda u: u[:1])",
    "og.register_function('bits_nan', lambda u: np.where(u > 3, np.nan, u))",
    "og.simulate(problem(training__rule='bits_short_rule'))",
    "og.register_loss('square', dict)",
    "og.register_rule('gradient', np.tanh)",
    "og.register_model('bits_model', int)",
    "og.register_source(int)",
    "og.register_teacher(og.Problem)",
    "og.register_panel(3)",
    "og.register_panel_kind('bits_kind', 3)",
    "og.OneStepClassifier(0).fit(*rows)",
    "og.OneStepClassifier(ridge='nonsense').fit(*rows)",
    "og.OneStepClassifier(loss='nonsense').fit(*rows)",
    "og.OneStepClassifier(step_share=2).fit(*rows)",
    "og.OneStepClassifier(learning_rate='theory', strength=1).fit(*rows)",
    "og.OneStepClassifier().fit(rows[0], np.zeros(60))",
    "og.OneStepClassifier().predict(rows[0])",
    "og.OneStepRegressor(activation='nonsense').fit(*rows)",
    "og.OneStepRegressor(ridge='theory').fit(*rows)",
    "og.OneStepFeatures(task='nonsense').fit(*rows)",
)
LIMITS = dict.fromkeys(("step_ratio", "rate", "width_ratio", "sample_ratio", "ridge"), 1.0)
ROWS = np.random.default_rng(0).standard_normal((60, 4)), np.repeat([0.0, 1.0], 30)


def prepare() -> None:
    """Write the files that commands and refusals name into the working folder."""
    small = problem(dimension=30, readout__samples=20, network__width=10)
    small.save("problem.toml")
    axes = {"network.activation": ["relu", "tanh"], "readout.ridge": [1e-3, 1e-1]}
    sweep = og.Sweep(problem=small, axes=axes, verbs=("simulate", "predict"), trials=2, draws=1)
    sweep.save("sweep.toml")
    og.run_sweep(sweep, "runs")
    Path("axes.toml").write_text("[axes]\n'network.nonsense' = [1, 2]\n")
    Path("broken.toml").write_text("dimension = \n")
    Path("unknown.toml").write_text("nonsense = 1\n")
    Path("panel.toml").write_text(
        'name = "own"\ncaption = "own"\nx = "step"\nsweep = "sweep.toml"\n'
    )
    rows = pd.DataFrame(np.random.default_rng(2).standard_normal((400, 5)).round(3))
    rows = rows.add_prefix("x").assign(kind=np.repeat(["a", "b"], 200))
    rows.loc[rows["kind"] == "b", "x0"] += 1.5
    rows.to_csv("rows.csv", index=False)
    Path("empty").mkdir()
    simulate(small, trials=2).save("errors.npz")
    whole = Path("errors.npz").read_bytes()
    Path("damaged.npz").write_bytes(whole[: len(whole) // 2])
    og.register_rule("bits_short_rule", lambda gradient, inputs: gradient[:1])
    og.Sweep(problem=small.replace(training__rule="bits_short_rule")).save("failing.toml")


def command(line: str) -> tuple[int, str, str]:
    """Return exit code, output and messages of a command."""
    before, out, err = warnings.showwarning, io.StringIO(), io.StringIO()
    try:
        with (
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("default")
            code = run_command(line.split())
    finally:
        warnings.showwarning = before
    return code, out.getvalue(), err.getvalue()


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield every value of nested tables and lists by its path; sentences by their presence."""
    if isinstance(value, dict | list) and value:
        entries = value.items() if isinstance(value, dict) else enumerate(value)
        for name, inner in entries:
            if name not in AGAIN:
                yield from leaves(inner, f"{path}.{name}")
    elif isinstance(value, float):
        yield path, value.hex()
    else:
        sentence = isinstance(value, str) and len(value.split()) > 4
        yield path, "a sentence" if sentence else json.dumps(value)


def printed(line: str) -> tuple[dict[str, str], list[str]]:
    """Return the values that a command prints, by path, and what it says beside them."""
    code, out, err = command(line)
    if code:
        raise RuntimeError(f"{line}: {err}")
    out = out.replace(f"{Path.cwd()}/", "")
    if "--csv" in line:
        value = pd.read_csv(io.StringIO(out)).to_dict("list")
        value.pop("setting", None)
    else:
        value = json.loads(out) if "--json" in line else tomllib.loads(out)
    found = dict(leaves(value))
    if line.startswith("doctor"):  # which differs between machines
        found = {re.sub(r"\.\d+\.", ".*.", path): "" for path in found}
    return found, err.splitlines()


def refused(text: str) -> tuple[dict[str, str], list[str]]:
    """Return exception or exit code and the field of a refusal, and its message."""
    if text.partition(" ")[0] == "onegrad":
        code, _, err = command(text.removeprefix("onegrad"))
        lines = [line for line in err.splitlines() if not line.startswith("onegrad: note:")]
        message = lines[-1].removeprefix("onegrad: ") if lines else ""
        return {"code": str(code), "field": _field(message)}, [message]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            eval(text, {"og": og, "np": np, "problem": problem, "rows": ROWS, "limits": LIMITS})
    except Exception as error:
        return {"error": type(error).__name__, "field": _field(str(error))}, [str(error)]
    return {"error": "none", "field": ""}, []


def _field(message: str) -> str:
    """Return what a message names before = or :, without the words around a quoted name."""
    named = re.split(r"[=:;]", message)[0]
    quoted = re.search(r"'([^']+)'", named)
    return quoted[1] if quoted else named


def explored() -> Iterator[tuple[str, dict[str, str]]]:
    """Yield what the explorer answers for two states of its page."""
    run = [sys.executable, "-c", COMMAND_LINE, "explore", "--no-browser"]
    here = {**os.environ, "PYTHONPATH": str(Path(og.__file__).parents[1])}
    with subprocess.Popen(run, stdout=subprocess.PIPE, text=True, env=here) as server:
        assert server.stdout is not None
        address, _, token = server.stdout.readline().split()[-1].partition("?token=")
        try:
            for page, (name, more) in ((p, e) for p in PAGES for e in ENDPOINTS):
                body = json.dumps({"state": page, **more}).encode()
                headers = {"x-onegrad-token": token, "content-type": "application/json"}
                asked = urllib.request.Request(f"{address}api/{name}", body, headers)
                try:
                    with urllib.request.urlopen(asked) as answer:
                        lines = sorted(answer.read().decode().splitlines())
                except urllib.error.HTTPError as error:
                    said = json.loads(error.read())["error"]
                    lines = [json.dumps({"status": error.code, "field": _field(said)})]
                values = [json.loads(line) for line in lines if '"progress"' not in line]
                found = {"text": values[0]["text"]} if name == "copy" else dict(leaves(values))
                yield f"{page['axis']} {name} {more}", found
        finally:
            server.send_signal(signal.SIGINT)
