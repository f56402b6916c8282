"""The folders of pipelines/: each runs the root's stages in its own place, its own way.

DVC cannot include one pipeline file in another, so the root's dvc.yaml is written out for each
folder: code and shared params are found two folders up, and a param that the folder's own
params.yaml changes is a dep there too.
"""

from __future__ import annotations

import re
from collections.abc import Set
from pathlib import Path

from ppac.core.config import FILE, read_yaml

PIPELINE = "dvc.yaml"
UP = "../../"
HEADER = f"""\
# Written by `python -m ppac pipelines`: the stages of {UP}{PIPELINE}, run in this folder.
# What this pipeline is for, and what it does differently, stands in {FILE} here.
"""


def write_all(root: Path) -> list[Path]:
    """Every folder of pipelines/ that has a params.yaml gets its dvc.yaml."""
    written = []
    for params in sorted(root.glob(f"pipelines/*/{FILE}")):
        path = params.with_name(PIPELINE)
        path.write_text(
            derived((root / PIPELINE).read_text(encoding="utf-8"), set(read_yaml(params)))
        )
        written.append(path)
    return written


def derived(text: str, own: Set[str]) -> str:
    """The root's pipeline file as it reads in a folder whose params.yaml has the keys ``own``.

    >>> root = "deps: [ppac/core, data]\\nparams: [seed, train]"
    >>> print(derived(root, {"train"}).removeprefix(HEADER))
    deps: [../../ppac/core, data]
    params:
      - ../../params.yaml: [seed, train]
      - params.yaml: [train]
    """
    body = re.sub(r"^(?:#.*\n)+", "", text)
    body = re.sub(r"([-\[,] )?(?<![\w./])((?:stages|ppac)/[\w.${}/-]+)", rf"\1{UP}\2", body)
    return HEADER + re.sub(r"^( *)params: \[(.*)\]$", lambda m: params(m, own), body, flags=re.M)


def params(found: re.Match[str], own: Set[str]) -> str:
    """A stage's params: axes are in the folder alone, what it changes is read in both files."""
    indent, names = found[1], found[2].split(", ")
    here = [name for name in names if name.strip('"').split(".")[0] in own]
    above = [name for name in names if name not in AXES]
    files = {UP + FILE: above, FILE: here}
    lines = [f"{indent}  - {file}: [{', '.join(some)}]" for file, some in files.items() if some]
    return "\n".join([f"{indent}params:", *lines])


AXES = ("datasets", "bases", "methods", "variants", "rankers", "protocol")
