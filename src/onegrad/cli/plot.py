"""onegrad plot: draw what a folder of sweeps holds."""

from __future__ import annotations

import click


@click.command()
@click.argument("directory", metavar="DIR")
@click.option("--x", metavar="FIELD", help="Axis, by path.  [default: the only one that varies]")
@click.option("--hue", metavar="FIELD", help="What has a colour of its own.  [default: model]")
@click.option("--facet", metavar="FIELD", help="What pictures beside each other differ in.")
@click.option("--metric", default="test_mse", show_default=True, help="Metric to draw.")
@click.option(
    "--theory",
    is_flag=True,
    help="Lines of theory: closed where it knows the problem, else stored rows of predict.",
)
@click.option("--style", metavar="STYLE", help="paper, or a style or file that matplotlib knows.")
@click.option("--width", metavar="one|two", help="As wide as one column (3.4 in) or two (7 in).")
@click.option("--out", default="plot.png", show_default=True, metavar="FILE.pdf|png|svg")
def plot(
    directory: str,
    x: str | None,
    hue: str | None,
    facet: str | None,
    metric: str,
    theory: bool,
    style: str | None,
    width: str | None,
    out: str,
) -> None:
    """Draw the sweeps in DIR: a metric against a field, with standard errors.

    Fields are named by path, as the columns of onegrad results DIR --csv -.
    """
    from onegrad.cli.failures import tell_failures
    from onegrad.describe.checks import one_of, path_of
    from onegrad.plotting.matplotlib_figure import draw
    from onegrad.plotting.result_curves import facet_view
    from onegrad.plotting.style import WIDTHS, picture_form, save_whole, style_dpi, styled
    from onegrad.running.sweep_picture import sweep_picture
    from onegrad.running.table import Results

    file = path_of("out", out)
    picture_form(file)
    if width is None and style == "paper":
        width = "one" if facet is None else "two"
    if width is not None:
        one_of("width", width, WIDTHS)
    stored = Results.load(directory)
    with styled(style):  # a wrong one is said before theory is computed
        picture = sweep_picture(stored, x=x, hue=hue, facet=facet, metric=metric, theory=theory)
        view = facet_view(picture.table, picture.words, facet=picture.facet)
        figure = draw(view, width=width)
        save_whole(figure, file, dpi=None if style is None else style_dpi())
    click.echo(f"wrote {out}")
    tell_failures(stored, directory)
