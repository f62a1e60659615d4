"""Print the lowest versions that pyproject.toml allows as constraints for pip."""

import re
import sys
import tomllib
from pathlib import Path

project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))[
    "project"
]
wanted = [
    *project["dependencies"],
    *(line for extra in sys.argv[1:] for line in project["optional-dependencies"][extra]),
]
lowest: dict[str, str] = {}
for line in wanted:
    if bound := re.fullmatch(r"([\w.-]+)(?:\[[\w,]+\])?>=([\d.]+)", line):
        name, version = bound.groups()
        lowest[name] = max(
            lowest.get(name, "0"), version, key=lambda text: [int(part) for part in text.split(".")]
        )
print("\n".join(f"{name}=={version}" for name, version in lowest.items()))
