"""Every study made small, so that panels are computed in a moment, and tables without pictures."""

from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace

import pytest
from matplotlib import rc_context
from matplotlib.figure import Figure

from onegrad.describe.registry import Entry
from onegrad.figures.panel import Study
from onegrad.figures.panel_kinds import KINDS
from onegrad.figures.panel_registry import STUDIES
from onegrad.figures.plots import saving
from onegrad.figures.reproduction import panel_rows, plan_reproduction

AXES = {
    "network.width_ratio": [0.5, 1.0],
    "scaling.weighting": [0.0, 1.0],
    "scaling.strength": [0.0, 0.74],
    "data.components.0.weight": [0.0, 0.5],
    "data.components.1.weight": [1.0, 0.5],
    "data.alignment": [-1.0, 0.5],
    "data.components.*.rank": [1, 2],
    "dimension": [20, 30],
    "samples": [20, 30],
    "ridge": [1e-4, 1e-2],
    "data.fit.components_per_class": [1, 2],
    "scaling.learning_rate": [1.0, 28.0],
}
GIANT_AXES = {"batch_exponent": (1.3, 2.0), "step_size.exponent": (0.0, 0.36)}


@contextmanager
def tiny_studies():
    """Put small studies in place of all, and small pictures."""
    with pytest.MonkeyPatch.context() as patch:
        entries = {name: Entry(name, tiny_study(STUDIES[name])) for name in STUDIES}
        patch.setattr(STUDIES, "entries", entries)
        patch.setattr(saving, "DPI", 40)
        yield


@contextmanager
def unarranged_pictures():
    """Leave out ticks' labels and the arrangement of axes, more than half of a picture's time.

    `test_panel_kinds.py` arranges a picture of every kind.
    """
    labels = dict.fromkeys(["xtick.labelbottom", "ytick.labelleft"], False)
    with pytest.MonkeyPatch.context() as patch, rc_context(labels):
        patch.setattr(Figure, "get_layout_engine", lambda figure: None)
        yield


def tiny_study(study):
    """Return a study that is small at either scale."""
    fields, axes, trials = _tiny_sweep(study) if isinstance(study, Study) else _tiny_runs(study)
    return replace(
        study,
        fields={**study.fields, **fields},
        axes={**study.axes, **axes},
        quick_fields={},
        quick_axes={},
        needs=None,
        **trials,
    )


def _tiny_sweep(study):
    axes = {path: AXES[path] for path in study.axes if path in AXES}
    if "network.activation" in study.axes:
        # Two of them where a test asks for both: against width, and for several fits.
        images = "data" in study.fields and "data.fit.components_per_class" not in study.axes
        both = "network.width_ratio" in study.axes and not images
        axes["network.activation"] = ["relu", "tanh"] if both else ["relu"]
    fields = {"dimension": 20, "samples": 24}
    if "network.width" in study.fields:
        fields = {"dimension": 20, "network.width": 24, "step_samples": 24}
    if "data" in study.fields:
        data = {**study.fields["data"], "fit": {"components_per_class": 1, "rank": 2}}
        if study.needs:
            data["file"] = "fashion-mnist-sample"
        fields = {**fields, "samples": 12, "step_samples": 10, "test_samples": 10, "data": data}
        del fields["dimension"]
    return fields, axes, {"trials": (2, 20), "draws": (2, 4)}


def _tiny_runs(study):
    fields = {"dimension": 24, "width": 20, "test_samples": 64}
    fields |= {"steps": 2} if "steps" in study.fields else {}
    fields |= {"batch": 60} if "batch" in study.fields else {}
    axes = {path: GIANT_AXES[path] for path in study.axes if path in GIANT_AXES}
    return fields, axes, {"trials": (2, 4)}


def tables_of(names, folder):
    """Return rows, table and deviations of each panel by its name, without drawing it."""
    out = {}
    for panel, rows in panel_rows(plan_reproduction(names, out=folder)):
        kind = KINDS[panel.kind]
        table = kind.table(panel, rows)
        deviations = kind.deviations(panel, table, rows)
        out[panel.name] = SimpleNamespace(rows=rows, table=table, deviations=deviations)
    return out
