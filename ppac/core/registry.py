"""Finding a base model, method, ranker or metric by its name: the file that bears it."""

from __future__ import annotations

import importlib
import pkgutil
from types import ModuleType

from ppac.core.errors import Problem, nearest


def names(kind: str) -> list[str]:
    """The names of what stands in ``ppac/<kind>/``, one file each."""
    package = importlib.import_module(f"ppac.{kind}")
    return sorted(module.name for module in pkgutil.iter_modules(package.__path__))


def find(kind: str, name: str) -> ModuleType:
    """The module ``ppac/<kind>/<name>.py``."""
    if name not in names(kind):
        raise Problem(f"unknown {kind.rstrip('s')} '{name}': {nearest(name, names(kind))}.")
    return importlib.import_module(f"ppac.{kind}.{name}")
