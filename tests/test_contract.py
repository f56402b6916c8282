"""The pipeline files against the code: deps, params, leaks, and the README's commands."""

from __future__ import annotations

import ast
import importlib
import io
import itertools
import re
import shlex
import subprocess
import tarfile
from pathlib import Path

import pytest
import yaml
from contract import (
    BLANK,
    FOUND_BY_NAME,
    FOUND_BY_NAME_WHOLE,
    PIPELINES,
    ROOT,
    SEARCHES,
    VIEWS,
    closure,
    code_of,
    declared_code,
    declared_params,
    shared_params,
    stages_of,
)

from ppac.__main__ import readme
from ppac.core.errors import Problem
from ppac.documents.blocks import DOCUMENTS as WRITTEN
from ppac.documents.blocks import fill
from ppac.pipelines import AXES, BESIDE_CELLS, EVERY_CELL, UP_TO_TRAIN, derived, differences
from stages import door

EVERY_STAGE = [
    pytest.param(path, name, id=f"{path.name}:{name}")
    for path in PIPELINES + VIEWS
    for name in stages_of(path)
]


def kind(name: str) -> str:
    return name.removesuffix("-rankers").removesuffix("-variants")


def is_covered(file: str, declared: set[str]) -> bool:
    """Whether a file, or a folder that holds it, is declared."""
    return file in declared or any(str(parent) in declared for parent in Path(file).parents)


@pytest.mark.parametrize(("pipeline", "name"), EVERY_STAGE)
def test_deps_cover_the_import_closure(pipeline, name):
    stage = stages_of(pipeline)[name]
    declared = declared_code(stage, pipeline)
    missing = {file for file in code_of(stage) if not is_covered(file, declared)}
    assert not missing


@pytest.mark.parametrize(("pipeline", "name"), EVERY_STAGE)
def test_declared_code_is_used(pipeline, name):
    """A dep that nothing imports would re-run the stage for nothing."""
    stage = stages_of(pipeline)[name]
    used = code_of(stage)
    for dep in declared_code(stage, pipeline):
        found_by_name = "${item." in dep or dep in FOUND_BY_NAME_WHOLE
        found_by_name |= dep == f"ppac/views/{pipeline.name}.py"
        assert found_by_name or any(is_covered(file, {dep}) for file in used), dep


@pytest.mark.parametrize(("pipeline", "name"), EVERY_STAGE)
def test_what_is_found_by_name_is_a_dep_by_that_name(pipeline, name):
    stage = stages_of(pipeline)[name]
    if kind(name) not in EVERY_CELL:
        pytest.skip("loads nothing by name")
    declared = declared_code(stage, pipeline)
    for folder, axis in FOUND_BY_NAME.items():
        if axis in stage["matrix"]:
            assert f"ppac/{folder}/${{item.{axis}}}.py" in declared
            for file in (ROOT / "ppac" / folder).glob("[a-z]*.py"):
                inside = {str(path.relative_to(ROOT)) for path in closure(file)} - {
                    str(file.relative_to(ROOT)),
                    "ppac/__init__.py",
                }
                assert all(is_covered(path, declared) for path in inside), file


class Recorder(dict):
    """Settings that remember which of their keys were looked at."""

    def __init__(self, values: dict) -> None:
        super().__init__(values)
        self.read: set[str] = set()

    def __getitem__(self, key):
        self.read.add(key)
        return super().__getitem__(key)

    def get(self, key, default=None):
        self.read.add(key)
        return super().get(key, default)


RANKERS_OF = "${item.dataset}/rankers"
ORDER = ["tables", "download", "titles", "split", "neighbours", "popularity", "describe"]
ORDER += ["train", "tune", "evaluate", "sweep", "recommend", "report"]


def test_declared_params_are_those_read(project, monkeypatch):
    """Every stage is run, in this process, on settings that record what is read of them."""
    project.set("datasets: [ml-100k]", "datasets: [synthetic]")
    project.set("bases: [bprmf, ncf, lightgcn]", "bases: [bprmf]")
    project.set("methods: [base, ppac]", "methods: [ppac]")
    project.set("variants: [ppac-plus]", "variants: []")
    project.set("rankers: [mostpop, mostppop, ppgp, pp-plus]", "rankers: []")
    project.set("epochs: 300", "epochs: 2")
    monkeypatch.chdir(project.folder)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{project.folder}/runs.db")
    values = {"dataset": "synthetic", "protocol": "balanced", "base": "bprmf", "method": "ppac"}
    stages = [(name, stages_of(ROOT)[name]) for name in ORDER]
    for name, stage in [*stages, ("report", stages_of(BLANK[0])["report"])]:
        recorder = Recorder(door.params())
        options = re.findall(r"--(\w+)", stage["cmd"])
        argv = [name, *(word for option in options for word in (f"--{option}", values[option]))]
        with monkeypatch.context() as patch:
            patch.setattr(door, "params", lambda recorder=recorder: recorder)
            patch.setattr("sys.argv", argv)
            importlib.import_module(f"stages.{name}").main()
        filled = {
            param.replace("${item.base}", "bprmf").replace("${item.method}", "ppac").split(".")[0]
            for param in declared_params(stage)
        }
        assert recorder.read == filled, stage["cmd"]


def test_every_stage_file_is_a_stage():
    files = {path.stem for path in (ROOT / "stages").glob("[a-z]*.py")} - {"door"}
    assert files - {"view"} == {kind(name) for name in stages_of(ROOT)} == set(ORDER)
    assert files >= {name for path in VIEWS for name in stages_of(path)} == {"view"}


@pytest.mark.parametrize("folder", VIEWS, ids=lambda path: path.name)
def test_views_train_nothing_and_read_what_is_in_git(folder):
    """Their one stage reads committed files, of cells or of reports, and commits its own outs.

    Which cells and reports there are differs: the dep is the folder of all of them, since DVC knows
    none that may be absent.
    """
    (stage,) = stages_of(folder).values()
    words = stage["cmd"].split()
    assert words[words.index("--name") + 1] == folder.name
    file, declared = ROOT / f"ppac/views/{folder.name}.py", declared_code(stage, folder)
    assert all(is_covered(str(path.relative_to(ROOT)), declared) for path in closure(file))
    committed = {
        path for out in stages_of(ROOT)["report"]["outs"] if isinstance(out, dict) for path in out
    }
    source = words[words.index("--of") + 1]
    assert (folder / source).resolve() in BLANK
    assert "report/tables" in committed  # what a view may read
    read = [dep for dep in stage["deps"] if not dep.startswith("../../")]
    of_cells = "beside_printed" in file.read_text()
    assert read == [f"{source}/{'metrics' if of_cells else 'report'}"]
    own = ["methods", "variants"] if of_cells else ["report.missing"]  # which cells, or reports
    assert stage["params"] == [{f"{source}/params.yaml": ["datasets", "bases", *own]}]
    assert all(options == {"cache": False} for out in stage["outs"] for options in out.values())
    drawn = any("report/figures" in out for out in stage["outs"])
    assert drawn == ("plots" in yaml.safe_load((folder / "dvc.yaml").read_text()))
    assert ("../../reference/printed.csv" in stage["deps"]) == of_cells


@pytest.mark.parametrize("pipeline", PIPELINES, ids=lambda path: path.name)
def test_only_evaluate_knows_gamma_and_beta(pipeline):
    for name, stage in stages_of(pipeline).items():
        knows = {"gamma", "beta"} & declared_params(stage)
        assert (kind(name) == "evaluate") == bool(knows), name


@pytest.mark.parametrize("pipeline", PIPELINES, ids=lambda path: path.name)
def test_no_test_set_upstream_of_evaluate(pipeline):
    """Stages before it name the files of the split one by one, and test is not among them."""
    for name, stage in stages_of(pipeline).items():
        if kind(name) in ("evaluate", "sweep", "recommend", "report"):
            continue
        for dep in stage.get("deps", []):
            assert not dep.endswith(("test.parquet", "random.parquet")), name
            assert dep != "data/split/${item.dataset}", name


@pytest.mark.parametrize("pipeline", PIPELINES[1:], ids=lambda path: path.name)
def test_other_pipelines_repeat_the_roots_stages(pipeline):
    """Same commands, same code, same paths; only where params come from differs."""
    root = stages_of(ROOT)
    assert stages_of(pipeline).keys() == {*(UP_TO_TRAIN if pipeline in SEARCHES else root)}
    for name, stage in stages_of(pipeline).items():
        if name == "report" and pipeline in BLANK:
            continue  # on a part of it: see below
        twin = root[name]
        assert [dep.removeprefix("../../") for dep in stage["deps"]] == twin["deps"]
        assert shared_params(stage) == declared_params(twin)
        if name == "train" and pipeline in SEARCHES:
            continue  # keeps what it tried, too: see below
        assert stage["cmd"] == twin["cmd"]
        assert (stage.get("outs"), stage.get("metrics")) == (twin.get("outs"), twin.get("metrics"))
    own = yaml.safe_load((pipeline / "params.yaml").read_text())
    files = derived((ROOT / "dvc.yaml").read_text(), own)
    for name, text in files.items():
        assert (pipeline / name).read_text() == text, "run `python -m ppac pipelines`"
    assert {str(path.relative_to(pipeline)) for path in pipeline.rglob("dvc.yaml")} == files.keys()


@pytest.mark.parametrize("folder", SEARCHES, ids=lambda path: path.name)
def test_a_search_keeps_what_it_tried_in_git(folder):
    """It trains as the root does, and copies the table of its trials to where Git sees it."""
    stage, twin = stages_of(folder)["train"], stages_of(ROOT)["train"]
    (run,), cell = twin["outs"], "${item.dataset}/${item.base}/${item.method}"
    train, *_, copy = stage["cmd"]
    assert train == twin["cmd"]
    assert copy.split() == ["cp", f"{run}/search.csv", f"trials/{cell}.csv"]
    assert stage["outs"] == [run, {f"trials/{cell}.csv": {"cache": False}}]


EACH_REPORT = [path for folder in BLANK for path in sorted(folder.glob("*/report/dvc.yaml"))]


@pytest.mark.parametrize("path", EACH_REPORT, ids=lambda path: "-".join(path.parts[-4:-2]))
def test_a_report_on_one_dataset_and_base_knows_no_other(path):
    """Cells that a machine does not have must not keep it from reporting on those it has."""
    base, stage = path.parts[-3], yaml.safe_load(path.read_text())["stages"]["report"]
    twin, part = stages_of(ROOT)["report"], f"${{item.dataset}}/{base}"
    assert stage["matrix"] == {"dataset": "${datasets}"}
    assert stage["cmd"] == f"{twin['cmd']} --dataset ${{item.dataset}} --base {base}"
    data = {dep for dep in stage["deps"] if not dep.startswith("../../")}
    cells = {f"{kind}/{own}" for kind in ("metrics", "runs") for own in (part, RANKERS_OF)}
    described = {
        f"data/{name}/${{item.dataset}}" for name in ("description", "popularity", "split")
    }
    assert data == cells | described | {"data/titles/${item.dataset}.parquet"}
    assert declared_params(stage) == declared_params(twin) - {"datasets", "bases"}
    for kind_of_out in ("outs", "metrics"):
        moved = yaml.safe_dump(twin[kind_of_out]).replace("report/", f"report/{part}/")
        assert stage[kind_of_out] == yaml.safe_load(moved)


def test_folders_without_a_report_on_all_show_no_plots_of_it():
    assert {path.name for path in BLANK} == {"released", "balanced"}
    for folder in BLANK:
        own = yaml.safe_load((folder / "dvc.yaml").read_text())
        assert own.keys() == {"stages"} and "report" not in own["stages"]
        bases = yaml.safe_load((folder / "params.yaml").read_text())["bases"]
        assert {path.parts[-3] for path in EACH_REPORT if folder in path.parents} == {*bases}


def test_differences_of_the_release_are_trained_as_released_is():
    """Their files are written from the root's and `released`'s, and lead back to the same code."""
    written = differences(ROOT, (ROOT / "dvc.yaml").read_text())
    plain = yaml.safe_load((ROOT / "pipelines/released/params.yaml").read_text())
    assert written
    for path, text in written.items():
        assert path.read_text() == text, "run `python -m ppac pipelines`"
        if path.name == "params.yaml":
            own = yaml.safe_load(text)
            assert [own[name] for name in ("train", "search", "tune", "protocol")] == [
                plain[name] for name in ("train", "search", "tune", "protocol")
            ]
            assert set(own["rankers"]) <= set(plain["rankers"])
            assert set(own["methods"]) <= set(plain["methods"])
        else:
            stages = stages_of(path.parent)
            assert stages.keys() == stages_of(ROOT).keys() - set(BESIDE_CELLS)
            for name, stage in stages.items():
                code = declared_code(stage, path.parent)
                assert code == declared_code(stages_of(ROOT)[name], ROOT)
                assert shared_params(stage) == declared_params(stages_of(ROOT)[name])


@pytest.mark.parametrize("pipeline", PIPELINES[1:], ids=lambda path: path.name)
def test_a_pipelines_own_params_are_declared(pipeline):
    """A key that a folder's params.yaml overrides must re-run the stages that read it.

    A method's section is told by the method's name, which every method of the folder has to have.
    """
    own = set(yaml.safe_load((pipeline / "params.yaml").read_text()))
    by_name = {path.stem for kind in FOUND_BY_NAME for path in ROOT.glob(f"ppac/{kind}/*.py")}
    assert not own & by_name
    for name, stage in stages_of(pipeline).items():
        read = {param.split(".")[0] for param in declared_params(stage)}
        local = {
            param.split(".")[0]
            for entry in stage["params"]
            for param in (entry.get("params.yaml", []) if isinstance(entry, dict) else [])
        }
        assert (own & read) - set(AXES) <= local, name
        own_cells = "cells" in own and kind(name) in ("train", "tune") and "base" in stage["matrix"]
        assert ("cells" in local) == own_cells, name


def test_a_section_of_some_methods_is_refused():
    """DVC has one name for the sections of all methods, and would look for the others' in vain."""
    text = 'stages:\n  train:\n    params: [seed, train, "${item.method}"]\n'
    own = {"bases": ["mf"], "methods": ["base", "ppac"], "ppac": {"alpha": 1}}
    with pytest.raises(Problem, match="a section 'ppac', and of other methods none"):
        derived(text, own)
    whole = derived(text, own | {"base": {}})["mf/train/dvc.yaml"]
    assert '- params.yaml: ["${item.method}"]' in whole


def test_cells_of_a_pipeline_are_all_there():
    own = {"datasets": ["a"], "bases": ["mf", "ncf"], "cells": {"a": {"mf": {}}}}
    with pytest.raises(Problem, match="none for a and ncf"):
        derived("stages:\n", own)


def test_modules_and_functions_stay_small():
    """Sizes that can be read in one sitting: stages 60 lines, modules 250, functions 40."""
    for path in [*ROOT.glob("stages/*.py"), *ROOT.glob("ppac/**/*.py")]:
        text = path.read_text()
        limit = 60 if path.parent.name == "stages" and path.stem != "door" else 250
        assert len(text.splitlines()) <= limit, path
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef):
                assert (node.end_lineno or 0) - node.lineno < 42, f"{path}:{node.name}"


def test_params_yaml_is_the_only_home_of_defaults():
    """No settings class has a default, but for what an entry may leave out altogether."""
    for path in ROOT.glob("ppac/**/*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.ClassDef):
                continue
            bases = {getattr(base, "id", "") for base in node.bases}
            if not bases & {"Section", "FileEntry", "Kept"}:
                continue
            for field in node.body:
                if isinstance(field, ast.AnnAssign) and field.value is not None:
                    text = ast.unparse(field.value)
                    assert text == "None" or "default" not in text, f"{path}: {text}"
                    assert text == "None" or text.startswith("Field("), f"{path}: {text}"


def commands(text: str) -> list[str]:
    """The lines of a document's shell blocks, without comments."""
    blocks = re.findall(r"```(?:sh|bash|console)\n(.*?)```", text, flags=re.S)
    lines = [line.split("  #")[0].strip() for block in blocks for line in block.splitlines()]
    return [line.removeprefix("$ ") for line in lines if line and not line.startswith("#")]


DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def check_targets(words: list[str], line: str) -> None:
    """What `dvc repro` is told to run is in the project it is run in: a folder, or a stage."""
    folder = ROOT / words[words.index("--cd") + 1] if "--cd" in words else ROOT
    assert (folder / ".dvc/config").is_file(), line
    for target in words[words.index("repro") + 1 :]:
        if (folder / target).is_dir() or target.startswith("-"):
            assert "-R" in words or target.startswith("-"), line
            continue
        file, _, stage = target.rpartition(":")
        stages = yaml.safe_load((folder / (file or "dvc.yaml")).read_text())["stages"]
        assert stage.split("@")[0] in stages, line


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_commands_in_documents_exist(document):
    """make targets, stages, verbs, params keys and files that a reader is told to use."""
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), flags=re.M))
    params = yaml.safe_load((ROOT / "params.yaml").read_text())
    for line in commands(document.read_text()):
        words = shlex.split(line.replace("...", "x"))
        if words[0] == "make":
            assert words[1] in targets, line
        for before, word in itertools.pairwise(words):
            if before == "-m" and word.startswith("stages."):
                assert (ROOT / (word.replace(".", "/") + ".py")).exists(), line
            if before == "-S":
                node = params
                for part in word.split("=")[0].split("."):
                    assert part in node, line
                    node = node[part]
            if word.startswith("pipelines/"):
                assert (ROOT / word).exists(), line
        if words[0] == "dvc" and "repro" in words:
            check_targets(words, line)
        if words[:3] == ["python", "-m", "ppac"] and len(words) > 3:
            assert f'"{words[3]}"' in (ROOT / "ppac/__main__.py").read_text(), line


@pytest.fixture(scope="module")
def committed(tmp_path_factory):
    """The project as Git has it: whoever runs a pipeline here writes over the committed results."""
    folder = tmp_path_factory.mktemp("committed")
    archive = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, check=True, capture_output=True)
    with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as files:
        files.extractall(folder, filter="data")
    return folder


def test_the_readme_shows_what_the_report_wrote(committed, monkeypatch):
    """Its table is the committed report's, so no number there was typed."""
    text = (committed / "README.md").read_text()
    monkeypatch.chdir(committed)
    readme()
    assert (committed / "README.md").read_text() == text


@pytest.mark.parametrize("document", WRITTEN, ids=lambda path: path.name)
def test_the_numbers_are_what_the_pipelines_committed(committed, document):
    """The documents' tables come out of the tracked files byte by byte."""
    assert fill(document, committed) == (committed / document).read_text()


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_and_paths_in_documents_exist(document):
    for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", document.read_text()):
        assert (document.parent / target).exists(), target
