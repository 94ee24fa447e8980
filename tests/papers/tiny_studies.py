"""Every study made small, so that panels are computed in a moment, and tables without pictures."""

from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace

import pytest
from matplotlib import rc_context
from matplotlib.figure import Figure

from onegrad.describe.registry import Entry
from onegrad.papers.panel_registry import KINDS, STUDIES
from onegrad.papers.reproduction import panel_rows, plan_reproduction
from onegrad.plotting import style
from onegrad.verbs import predict

AXES = {
    "network.width_ratio": [0.5, 1.0],
    "scaling.weighting": [0.0, 1.0],
    "scaling.strength": [0.0, 0.74],
    "data.components.0.weight": [0.0, 0.5],
    "data.components.1.weight": [1.0, 0.5],
    "data.components.0.mean": [0.5, 1.5],
    "data.components.1.mean": [-0.5, -1.5],
    "data.alignment": [-1.0, 0.5],
    "data.components.*.rank": [1, 2],
    "dimension": [20, 30],
    "readout.samples": [20, 30],
    "readout.ridge": [1e-4, 1e-2],
    "readout.loss": ["square", "logistic"],
    "data.fit.components_per_class": [1, 2],
    "scaling.learning_rate": [1.0, 28.0],
    "scaling.change_exponent": [0.0, 0.36],
    "training.samples_exponent": [1.3, 2.0],
}
SIZES = {
    "dimension": 20,
    "network.width": 20,
    "readout.samples": 24,
    "training.samples": 60,
    "training.steps": 2,
    "test_samples": 64,
}


@contextmanager
def tiny_studies():
    """Put small studies in place of all, small pictures, and few points for theory to average."""
    with pytest.MonkeyPatch.context() as patch:
        entries = {name: Entry(tiny_study(STUDIES[name])) for name in STUDIES}
        patch.setattr(STUDIES, "entries", entries)
        patch.setattr(style, "DPI", 40)
        patch.setattr(predict, "ROUND_POINTS", 40)
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
    axes = {path: AXES[path] for path in study.axes if path in AXES}
    if "network.activation" in study.axes:
        # Two of them where a test asks for both: against width, and for several fits.
        images = "data.file" in _leaves(study) and "data.fit.components_per_class" not in study.axes
        both = "network.width_ratio" in study.axes and not images
        axes["network.activation"] = ["relu", "tanh"] if both else ["relu"]
    return replace(
        study,
        fields={**study.fields, **_tiny_fields(study)},
        axes={**study.axes, **axes},
        quick_fields={},
        quick_axes={},
        quick_verbs=None,
        published_sizes=("paper",),
        needs=None,
        trials=(2, 20),
        draws=(2, 4),
        closed_axes=(
            {path: [0.0, 0.4, 1.0] for path in study.closed_axes[0]},
            {path: [0.0, 1.0] for path in study.closed_axes[1]},
        ),
    )


def _leaves(study):
    """Return the paths of a study's fields, those of its data one by one."""
    return {*study.fields, *(f"data.{name}" for name in study.fields.get("data", ()))}


def _tiny_fields(study):
    fields = {path: SIZES[path] for path in study.fields if path in SIZES}
    if "data.file" not in _leaves(study):
        said = {"training.samples", "training.samples_exponent", "readout.samples"} & {
            *study.fields
        }
        return {"dimension": 20, **({} if said else {"readout.samples": 24}), **fields}
    data = {**study.fields["data"], "fit": {"components_per_class": 1, "rank": 2}}
    if study.needs:
        data["file"] = "fashion-mnist-sample"
    return {
        **fields,
        "readout.samples": 12,
        "training.samples": 10,
        "test_samples": 10,
        "data": data,
    }


def tables_of(names, folder):
    """Return rows, table and deviations of each panel by its name, without drawing it."""
    out = {}
    for ready in panel_rows(plan_reproduction(names, out=folder)):
        panel, rows = ready.panel, ready.rows
        kind = KINDS[panel.kind]
        table = kind.table(panel, rows)
        deviations = kind.deviations(panel, table, rows)
        out[panel.name] = SimpleNamespace(rows=rows, table=table, deviations=deviations)
    return out
