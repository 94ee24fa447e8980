"""What the pages show works: Python blocks run, commands run at small size, TOML files load.

Blocks of one page share a folder, and its Python blocks a namespace. A comment
`<!-- not run: reason -->` right before a block takes it out.
"""

import re
import shlex
import tomllib
import warnings
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from click.testing import CliRunner

from conftest import small
from onegrad import Problem, Sweep
from onegrad.cli.main import cli
from onegrad.describe.registry import _REGISTRIES, adopt, snapshot
from onegrad.papers.panel_registry import PanelDeclaration
from onegrad.papers.reproduction import plan_reproduction

ROOT = Path(__file__).parents[2]
PROGRAMS = ["extend.md"]  # test_extend.py runs its Python
FOLDERS = ("docs", "docs/api", "docs/howto")  # tutorials run when the site is built
PAGES = [
    ROOT / "CONTRIBUTING.md",  # test_readme.py has the README
    *(page for folder in FOLDERS for page in sorted((ROOT / folder).glob("*.md"))),
]
BLOCK = re.compile(
    r"^(?:<!-- not run: (?P<reason>[^\n]+) -->\n+)?```(?P<language>\w+)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
# Pages whose TOML blocks are whole files; those of other pages are parsed only.
WHOLE_FILES = {"problems.md": Problem, "sweeps.md": Sweep, "figures.md": PanelDeclaration}
# Sizes that end a command's line; one is left out where its clash is given, or a list of it.
OF_PROBLEM = {"--dimension": "40", "--samples": "40", "--width": "32"}
SIZES = {
    "simulate": {**OF_PROBLEM, "--trials": "2", "--workers": "1"},
    "predict": {**OF_PROBLEM, "--draws": "2"},
    "equivalence": {**OF_PROBLEM, "--draws": "2"},
    "tune": {**OF_PROBLEM, "--draws": "2"},
    "steps": {
        "--dimension": "40",
        "--width": "32",
        "--steps": "2",
        "--step-samples": "60",
        "--trials": "2",
        "--workers": "1",
    },
    "sweep": {"--workers": "1"},
}
CLASHES = {
    "--dimension": {"--data"},
    "--trials": {"--target-stderr"},
    "--width": {"--width-ratio"},
    "--step-samples": {"--step-samples-exponent"},
}
EASY_TARGET = ["--target-stderr", "0.5"]
FEW_DIMENSIONS = ["--dimensions", "20,40"]
FEW_IMAGES = ["--samples", "6", "--test-samples", "6"]
ROUGH_FIT = ["--components-per-class", "1", "--fit-rank", "2"]
FEW_CHECKS = ["--check-trials", "2"]


@dataclass(frozen=True)
class Block:
    """A fenced block: where it stands, what it says, and why it is not run, if so."""

    page: Path
    line: int
    language: str
    text: str
    reason: str | None


@dataclass
class World:
    """What the blocks of a page that were run have left behind."""

    folder: Path
    done: list = field(default_factory=list)
    names: dict = field(default_factory=lambda: {"__name__": "__main__"})
    registered: dict = field(default_factory=dict)


def blocks_of(page):
    text = page.read_text()
    for match in BLOCK.finditer(text):
        line = text.count("\n", 0, match.start("text")) + 1
        yield Block(page, line, match["language"], match["text"], match["reason"])


BLOCKS = [block for page in PAGES for block in blocks_of(page)]


# Programs of these pages take seconds: .ci/run runs them after the README's two commands.
LONG = ("frictions.md", "equivalence_and_tuning.md", "real_data.md", "estimators.md", "plots.md")


def blocks_in(language, *, but_of=()):
    """Parametrise over the blocks in a language; the name of a test tells page and line."""
    chosen = [
        pytest.param(
            b,
            id=f"{b.page.name}:{b.line}",
            marks=[pytest.mark.slow] if b.page.name in LONG else [],
        )
        for b in BLOCKS
        if b.language == language and b.reason is None and b.page.name not in but_of
    ]
    return pytest.mark.parametrize("block", chosen)


@pytest.fixture(scope="module")
def worlds(tmp_path_factory):
    """Return a world per page, each with the files that commands read and no command writes."""
    sweep = Sweep(problem=small(), axes={"network.width": [10, 20]}, models="network", trials=2)
    animals = [f"{i % 7},{i % 5},{('cat', 'dog', 'wolf')[i % 3]}" for i in range(900)]
    made = {page: World(tmp_path_factory.mktemp(page.stem)) for page in PAGES}
    for world in made.values():
        sweep.save(world.folder / "sweep.toml")
        (world.folder / "mine.csv").write_text("\n".join(["a,b,species", *animals]))
    for block in BLOCKS:
        if block.language == "toml" and WHOLE_FILES.get(block.page.name) is PanelDeclaration:
            (made[block.page].folder / "my.toml").write_text(block.text)
    return made


@pytest.fixture
def run(worlds, monkeypatch):
    """Return a function that runs a block after those in its language before it on its page.

    What blocks register is known to the blocks of their page alone.
    """

    def run_in_order(block, act):
        world = worlds[block.page]
        monkeypatch.chdir(world.folder)
        adopt(world.registered)
        for earlier in BLOCKS[: BLOCKS.index(block) + 1]:
            same = (earlier.page, earlier.language) == (block.page, block.language)
            if same and earlier.reason is None and earlier not in world.done:
                act(earlier, world)
                world.done.append(earlier)
        world.registered = snapshot()

    known = {title: dict(registry.entries) for title, registry in _REGISTRIES.items()}
    yield run_in_order
    for title, entries in known.items():
        _REGISTRIES[title].entries = entries


def run_python(block, world):
    # As many lines before it as on the page, so that a traceback shows the page.
    padded = "\n" * (block.line - 1) + block.text
    exec(compile(padded, block.page, "exec", dont_inherit=True), world.names)


def commands_of(block):
    """Yield the words of every line of onegrad, and the file that its output goes to."""
    for line in block.text.replace("\\\n", " ").splitlines():
        if line.startswith("onegrad "):
            before, _, file = line.partition(" > ")
            yield shlex.split(before, comments=True)[1:], file.strip()


def made_small(words):
    """Return the words of a command with small sizes at their end; the last one said counts."""
    words = ["fashion-mnist-sample" if word == "fashion-mnist" else word for word in words]
    following = dict(zip(words, [*words[1:], ""], strict=True))
    for option, size in SIZES.get(words[0], {}).items():
        if CLASHES.get(option, set()).isdisjoint(words) and "," not in following.get(option, ""):
            words += [option, size]
    words += EASY_TARGET if "--target-stderr" in words else []
    words += FEW_DIMENSIONS if "--dimensions" in words else []
    words += FEW_CHECKS if "--data" in words and words[0] in ("tune", "predict") else []
    return words + ([*FEW_IMAGES, *ROUGH_FIT] if "fashion-mnist-sample" in words else [])


def parse_only(command, words):
    """Check a command on all panels; other tests and the README's first command run them."""
    given = cli.commands[command].make_context(command, list(words)).params
    if given.get("panels"):
        names = ("panels", "scale", "out", "redraw", "seed")
        plan_reproduction(**{name: given[name] for name in names})


def run_commands(block, _world):
    for words, file in commands_of(block):
        if words[0] in ("figures", "reproduce"):
            parse_only(words[0], words[1:])
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # to a user they are notes
            result = CliRunner().invoke(cli, made_small(words), catch_exceptions=False)
        assert result.exit_code == 0, f"{shlex.join(words)}: {result.output}"
        if file:
            Path(file).write_text(result.stdout)


@blocks_in("python", but_of=PROGRAMS)
def test_python_blocks_run(block, run):
    run(block, run_python)


@blocks_in("sh")
def test_commands_run(block, run):
    run(block, run_commands)


@blocks_in("toml")
def test_toml_blocks_load(block, tmp_path):
    tomllib.loads(block.text)
    if block.page.name in WHOLE_FILES:
        (tmp_path / "file.toml").write_text(block.text)
        WHOLE_FILES[block.page.name].load(tmp_path / "file.toml")


def test_every_fence_is_found():
    fences = sum(len(re.findall(r"^```\w", page.read_text(), re.MULTILINE)) for page in PAGES)
    assert len(BLOCKS) == fences
    assert {block.language for block in BLOCKS} <= {"python", "sh", "toml"}


def test_few_blocks_are_not_run():
    # Servers, clusters, installs, builds of the site.
    assert len([block for block in BLOCKS if block.reason is not None]) <= 9
