"""A small report for tests: tiny panels of several kinds, and one with hostile texts in it."""

import json
import shutil

import pandas as pd

from onegrad.papers.report import write_report
from onegrad.papers.reproduction import plan_reproduction, reproduce
from onegrad.papers.saved_panels import save_panel

SEALED = ("format", "files", "checksum")
NAMES = ("1a", "4a", "degrees", "C1a", "G2", "samples")
ATTACK = "</script><script>window.hacked=1</script><img src=x onerror=window.hacked=2>\"'&"


def draw_small_report(folder):
    """Return the path of a report over tiny panels of six kinds."""
    return reproduce(plan_reproduction(NAMES, out=folder))


def hostile_report(source, folder):
    """Return the path of the same report with markup in place of every text of panel 1a."""
    shutil.copytree(source, folder)
    read = json.loads((folder / "1a.json").read_text("utf-8"))
    texts = ("title", "caption", "shows", "settings", "command", "scale", "redraw", "constant")
    about = dict.fromkeys((*texts, "published_basis"), ATTACK)
    about |= {"versions": {ATTACK: ATTACK}, "setting": [[ATTACK, ATTACK]], "numbers": [ATTACK]}
    about["deviations"] = [
        {**deviation, "name": ATTACK, "where": ATTACK, "total": ATTACK, "stderr": 0.1}
        for deviation in read["deviations"]
    ]
    table = pd.read_csv(folder / "1a.csv", dtype={"panel": str})
    table["activation"] = table["activation"] + ATTACK
    table["model"] = table["model"] + ATTACK
    keep_again(folder, "1a", about=about, table=table.to_csv(index=False))
    return write_report(folder)


def keep_again(folder, name, *, about=None, table=None):
    """Write the files of a panel again, with another description or table and fitting checksums."""
    read = json.loads((folder / f"{name}.json").read_text("utf-8"))
    said = {key: value for key, value in read.items() if key not in SEALED} | (about or {})
    kept = [form for form in ("csv", "png", "pdf") if (folder / f"{name}.{form}").exists()]
    files = {form: (folder / f"{name}.{form}").read_bytes() for form in kept}
    save_panel(folder, name, files | ({} if table is None else {"csv": table.encode()}), said)
