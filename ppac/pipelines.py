"""The folders of pipelines/: each runs the root's stages in its own place, its own way.

DVC cannot include one pipeline file in another, so the root's dvc.yaml is written out for each
folder: code and shared params are found two folders up, and a param that the folder's own
params.yaml changes is a dep there too. What it says in `cells` of a dataset and base model is a
param of those cells alone. Each folder is a DVC project: see ppac/projects.py.

After every stage DVC reads and writes the whole lock file beside the stage's dvc.yaml. With some
hundred cells that takes longer than many a stage, so that the stages which are there for every
cell have a file for each base model, bprmf/train/dvc.yaml, and with it a small lock file. It also
gives the cells of a base model a name: `dvc --cd pipelines/comparison repro -R bprmf`.

Where `report.missing` is `blank`, hardly a machine has run all cells, and one report on all would
lose what another machine reported. There each dataset and base model has its own.

A folder that has `search` and no `report` tries settings on validation: it has the stages up to
train, and what its trials gave goes to Git.

release-differences is a folder of such folders, with few cells and without reports: one for each
entry of its differences.yaml, which says what it does otherwise than `released`.
A folder with neither has a dvc.yaml of its own, written by hand: a view of what others reported.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from pathlib import Path
from textwrap import indent
from typing import Any

import yaml

from ppac.core.config import CELLS, FILE, SEARCH, overlay, read_yaml
from ppac.core.errors import Problem
from ppac.layout import RANKERS, Cell
from ppac.projects import make_projects

PIPELINE = "dvc.yaml"
UP = "../../"
METHOD = '"${item.method}"'
EVERY_CELL = ("train", "tune", "evaluate", "sweep")
BESIDE_CELLS = ("titles", "describe", "sweep", "recommend", "report")
DIFFERENCES = "pipelines/release-differences/differences.yaml"
UP_TO_TRAIN = ("tables", "download", "split", "neighbours", "popularity", "train")
STAGE = r"^  ([\w-]+):\n(?:    .*\n)+\n?"
TRIED = Cell(*(f"${{item.{axis}}}" for axis in ("dataset", "base", "method")))
AXES = (
    *("datasets", "bases", "methods", "variants", "rankers", "sweeps", "recommendations"),
    "protocol",
)
ABOVE = r"(?:stages|ppac)/[\w.${}/-]+|tables(?=\])"  # code, and one's own tables
HEADER = f"""\
# Written by `python -m ppac pipelines`: stages of the project's {PIPELINE}, run in this folder.
# What this pipeline is for, and what it does differently, stands in its {FILE}.
"""
DIFFERENT = """\
# Written by `python -m ppac pipelines` from ../differences.yaml and released/params.yaml.
"""


def write_all(root: Path) -> list[Path]:
    """Every folder of pipelines/ that has a params.yaml gets its pipeline files, and no others.

    Each folder, one with a pipeline file of its own too, is made a DVC project.
    """
    text = (root / PIPELINE).read_text(encoding="utf-8")
    files = differences(root, text)
    for path in sorted(root.glob(f"pipelines/*/{FILE}")):
        own = read_yaml(path)
        files |= {path.parent / name: content for name, content in derived(text, own).items()}
    for path in set(root.glob(f"pipelines/*/*/*/{PIPELINE}")) - files.keys():
        path.unlink()  # of a base model that the folder no longer has
    for path, content in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    return [*files, *make_projects(root)]


def differences(root: Path, text: str) -> dict[Path, str]:
    """The folders of release-differences: params of `released`, one thing done otherwise."""
    if not (root / DIFFERENCES).exists():
        return {}
    plain = read_yaml(root / "pipelines/released" / FILE)
    plain = {name: value for name, value in plain.items() if name not in BESIDE_CELLS}
    files = {}
    for name, own in read_yaml(root / DIFFERENCES).items():
        folder = (root / DIFFERENCES).parent / name
        params = overlay(plain | {axis: [] for axis in AXES if axis != "protocol"}, own)
        params[CELLS] = {
            d: {b: plain[CELLS][d][b] for b in params["bases"]} for d in params["datasets"]
        }
        said = yaml.safe_dump(params, sort_keys=False, default_flow_style=None, width=100)
        files[folder / FILE] = DIFFERENT + said
        files[folder / PIPELINE] = cells_alone(body_of(text, params, f"../{UP}"))
    return files


def cells_alone(body: str) -> str:
    """A pipeline without what looks at all cells together."""
    for kind in BESIDE_CELLS:
        body = re.sub(rf"^  {kind}:\n(?:    .*\n)+\n?", "", body, flags=re.M)
    return HEADER + body.partition("\nplots:\n")[0].rstrip("\n") + "\n"


def body_of(text: str, own: Mapping[str, Any], up: str) -> str:
    """The root's stages for a folder whose params.yaml says ``own`` and whose root is ``up``."""
    for dataset, base in itertools.product(own.get("datasets", []), own.get("bases", [])):
        if CELLS in own and base not in own[CELLS].get(dataset, {}):
            raise Problem(f"a pipeline's {FILE} has '{CELLS}', but none for {dataset} and {base}.")
    body = re.sub(r"^(?:#.*\n)+", "", text)
    body = re.sub(rf"([-\[,] )?(?<![\w./])({ABOVE})", rf"\1{up}\2", body)
    return re.sub(r"^( *)params: \[(.*)\]$", lambda m: params(m, own, up), body, flags=re.M)


def report_on_each(text: str, with_rankers: bool) -> str:
    """The root's pipeline file with a report on each dataset and ``${base}``, and no plots of all.

    >>> root = "  report:\\n    cmd: python -m stages.report\\n    deps:\\n      - data/titles\\n"
    >>> print(report_on_each(f"{root}      - runs\\n", with_rankers=True))
      report:
        matrix:
          dataset: ${datasets}
        cmd: python -m stages.report --dataset ${item.dataset} --base ${base}
        deps:
          - data/titles/${item.dataset}.parquet
          - runs/${item.dataset}/${base}
          - runs/${item.dataset}/rankers
    <BLANKLINE>
    """
    text, dataset = text.partition("\nplots:\n")[0], "${item.dataset}"
    before, name, block = text.partition("  report:\n")
    block = block.replace(
        "stages.report\n", f"stages.report --dataset {dataset} --base ${{base}}\n"
    )
    block = re.sub(r"- data/\w+", rf"\g<0>/{dataset}", block)
    block = block.replace(f"titles/{dataset}", f"titles/{dataset}.parquet")
    cells = rf"\g<0>/{dataset}/${{base}}" + (rf"\n\g<0>/{dataset}/{RANKERS}" * with_rankers)
    block = re.sub(r"^ +- (?:metrics|runs)$", cells, block, flags=re.M)
    block = block.replace("params: [datasets, bases, ", "params: [")
    block = block.replace("- report/", f"- report/{dataset}/${{base}}/")
    return f"{before}{name}    matrix:\n      dataset: ${{datasets}}\n{block}"


def trials_alone(text: str) -> str:
    """The root's pipeline file up to training, whose trials are kept in Git beside the model.

    >>> root = "  train:\\n    cmd: >-\\n      python x\\n    outs: [runs]\\n  tune:\\n    a: b\\n"
    >>> print(trials_alone(root))
      train:
        cmd:
          - >-
            python x
          - mkdir -p trials/${item.dataset}/${item.base}
          - >-
            cp runs/${item.dataset}/${item.base}/${item.method}/train/search.csv
            trials/${item.dataset}/${item.base}/${item.method}.csv
        outs:
          - runs
          - trials/${item.dataset}/${item.base}/${item.method}.csv: {cache: false}
    <BLANKLINE>
    """
    text = text.partition("\nplots:\n")[0]
    text = re.sub(STAGE, lambda m: m[0] if m[1] in UP_TO_TRAIN else "", text, flags=re.M)
    before, name, block = text.partition("  train:\n")
    folder, table = TRIED.trials.parent, TRIED.trials
    kept = f"      - mkdir -p {folder}\n      - >-\n        cp {TRIED.search}\n        {table}\n"
    ran = re.compile(r"    cmd: >-\n((?:      .*\n)+)")
    block = ran.sub(lambda m: f"    cmd:\n      - >-\n{indent(m[1], '  ')}{kept}", block)
    outs = rf"    outs:\n      - \1\n      - {table}: {{cache: false}}"
    block = re.sub(r'    outs: \["?(.*?)"?\]', outs, block)
    return before + name + block


def derived(text: str, own: Mapping[str, Any]) -> dict[str, str]:
    """The root's pipeline file as files of a folder whose params.yaml says ``own``.

    >>> root = "stages:\\n  split:\\n    deps: [ppac/core, data]\\n    params: [seed, split]\\n"
    >>> print(derived(root, {"split": {}, "bases": []})["dvc.yaml"].removeprefix(HEADER))
    stages:
      split:
        deps: [../../ppac/core, data]
        params:
          - ../../params.yaml: [seed, split]
          - params.yaml: [split]
    <BLANKLINE>
    """
    apart: tuple[str, ...] = EVERY_CELL
    if own.get("report", {}).get("missing") == "blank":
        apart, text = (*EVERY_CELL, "report"), report_on_each(text, bool(own["rankers"]))
    if SEARCH in own and "report" not in own:
        text = trials_alone(text)
    body = body_of(text, own, UP)
    files: dict[str, str] = {}
    for kind in apart:
        for block in re.findall(rf"^  {kind}[\w-]*:\n(?:    .*\n)+\n?", body, flags=re.M):
            body = body.replace(block, "")
            below = block.rstrip("\n").replace(":\n", f":\n    wdir: {UP[:-1]}\n", 1)
            for base in [RANKERS] if "${rankers}" in block else own["bases"]:
                name = f"{base}/{kind}/{PIPELINE}"
                before = files.get(name, f"{HEADER}vars: [{UP}{FILE}]\n\nstages:")
                own_base = below.replace("${bases}", f"[{base}]").replace("${base}", base)
                files[name] = f"{before}\n{own_base}\n"
    return {PIPELINE: HEADER + body.rstrip("\n") + "\n", **files}


def params(found: re.Match[str], own: Mapping[str, Any], up: str) -> str:
    """A stage's params: axes are in the folder alone, what it changes is read in both files."""
    margin, names = found[1], found[2].split(", ")
    here = [name for name in names if name.strip('"').split(".")[0] in own]
    here += [METHOD] * (METHOD in names and has_sections(own))
    if CELLS in own and {"train", "tune"} & {*names} and '"${item.ranker}"' not in names:
        here.append(f'"{CELLS}.${{item.dataset}}.${{item.base}}"')
    above = [name for name in names if name not in AXES]
    files = {up + FILE: above, FILE: here}
    lines = [f"{margin}  - {file}: [{', '.join(some)}]" for file, some in files.items() if some]
    return "\n".join([f"{margin}params:", *lines])


def has_sections(own: Mapping[str, Any]) -> bool:
    """Whether the folder has sections of its methods: of all, since DVC tells them by one name."""
    methods = own.get("methods", [])
    some = [name for name in methods if name in own]
    if some and len(some) < len(methods):
        raise Problem(
            f"a pipeline's {FILE} has a section '{some[0]}', and of other methods none: DVC would "
            f"not notice a change of it. Say it under '{CELLS}', or give every method one."
        )
    return bool(some)
