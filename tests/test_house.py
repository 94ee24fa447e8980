"""The house: imports point one way, and every module can be read in one sitting."""

import ast
from pathlib import Path

import onegrad

SOURCE = Path(onegrad.__file__).parent

# Each module may import only modules that stand before it.
ORDER = [
    "validation",
    "files",
    "arrays",
    "polynomials",
    "closed_forms",
    "activations",
    "interpolation",
    "expectations",
    "hermite",
    "randomness",
    "data.counts",
    "data.mixture",
    "data.population",
    "data.source",
    "data.fashion_mnist",
    "data.labelled",
    "data.fitting",
    "data.preparation",
    "data.empirical",
    "data.teacher",
    "scaling",
    "problem",
    "problem_file",
    "instance",
    "fitted",
    "network",
    "sharing",
    "laws",
    "equivalents",
    "local",
    "conditional",
    "models",
    "series",
    "pairs",
    "moments",
    "population",
    "theory.spectrum",
    "theory.structured",
    "theory.ridge",
    "theory.conditional",
    "readout",
    "evaluation",
    "trial",
    "results",
    "resources",
    "simulation",
    "theory.prediction",
    "theory.equivalence",
    "theory.tuning",
    "theory.limit",
    "sweep",
    "store",
    "giant.links",
    "giant.teacher",
    "giant.problem",
    "giant.spectra",
    "giant.stream",
    "giant.features",
    "giant.result",
    "giant.saved",
    "giant.steps",
    "jobs",
    "cost",
    "engines",
    "engine_dask",
    "sweep_results",
    "driver",
    "figures.study",
    "figures.image_panels",
    "figures.steps_study",
    "figures.steps_panels",
    "figures.registry",
    "figures.tables",
    "figures.steps_runs",
    "figures.steps_tables",
    "figures.plot",
    "figures.steps_plot",
    "figures.page",
    "figures.reproduce",
    "progress",
    "report",
    "options",
    "cli_sweep",
    "cli_figures",
    "cli_theory",
    "cli_steps",
    "cli",
]
DEFERRED = {("problem", "problem_file")}  # imported inside load and save


def modules():
    for path in sorted(SOURCE.rglob("*.py")):
        name = ".".join(path.relative_to(SOURCE).with_suffix("").parts)
        if path.stem != "__init__":
            yield name, path


def imports(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("onegrad"):
            inner = node.module.removeprefix("onegrad").lstrip(".")
            if inner:
                yield inner
            else:
                yield from (alias.name for alias in node.names if alias.name in ORDER)


def test_every_module_has_its_place_in_the_order():
    assert sorted(name for name, _ in modules()) == sorted(ORDER)


def test_imports_point_one_way():
    for name, path in modules():
        for other in imports(path):
            if (name, other) not in DEFERRED:
                assert ORDER.index(other) < ORDER.index(name), f"{name} imports {other}"


def test_the_first_layer_and_moments_never_touch_the_readout():
    for name, path in modules():
        if name in ("network", "moments", "pairs", "laws", "equivalents", "conditional"):
            assert "readout" not in set(imports(path)), name


def test_no_module_is_longer_than_four_hundred_lines():
    for name, path in modules():
        assert len(path.read_text().splitlines()) <= 400, name


def test_public_names_resolve_and_are_documented():
    for name in onegrad.__all__:
        assert getattr(onegrad, name).__doc__, name
