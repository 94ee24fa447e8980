"""Check every link of the built site that stays within it: files and anchors.

    python benchmarks/site_links.py SITE

Links to other hosts are counted and listed with `--external`, and not followed: the site is built
and checked without a network. Exit code 1 where a link leads nowhere.
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The links of a page and the anchors that it offers."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep what an element links to and its identifier."""
        for name, value in attrs:
            if value and (name in ("id", "name") and (name == "id" or tag == "a")):
                self.anchors.add(value)
            if value and name in ("href", "src"):
                self.links.append(value)


def broken_links(site: Path) -> tuple[list[str], list[str], int]:
    """Return broken links as `page: link`, links to other hosts, and how many were checked."""
    pages = {path.resolve(): Page(path) for path in sorted(site.rglob("*.html"))}
    broken, external, checked = [], [], 0
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                external += [link] if parts.scheme in ("http", "https") else []
                continue
            checked += 1
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            anchor = unquote(parts.fragment)
            lost = anchor and target in pages and anchor not in pages[target].anchors
            if not target.exists() or lost:
                broken.append(f"{path.relative_to(site.resolve())}: {link}")
    return broken, external, checked


def main(arguments: list[str]) -> int:
    """Print what was found and return the exit code."""
    folders = [Path(word) for word in arguments if not word.startswith("-")]
    if len(folders) != 1 or not (folders[0] / "index.html").is_file():
        print("usage: python benchmarks/site_links.py SITE [--external]", file=sys.stderr)
        return 2
    broken, external, checked = broken_links(folders[0])
    for line in [*broken, *(sorted(set(external)) if "--external" in arguments else [])]:
        print(line)
    print(f"{checked} links within the site, {len(broken)} broken; {len(set(external))} elsewhere")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
