"""The core needs no package of an extra, and says in one line which command installs one."""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest

from onegrad.describe.exceptions import InvalidInput
from onegrad.describe.extras import DISTRIBUTIONS, EXTRAS, MissingPackage, missing, require_extra

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
OWN_EXTRA = ("papers", "estimators", "explorer")  # folders that are no part of the core

# Modules of the core that cannot be imported without the extras, and what other folders say.
WALK = """
import importlib, json, pkgutil, sys
for name in json.loads(sys.argv[1]):
    sys.modules[name] = None
import onegrad
broken, said = [], {}
for part in pkgutil.iter_modules(onegrad.__path__):
    folder = f"onegrad.{part.name}"
    if part.name in json.loads(sys.argv[2]):
        try:
            importlib.import_module(folder)
        except ImportError as error:
            said[part.name] = str(error)
        continue
    for module in pkgutil.walk_packages([f"{onegrad.__path__[0]}/{part.name}"], f"{folder}."):
        try:
            importlib.import_module(module.name)
        except ImportError as error:
            broken.append(f"{module.name}: {error}")
print(json.dumps([broken, said]))
"""
RUN = """
import json, sys
for name in json.loads(sys.argv[1]):
    sys.modules[name] = None
sys.path.insert(0, sys.argv[2])
from conftest import onegrad_here
print(json.dumps({line: vars(onegrad_here(*line.split())) for line in sys.argv[3:]}))
"""
RUNNING = [
    "predict --method closed --dimension 1000 --samples 1000",
    "simulate --dimension 30 --samples 30 --trials 2",
    "steps --dimension 30 --samples 30 --json --trials 1",
    "steps --dimension 30 --samples 30 --trials 2",
]
REFUSED = {
    "tune --dimension 30 --samples 30": "frames",
    "simulate --data digits --classes 0,1": "data",
    "reproduce 1a": "figures",
}


def modules_of_extras():
    return sorted({module for modules in EXTRAS.values() for module in modules})


def in_the_core(code, *arguments):
    """Run code in a process for which the packages of all extras are not installed."""
    hidden = json.dumps(modules_of_extras())
    command = [sys.executable, "-c", code, hidden, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def distributions(extra):
    """Return what an extra of pyproject.toml brings, extras in it resolved."""
    found = set()
    for requirement in PROJECT["optional-dependencies"][extra]:
        inner = re.fullmatch(r"onegrad\[(.*)\]", requirement)
        if inner:
            found |= {name for part in inner[1].split(",") for name in distributions(part)}
        else:
            found.add(re.match(r"[\w-]+", requirement)[0])
    return found


@pytest.mark.parametrize("extra", EXTRAS)
def test_pyproject_brings_what_an_extra_needs(extra):
    needed = {DISTRIBUTIONS.get(module, module) for module in EXTRAS[extra]}
    assert needed <= distributions(extra)
    assert needed <= distributions("all")


def test_the_core_asks_for_no_package_of_an_extra():
    core = {re.match(r"[\w-]+", requirement)[0] for requirement in PROJECT["dependencies"]}
    assert not core & {DISTRIBUTIONS.get(m, m) for m in modules_of_extras()}


def test_every_module_of_the_core_imports_without_the_extras():
    run = in_the_core(WALK, json.dumps(OWN_EXTRA))
    broken, said = json.loads(run.stdout)
    assert broken == []
    # Negative control: what does need an extra is refused, in one line.
    assert said == {
        "papers": "figures: needs matplotlib and pandas; pip install 'onegrad[figures]'",
        "estimators": "estimators: needs scikit-learn; pip install 'onegrad[estimators]'",
    }


@pytest.fixture(scope="module")
def ended():
    """Return how every line ended in a process without the extras."""
    run = in_the_core(RUN, str(Path(__file__).parents[1]), *RUNNING, *REFUSED)
    assert run.returncode == 0, run.stderr
    return {line: SimpleNamespace(**done) for line, done in json.loads(run.stdout).items()}


@pytest.mark.parametrize("line", RUNNING)
def test_theory_and_simulation_run_in_the_core(line, ended):
    run = ended[line]
    assert run.returncode == 0, run.stderr
    assert run.stderr == ""
    assert "test" in run.stdout


@pytest.mark.parametrize(("line", "extra"), REFUSED.items())
def test_a_missing_package_is_one_line_with_the_command(line, extra, ended):
    run = ended[line]
    assert run.returncode == 2
    assert run.stdout == ""
    assert len(run.stderr.splitlines()) == 1
    assert f"pip install 'onegrad[{extra}]'" in run.stderr


def test_what_is_missing_is_named_by_its_distribution(monkeypatch):
    require_extra("to_frame", "data")  # here it is installed
    monkeypatch.setitem(sys.modules, "sklearn", None)
    assert missing("data") == ["scikit-learn"]
    with pytest.raises(MissingPackage, match=r"fit: needs scikit-learn; pip install 'onegrad\["):
        require_extra("fit", "data")
    assert issubclass(MissingPackage, InvalidInput)
