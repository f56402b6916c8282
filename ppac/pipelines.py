"""The folders of pipelines/: each runs the root's stages in its own place, its own way.

DVC cannot include one pipeline file in another, so the root's dvc.yaml is written out for each
folder: code and shared params are found two folders up, and a param that the folder's own
params.yaml changes is a dep there too.

After every stage DVC reads and writes the whole lock file beside the stage's dvc.yaml. With some
hundred cells that takes longer than many a stage, so that the stages which are there for every
cell have a file each, in a folder below, and with it a lock file of a third of the size.
"""

from __future__ import annotations

import re
from collections.abc import Set
from pathlib import Path

from ppac.core.config import FILE, read_yaml

PIPELINE = "dvc.yaml"
UP = "../../"
EVERY_CELL = ("train", "tune", "evaluate", "sweep")
AXES = (
    *("datasets", "bases", "methods", "variants", "rankers", "sweeps", "recommendations"),
    "protocol",
)
ABOVE = r"(?:stages|ppac)/[\w.${}/-]+|tables(?=\])"  # code, and one's own tables
HEADER = f"""\
# Written by `python -m ppac pipelines`: stages of the project's {PIPELINE}, run in this folder.
# What this pipeline is for, and what it does differently, stands in its {FILE}.
"""


def write_all(root: Path) -> list[Path]:
    """Every folder of pipelines/ that has a params.yaml gets its pipeline files."""
    written = []
    text = (root / PIPELINE).read_text(encoding="utf-8")
    for params in sorted(root.glob(f"pipelines/*/{FILE}")):
        for name, content in derived(text, set(read_yaml(params))).items():
            path = params.parent / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(content, encoding="utf-8")
            written.append(path)
    return written


def derived(text: str, own: Set[str]) -> dict[str, str]:
    """The root's pipeline file as files of a folder whose params.yaml has the keys ``own``.

    >>> root = "stages:\\n  split:\\n    deps: [ppac/core, data]\\n    params: [seed, split]\\n"
    >>> print(derived(root, {"split"})["dvc.yaml"].removeprefix(HEADER))
    stages:
      split:
        deps: [../../ppac/core, data]
        params:
          - ../../params.yaml: [seed, split]
          - params.yaml: [split]
    <BLANKLINE>
    """
    body = re.sub(r"^(?:#.*\n)+", "", text)
    body = re.sub(rf"([-\[,] )?(?<![\w./])({ABOVE})", rf"\1{UP}\2", body)
    body = re.sub(r"^( *)params: \[(.*)\]$", lambda m: params(m, own), body, flags=re.M)
    files = {PIPELINE: HEADER + body}
    for kind in EVERY_CELL:
        blocks = re.findall(rf"^  {kind}[\w-]*:\n(?:    .*\n)+\n?", body, flags=re.M)
        if blocks:
            here = "".join(block.replace(":\n", ":\n    wdir: ..\n", 1) for block in blocks)
            head = f"{HEADER}vars: [../{FILE}]\n\nstages:\n"
            files[f"{kind}/{PIPELINE}"] = head + here.rstrip("\n") + "\n"
            for block in blocks:
                files[PIPELINE] = files[PIPELINE].replace(block, "")
    return files


def params(found: re.Match[str], own: Set[str]) -> str:
    """A stage's params: axes are in the folder alone, what it changes is read in both files."""
    indent, names = found[1], found[2].split(", ")
    here = [name for name in names if name.strip('"').split(".")[0] in own]
    above = [name for name in names if name not in AXES]
    files = {UP + FILE: above, FILE: here}
    lines = [f"{indent}  - {file}: [{', '.join(some)}]" for file, some in files.items() if some]
    return "\n".join([f"{indent}params:", *lines])
