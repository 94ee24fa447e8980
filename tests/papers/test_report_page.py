"""The report's page: the verdict first, words that are true, and no text that becomes markup."""

import base64
import hashlib
import itertools
import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from small_reports import NAMES, keep_again

from onegrad.papers.captions import setting_rows
from onegrad.papers.panel_registry import PANELS, study_of
from onegrad.papers.report import bound, data_block, write_report

BLOCK = re.compile(r'<script type="application/json">(.*?)</script>', re.DOTALL)


class Elements(HTMLParser):
    """Every element of a page with its attributes, and the text inside scripts and styles."""

    def __init__(self, text):
        super().__init__()
        self.found, self.inside, self.texts = [], None, []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))
        self.inside = tag if tag in ("script", "style") else None

    def handle_endtag(self, tag):
        self.inside = None

    def handle_data(self, data):
        if self.inside:
            self.texts.append((self.inside, self.found[-1][1], data))


def views(text):
    return [json.loads(block) for block in BLOCK.findall(text)]


def test_the_verdict_stands_before_every_panel_and_says_what_agreeing_means(small_report):
    text = small_report.read_text("utf-8")
    verdict = text.index('id="verdict"')
    assert all(verdict < text.index(f'id="panel-{name}"') for name in NAMES)
    said = text[verdict : text.index('id="reading"')]
    assert re.search(r"[\d,]+ of [\d,]+ compared points agree\.", said)
    assert bound(0.03) == "3 % plus four standard errors"
    assert said.count("3 % plus four standard errors") == 1
    assert "10 % plus four standard errors in C1a" in said


def test_a_bound_is_never_named_without_its_four_standard_errors(small_report):
    text = small_report.read_text("utf-8")
    apart = re.findall(r"by more than [\d.]+ %(.{26})", text)
    assert apart
    assert set(apart) == {" plus four standard errors"}


def test_counts_of_the_verdict_are_sums_over_panels(small_report):
    abouts = [json.loads((small_report.parent / f"{n}.json").read_text("utf-8")) for n in NAMES]
    deviations = [d for about in abouts for d in about["deviations"] if d["total"]]
    deviations = [d for d in deviations if not d["total"].endswith("against published")]
    known, beyond = (sum(d[name] for d in deviations) for name in ("known", "beyond"))
    assert f"{known - beyond:,} of {known:,} compared points agree." in small_report.read_text()


def test_the_page_allows_its_own_style_and_script_alone(small_report):
    page = Elements(small_report.read_text("utf-8"))
    (policy,) = [a["content"] for tag, a in page.found if tag == "meta" and "http-equiv" in a]
    assert "default-src 'none'" in policy
    for kind, attributes, text in page.texts:
        if attributes.get("type") != "application/json":
            digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
            assert f"{kind}-src 'sha256-{digest}'" in policy
    assert "unsafe" not in policy
    sources = [a[n] for _, a in page.found for n in ("src", "href") if n in a]
    assert all(source.startswith(("data:image/png", "#")) for source in sources)


def test_every_panel_has_its_picture_its_numbers_and_its_setting(small_report):
    text = small_report.read_text("utf-8")
    pictures = [a for tag, a in Elements(text).found if tag == "img"]
    assert len(pictures) == len(views(text)) == len(NAMES)
    assert all(picture["alt"] for picture in pictures)
    assert text.count('<details class="setting">') == len(NAMES)
    assert "nan" not in "".join(BLOCK.findall(text)).lower()


def test_views_hold_the_numbers_of_the_tables(small_report):
    by_name = dict(
        zip([n for n in PANELS if n in NAMES], views(small_report.read_text()), strict=True)
    )
    plot, beside = by_name["1a"]["plots"]
    assert [p["title"] for p in (plot, beside)] == [
        f"n = 20, m = 24 ({which})" for which in ("trained here", "published size")
    ]
    assert {c["role"] for c in beside["curves"]} == {
        *("network, closed theory", "published", "published, Hermite model")
    }
    network = [c for c in plot["curves"] if (c["series"], c["role"]) == ("ReLU", "network")]
    lines = (small_report.parent / "1a.csv").read_text("utf-8").splitlines()
    own = [line.split(",") for line in lines if line.startswith("1a,half_test_mse,relu,network,")]
    own = [line for line in own if "(trained here)" in ",".join(line)]
    assert network[0]["y"] == [pytest.approx(float(line[6]), rel=1e-5) for line in own]
    assert network[0]["stderr"] == [pytest.approx(float(line[7]), rel=1e-5) for line in own]
    assert network[0]["trials"] == [2, 2]
    assert {"best constant prediction", "network, closed theory"} <= {
        curve["role"] for curve in plot["curves"]
    }
    assert [m["title"] for m in by_name["4a"]["maps"]] == [
        *("simulated", "theory", "closed theory"),
        *("closed theory, n = 20, m = 24", "published, n = 20, m = 24"),
    ]
    assert by_name["degrees"]["maps"][0]["guides"]
    assert len(by_name["G2"]["plots"]) == 2 + 2  # two steps, angles, errors


def test_published_values_stand_beside_ours_in_curves_and_maps(small_report, tmp_path):
    for name in ("1a", "4a"):
        for form in ("json", "png", "csv"):
            file = small_report.parent / f"{name}.{form}"
            (tmp_path / file.name).write_bytes(file.read_bytes())
        rows = [line.split(",") for line in (tmp_path / f"{name}.csv").read_text().splitlines()]
        place = rows[0].index("published")
        for row in rows[1:]:
            row[place] = "0.05"
        keep_again(tmp_path, name, table="\n".join(",".join(row) for row in rows))
    curves, maps = views(write_report(tmp_path).read_text("utf-8"))
    published = [c for c in curves["plots"][0]["curves"] if c["role"].startswith("published")]
    assert {c["mark"] for c in published} == {"cross", "plus"}
    assert all(set(c["y"]) == {0.05} for c in published)
    assert maps["maps"][-1]["title"] == "published, n = 20, m = 24"


def test_no_text_of_a_file_becomes_markup(hostile, small_report):
    page, plain = (Elements(path.read_text("utf-8")) for path in (hostile, small_report))
    kinds = [
        [tag for tag, _ in p.found if tag in ("script", "img", "style")] for p in (page, plain)
    ]
    assert kinds[0] == kinds[1]
    assert not [name for _, a in page.found for name in a if name.startswith("on")]
    series = {c["series"] for c in views(hostile.read_text("utf-8"))[0]["plots"][0]["curves"]}
    assert any("</script>" in name for name in series)  # as data, whole


def test_headings_have_no_gap(small_report):
    levels = [
        int(t[1]) for t, _ in Elements(small_report.read_text()).found if t in ("h1", "h2", "h3")
    ]
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))


def test_a_data_block_cannot_be_ended_from_inside():
    block = data_block({"a": "</script><!-- <script> & \u2028"})
    assert block.count("<") == 2
    assert json.loads(BLOCK.fullmatch(block)[1]) == {"a": "</script><!-- <script> & \u2028"}


@pytest.mark.parametrize(
    ("name", "text", "kept"), [("1a.json", "{", False), ("1a.csv", "a,b\n1,2\n", True)]
)
def test_files_that_reproduce_did_not_write_are_said(small_report, tmp_path, name, text, kept):
    for form in ("json", "png", "csv"):
        file = small_report.parent / f"1a.{form}"
        (tmp_path / file.name).write_bytes(file.read_bytes())
    if kept:
        keep_again(tmp_path, "1a", table=text)
    else:
        (tmp_path / name).write_text(text, "utf-8")
    with pytest.warns(UserWarning, match=name) as said:
        page = write_report(tmp_path).read_text("utf-8")
    assert ('id="panel-1a"' in page) == kept
    assert views(page) == []
    assert all("\n" not in str(warning.message) for warning in said)


def setting_of(name, **changes):
    study = study_of(PANELS[name])
    study = replace(study, fields={**study.fields, **changes})
    return dict(setting_rows(study.sweep("paper"), PANELS[name].metric))


def test_the_setting_has_the_fields_of_the_problem():
    rows = setting_of("1a")
    assert rows["network.width_ratio"] == "0.1 to 5 (13 values)"
    assert rows["network.activation"] == "relu, tanh, sigmoid"
    assert rows["dimension"] == "1000"
    assert rows["η = n^(βα)"] == "12.9"  # 1000^0.37
    assert rows["shown"] == "½ test MSE, means over 20 trials"
    changed = setting_of("1a", **{"teacher.noise": 0.25, "teacher.link": "tanh", "dimension": 77})
    assert (changed["teacher.link"], changed["teacher.noise"]) == ("tanh", "0.25")
    assert changed["dimension"] == "77"
    ranks = [path for path in setting_of("2c") if path.endswith(".rank")]
    assert ranks == ["data.components.*.rank"]
    assert "η = n^(βα)" not in setting_of("1b")  # an axis changes it


def test_every_panel_has_a_setting(tiny):
    for name in PANELS:
        rows = setting_of(name)
        tables = {path.partition(".")[0] for path in rows}
        assert {"dimension", "data", "teacher", "network", "training", "readout"} <= tables
        assert not [value for value in rows.values() if "None" in value or "{" in value], name
