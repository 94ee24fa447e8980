"""onegrad --cite: what to cite, as BibTeX; CITATION.cff says the same, and a test holds them."""

from __future__ import annotations

import click

from onegrad import __version__

ENTRIES = """\
@software{{onegrad,
  title   = {{onegrad}},
  author  = {{{{The onegrad authors}}}},
  version = {{{version}}},
  license = {{MIT}},
}}

@inproceedings{{demir2025asymptotic,
  title     = {{Asymptotic Analysis of Two-Layer Neural Networks after One Gradient Step under
               Gaussian Mixtures Data with Structure}},
  author    = {{Demir, Samet and Dogan, Zafer}},
  booktitle = {{International Conference on Learning Representations (ICLR)}},
  year      = {{2025}},
  url       = {{https://openreview.net/forum?id=tNn6Hskmti}},
}}
"""


def print_citation(context: click.Context, _option: click.Parameter, asked: bool) -> None:
    """Print the entries and end the command, if it was asked to."""
    if asked and not context.resilient_parsing:
        click.echo(ENTRIES.format(version=__version__), nl=False)
        context.exit()
