"""The house: folders that show the architecture, imports that point one way, one name per thing."""

import ast
from collections import Counter
from pathlib import Path

import onegrad

SOURCE = Path(onegrad.__file__).parent

# Each folder may import only folders that stand before it.
ORDER = [
    "describe",
    "plotting",
    "machine",
    "calculus",
    "data",
    "moments",
    "core",
    "theory",
    "closed",
    "results",
    "verbs",
    "estimators",
    "sweeps",
    "papers",
    "explorer",
    "cli",
]
# Agreement with simulation is evidence only where theory shares no code with it.
FORBIDDEN = {"theory": {"core", "machine"}, "moments": {"core"}}
# The closed theory shares no more than functions and their expectations, not even with theory; one
# file of it reads a problem.
ALLOWED = {"closed": ("onegrad.calculus", "onegrad.describe", "onegrad.closed")}
ADAPTER = SOURCE / "closed" / "problem.py"


def modules():
    for path in sorted(SOURCE.rglob("*.py")):
        if path.parent != SOURCE:
            yield path.relative_to(SOURCE).parts[0], path


def imported_folders(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("onegrad."):
            yield node.module.split(".")[1]


def test_the_root_holds_folders_and_the_stages():
    files = {path.name for path in SOURCE.iterdir() if path.is_file()}
    assert files == {"__init__.py", "stages.py", "py.typed"}
    folders = {path.name for path in SOURCE.iterdir() if path.is_dir()} - {"__pycache__"}
    assert folders == set(ORDER)


def test_imports_point_one_way():
    for folder, path in modules():
        for other in imported_folders(path):
            assert ORDER.index(other) <= ORDER.index(folder), f"{path} imports {other}"
            assert other not in FORBIDDEN.get(folder, ()), f"{path} imports {other}"


def imported_modules(path):
    """Return every module that a file imports, wherever in the file it does."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports by a relative name"
            yield node.module
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def own_imports(path):
    return {name for name in imported_modules(path) if name.partition(".")[0] == "onegrad"}


def is_allowed(name, roots):
    return any(name == root or name.startswith(root + ".") for root in roots)


def test_theory_without_draws_imports_functions_and_itself_alone():
    for folder, roots in ALLOWED.items():
        files = sorted(set((SOURCE / folder).glob("*.py")) - {ADAPTER})
        assert files
        for path in files:
            for name in own_imports(path):
                assert is_allowed(name, roots), f"{path} imports {name}"
                assert name != "onegrad.closed.problem", f"{path} imports the adapter"
    # Negative control: other theory and the adapter do import what the equations must not.
    for other in (SOURCE / "theory" / "grid.py", ADAPTER):
        assert not all(is_allowed(name, ALLOWED["closed"]) for name in own_imports(other))


def test_every_folder_says_what_lives_there_what_it_imports_and_what_to_read_first():
    for path in sorted(SOURCE.rglob("__init__.py")):
        if path.parent != SOURCE:
            said = ast.get_docstring(ast.parse(path.read_text()))
            assert "May import:" in said, path
            first = said.partition("Read first: `")[2].partition("`")[0]
            assert (path.parent / first).is_file(), f"{path} sends readers to {first}"


def test_no_two_classes_have_one_name():
    classes = Counter()
    for _, path in modules():
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef):
                classes[node.name] += 1
    assert not [name for name, count in classes.items() if count > 1]


def test_public_names_resolve_and_are_documented():
    for name in onegrad.__all__:
        assert getattr(onegrad, name).__doc__, name
