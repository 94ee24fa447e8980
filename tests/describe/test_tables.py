"""What is printed fits on a screen; what a notebook shows is escaped."""

import inspect
import re
from html.parser import HTMLParser

import numpy as np
import pytest

import onegrad as og
from conftest import small
from onegrad.data.fashion_mnist import LabelledImages
from onegrad.describe.tables import COLUMNS, LINES, Table
from onegrad.describe.value import complete_repr, complete_str

HOSTILE = "<script>alert(1)</script>\x1b[31m\n&\"'"
ALLOWED_TAGS = {"table", "caption", "b", "thead", "tbody", "tr", "th", "td", "div", "small"}
TINY = small(dimension=12, readout__samples=15, network__width=6)


def rows_of_hostile_classes():
    rng = np.random.default_rng(4)
    return rng.standard_normal((400, 20)), np.repeat([HOSTILE, "b"], 200)


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    inputs, labels = rows_of_hostile_classes()
    data = og.EmpiricalData(inputs, labels)
    real = og.Problem(data=data, readout={"samples": 40}, test_samples=20)
    many = og.fit_mixture(inputs, labels == "b", components_per_class=16, rank=3)
    steps = small(dimension=12, training__steps=40, network__width=6)
    sweep = og.Sweep(
        problem=real,
        axes={"network.width": list(range(5, 45)), "readout.ridge": [0.1, 1.0]},
        trials=1,
        models="network",
    )
    wide = {f"data.components.{i}.strengths": [0.5, 1.5] for i in range(2)}
    results = og.run_sweep(sweep, tmp_path_factory.mktemp("screen") / ("long" * 40))
    simulated = og.simulate(steps, ["network", "hermite"], trials=2, observe=True)
    return [
        *(TINY, TINY.data, TINY.teacher, TINY.network, TINY.training, TINY.readout, TINY.scaling),
        *(real, data, many, og.Component(), og.MixtureFit(), og.ClassLabels(), og.SignIndex()),
        *(
            og.LogisticIndex(),
            og.MultiIndex(),
            og.SingleIndex(),
            og.Problem(dimension=20, data=many),
        ),
        *(sweep, og.Sweep(problem=TINY, axes=wide), sweep.settings()[0], results, results.contents),
        *(
            simulated,
            simulated.estimate(),
            simulated.runs[0],
            *vars(simulated.runs[0].records[1]).values(),
        ),
        simulated.runs[0].records[1],
        og.predict_curve(TINY, samples=list(range(10, 90)), ridge=[0.1, 1.0, 2.0], draws=1),
        og.equivalence(TINY, list(range(1, 9)), dimensions=list(range(12, 24)), draws=2),
        og.tune(TINY, draws=1),
        og.maximal_rate_limit(
            *("tanh", "sin"),
            **dict.fromkeys(("step_ratio", "rate", "width_ratio", "ridge"), 2.0),
            sample_ratio=np.linspace(0.5, 4, 60),
        ),
    ]


@pytest.mark.filterwarnings("ignore")
def test_everything_public_fits_on_a_screen(shown):
    for value in shown:
        text = repr(value)
        assert len(text.splitlines()) <= LINES, text
        assert max(map(len, text.splitlines())) <= COLUMNS, text
        assert "\x1b" not in text


class Tags(HTMLParser):
    """Collects the tags of a page."""

    def __init__(self):
        super().__init__()
        self.tags = set()

    def handle_starttag(self, tag, attrs):
        """Keep a tag."""
        self.tags.add(tag)


@pytest.mark.filterwarnings("ignore")
def test_notebooks_get_tables_in_which_names_are_escaped(shown):
    described = 0
    for value in shown:
        if not hasattr(value, "_repr_html_"):
            continue
        page = value._repr_html_()
        reader = Tags()
        reader.feed(page)
        assert reader.tags <= ALLOWED_TAGS
        assert "\x1b" not in page
        described += "&lt;script&gt;" in page
    assert described >= 3  # the rows, the problem and the sweep that name the class


def test_a_table_that_is_not_escaped_would_be_seen():
    reader = Tags()
    reader.feed(Table(("a",), ((HOSTILE,),)).to_html())
    assert "script" not in reader.tags
    reader.feed(f"<td>{HOSTILE}</td>")
    assert "script" in reader.tags


def test_a_long_table_says_how_many_rows_are_left_out():
    rows = tuple((f"row {i}", f"{i}") for i in range(1000))
    text = Table(("name", "number"), rows, title="t", caption="c " * 900).to_text()
    assert len(text.splitlines()) == LINES
    assert "row 0 " in text
    assert "row 999" in text
    hidden = 1000 - sum(line.startswith("row ") for line in text.splitlines())
    assert f"… {hidden} more rows …" in text


def test_a_wide_table_keeps_its_first_and_last_columns():
    titles = tuple(f"column {i}" for i in range(40))
    text = Table(titles, (tuple("x" * 8 for _ in titles),)).to_text()
    assert text.splitlines()[0].startswith("column 0  column 1")
    assert text.splitlines()[0].endswith("…  column 39")


def test_texts_that_digests_rest_on_do_not_depend_on_the_screen():
    source = og.MixtureSource(components=(og.Component(label=1 / 3),))
    assert complete_repr(source) == (
        "MixtureSource(kind='mixture', components=(Component(weight=1.0, mean=None, level=1.0, "
        "rank=1, directions='random', strengths=1.0, label=0.3333333333333333),), alignment=None, "
        "equal_totals=False, counts='exact')"
    )
    assert complete_str(source).startswith("kind='mixture' components=(Component(weight=1.0, ")
    assert complete_str(0.5) == "0.5"


def test_completion_shows_our_words():
    foreign = [name for name in dir(TINY) if name.startswith(("model_", "_", "parse_"))]
    assert not foreign
    assert {"dimension", "data", "replace", "save", "load", "digest", "width"} <= set(dir(TINY))
    assert not {"json", "schema", "construct", "copy", "dict", "validate"} & set(dir(TINY))
    assert "Annotated" not in str(inspect.signature(og.Problem))


def test_a_mean_stands_beside_its_standard_error():
    errors = og.simulate(TINY.replace(readout__ridge=[0.1, 1.0]), "network", trials=2)
    estimate = errors.estimate()
    lines = repr(estimate).splitlines()
    assert lines[0] == "Estimate: mean ± standard error, shape (1, 2)"
    assert f"{estimate.mean[0, 1]:.5f} ± {estimate.stderr[0, 1]:.5f}" in lines[2]
    alone = type(estimate)(estimate.mean[0, 0], estimate.stderr[0, 0])
    assert f"{estimate.mean[0, 0]:.5f}" in repr(alone)


def test_theory_counts_draws_and_tells_its_error_beside_the_test_error():
    predicted = repr(og.predict(TINY, draws=2)).splitlines()
    assert predicted[0].startswith("Errors: predicted, 2 draws × 2 models")
    assert re.split(r"\s{2,}", predicted[1])[:3] == ["model", "test MSE", "theory error"]
    without = repr(og.predict(TINY, method="closed")).splitlines()[0]
    assert without == "Errors: predicted, 2 models × 1 ridge"


def test_what_may_be_given_by_place_stands_first_in_the_signature():
    parameters = list(inspect.signature(og.EmpiricalData).parameters.values())
    assert [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD] == ["inputs", "labels"]
    assert parameters[0].name == "inputs"
    assert all(p.kind is p.KEYWORD_ONLY for p in inspect.signature(og.Network).parameters.values())


def test_images_are_shown_by_their_shapes():
    images = LabelledImages(np.zeros((70, 784), np.uint8), np.zeros(70, np.uint8))
    assert "array(70 × 784)" in repr(images)
    assert "array(70 × 784)" in images._repr_html_()
