"""Run the Python of a page: what it prints is compared with what is shown, and what it draws is put behind the block that drew it."""

import base64
import doctest
import io
import os
import re
import sys
import tempfile
import warnings
from pathlib import Path

FENCES = re.compile(r"^```python\n(.*?)^```\n", re.M | re.S)
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
            if doctest.DocTestRunner(optionflags=FLAGS).run(test, out=printed.append, clear_globs=False).failed:
                raise OutputDiffers("".join(printed))
            namespace |= test.globs
        yield fence.end()


def figures() -> str:
    """Return the open figures as part of a page, and close them."""
    if "matplotlib.pyplot" not in sys.modules:
        return ""
    from matplotlib import pyplot

    images = []
    for number in pyplot.get_fignums():
        content, figure = io.BytesIO(), pyplot.figure(number)
        figure.savefig(content, format="svg", bbox_inches="tight")
        title = next((axes.get_title() for axes in figure.axes if axes.get_title()), "picture").replace('"', "&quot;")
        text = base64.b64encode(content.getvalue()).decode()
        images.append(f'```{{raw}} html\n<img class="drawn" alt="{title}" src="data:image/svg+xml;base64,{text}">\n```\n')
    pyplot.close("all")
    return "\n" + "\n".join(images) if images else ""


def execute(app, docname, source):
    """Run a page as it is read; a block that fails, or prints something else than what is shown, is a warning."""
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
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(action="ignore"):  # the tests see to warnings
        (Path(folder) / needed.name).symlink_to(needed)
        os.chdir(folder)
        try:
            for end in run_blocks(text, docname):
                parts += [text[start:end], figures()]
                start = end
        except Exception as error:
            logging.getLogger(__name__).warning("a block of code failed: %s: %s", type(error).__name__, error, location=docname)
        finally:
            os.chdir(home)
    source[0] = "".join([*parts, text[start:]])


def setup(app):
    """Run pages as they are read."""
    app.add_config_value("page_files", {}, "env")
    app.connect("source-read", execute)
