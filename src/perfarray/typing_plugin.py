"""A plugin for mypy, from which xarray's and pandas' `__getattr__` hide every accessor.

With it `times.perf` has its type.

In the configuration of mypy: `plugins = ["perfarray.typing_plugin"]`. Only mypy imports this
module.
"""

import re
from collections.abc import Callable
from pathlib import Path

from mypy.nodes import ARG_NAMED_OPT, ARG_STAR2, MypyFile, TypeInfo
from mypy.plugin import AttributeContext, Plugin
from mypy.types import CallableType, Instance, NoneType, Type, UnionType, get_proper_type

ACCESSOR = "perfarray.accessor"

# The classes with `.perf`, and its type
OWNERS = {
    "xarray.core.dataarray.DataArray": "TimingsAccessor",
    "xarray.core.dataset.Dataset": "TimingsAccessor",
    "perfarray.results.models.FittedModel": "TimingsAccessor",
    "pandas.core.frame.DataFrame": "FrameAccessor",
}

USES = re.compile(r"\.\s*perf\b")

# Packages that the accessor imports: making them wait for it would form a circle, in which mypy
# loses signatures
BELOW = ("perfarray", "xarray", "pandas")


class AccessorPlugin(Plugin):
    """Give `.perf` its type."""

    def get_additional_deps(self, file: MypyFile) -> list[tuple[int, str, int]]:
        """Let mypy read the accessor before a file that uses `.perf`."""
        path = Path(file.path)
        if file.is_stub or file.fullname.partition(".")[0] in BELOW:
            return []
        return (
            [(10, ACCESSOR, -1)]
            if not path.is_file() or USES.search(path.read_text("utf-8", "replace"))
            else []
        )

    def get_attribute_hook(self, fullname: str) -> Callable[[AttributeContext], Type] | None:
        """Return the hook for an attribute: `.perf` and pictures."""
        if fullname.startswith(f"{ACCESSOR}.PlotAccessor."):
            return self._with_ax
        return (
            self._accessor
            if fullname.startswith(("xarray.", "pandas.", "perfarray."))
            and fullname.endswith(".perf")
            else None
        )

    def _accessor(self, context: AttributeContext) -> Type:
        """Return the type of an object's accessor; mypy's own type where it has none."""
        bases = context.type.type.mro if isinstance(context.type, Instance) else []
        names = [OWNERS[base.fullname] for base in bases if base.fullname in OWNERS]
        found = self.lookup_fully_qualified(f"{ACCESSOR}.{names[0]}") if names else None
        return (
            Instance(found.node, [])
            if found is not None and isinstance(found.node, TypeInfo)
            else context.default_attr_type
        )

    def _with_ax(self, context: AttributeContext) -> Type:
        """Return the signature of a picture: that of its function, and `ax`."""
        found = get_proper_type(context.default_attr_type)
        if not isinstance(found, CallableType) or "ax" in found.arg_names:
            return found
        place = len(found.arg_kinds) - (ARG_STAR2 in found.arg_kinds)
        kinds, names, types = list(found.arg_kinds), list(found.arg_names), list(found.arg_types)
        kinds.insert(place, ARG_NAMED_OPT)
        names.insert(place, "ax")
        types.insert(place, UnionType.make_union([found.ret_type, NoneType()]))
        return found.copy_modified(arg_types=types, arg_kinds=kinds, arg_names=names)


def plugin(version: str) -> type[Plugin]:  # noqa: ARG001  (mypy gives its version)
    """Return the plugin, whatever the version of mypy."""
    return AccessorPlugin
