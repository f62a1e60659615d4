"""Run the Python of a page: what it prints is compared with what is shown, and what it draws is put
behind the block that drew it."""

import doctest
import io
import os
import re
import sys
import tempfile
import warnings
from html import escape
from pathlib import Path

FENCES = re.compile(r"^```python\n(.*?)^```\n", re.M | re.S)
LARGEST = 60_000  # bytes of an SVG; larger pictures are PNG
DRAWN = re.compile(
    r"^```python\n(?:(?!^```).)*^```\n\n(?:```\{raw\} html\n<img[^\n]*\n```\n)+", re.M | re.S
)
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


class OutputDiffers(AssertionError):
    """What a block prints is not what the page shows."""


def run_blocks(text: str, name: str):
    """Run every block of a page, in order and in one namespace; yield where each ends."""
    namespace: dict[str, object] = {"__name__": "__main__"}
    for fence in FENCES.finditer(text):
        code, line = fence.group(1), text[: fence.start(1)].count("\n")
        if ">>>" not in code:
            exec(compile("\n" * line + code, name, "exec"), namespace)
        else:
            test = doctest.DocTestParser().get_doctest(code, namespace, name, name, line)
            printed: list[str] = []
            if (
                doctest.DocTestRunner(optionflags=FLAGS)
                .run(test, out=printed.append, clear_globs=False)
                .failed
            ):
                raise OutputDiffers("".join(printed))
            namespace |= test.globs
        yield fence.end()


def figures(folder: Path, url: str, name: str) -> list[tuple[str, str]]:
    """Write the open figures into a folder and close them; return their titles and addresses."""
    if "matplotlib.pyplot" not in sys.modules:
        return []
    from matplotlib import pyplot

    folder.mkdir(parents=True, exist_ok=True)
    images = []
    for number in pyplot.get_fignums():
        content, figure = io.BytesIO(), pyplot.figure(number)
        figure.savefig(content, format="svg", bbox_inches="tight", metadata={"Date": None})
        ending = "svg"
        if len(content.getvalue()) > LARGEST:  # thousands of points
            content, ending = io.BytesIO(), "png"
            figure.savefig(content, format="png", bbox_inches="tight", dpi=120)
        title = next(
            (axes.get_title(loc="left") for axes in figure.axes if axes.get_title(loc="left")),
            "picture",
        )
        file = f"{name}-{len(images)}.{ending}"
        (folder / file).write_bytes(content.getvalue())
        images.append((escape(title.replace("\n", " ")), url + file))
    pyplot.close("all")
    return images


def overview(text: str) -> str:
    """Return the gallery with each picture beside its code, and a grid of all of them by question
    below its introduction."""
    text = DRAWN.sub(lambda block: f"````{{container}} gallery\n{block[0]}````\n", text)
    head, *questions = re.split(r"^(?=## )", text, flags=re.M)
    grids = []
    for question in questions:
        cards = [
            (
                f'<a href="#{slug(heading)}"><img loading="lazy" alt="" '
                f'src="{image}"><span>{escape(heading)}</span></a>'
            )
            for heading, image in re.findall(
                r"^### ([^\n]*)$(?:(?!^###).)*?<img[^>]* src=\"([^\"]*)\"", question, re.M | re.S
            )
        ]
        grids.append(
            f"<h4>{escape(question[3:].partition(chr(10))[0])}</h4><div "
            f'class="thumbnails">{"".join(cards)}</div>'
        )
    title, introduction, data = head.split("\n\n", 2)
    grid = f"```{{raw}} html\n{''.join(grids)}\n```"
    return "\n\n".join([title, introduction, grid, data, "".join(questions)])


def slug(heading: str) -> str:
    """Return the anchor of a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def execute(app, docname, source):
    """Run a page as it is read; a block that fails, or prints something else than what is shown, is
    a warning."""
    from sphinx.util import logging  # here, since the tests run pages without Sphinx

    needed = Path(app.config.page_files.get(docname, Path(__file__)))
    if "```python\n" not in source[0]:
        return
    if not needed.exists():
        said = f"\n\n*Not run when this site was built: `{needed.name}` was not there.*\n\n"
        source[0] = source[0].replace("\n\n", said, 1)
        return
    os.environ["MPLBACKEND"] = "agg"
    text, home, parts, start = source[0], Path.cwd(), [], 0
    with (
        tempfile.TemporaryDirectory() as folder,
        warnings.catch_warnings(action="ignore"),
    ):  # the tests see to warnings
        (Path(folder) / needed.name).symlink_to(needed)
        os.chdir(folder)
        try:
            for end in run_blocks(text, docname):
                drawn = figures(
                    Path(app.outdir) / "_images",
                    "../" * docname.count("/") + "_images/",
                    f"{docname.replace('/', '-')}-{len(parts)}",
                )
                images = [
                    (
                        f'```{{raw}} html\n<img class="drawn" loading="lazy" alt="{title}" '
                        f'src="{url}">\n```\n'
                    )
                    for title, url in drawn
                ]
                parts += [text[start:end], *(["\n", "\n".join(images)] if images else [])]
                start = end
        except Exception as error:
            logging.getLogger(__name__).warning(
                "a block of code failed: %s: %s", type(error).__name__, error, location=docname
            )
        finally:
            os.chdir(home)
    source[0] = "".join([*parts, text[start:]])
    if docname.startswith("gallery"):
        source[0] = overview(source[0])


def setup(app):
    """Run pages as they are read."""
    app.add_config_value("page_files", {}, "env")
    app.connect("source-read", execute)
