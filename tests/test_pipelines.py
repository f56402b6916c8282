"""The folders of pipelines/, run for real by DVC in a copy of the repository."""

from __future__ import annotations

import shutil

import pytest
import yaml
from copies import Copy, files_of_the_project, ran

from ppac.pipelines import write_all

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def copy(tmp_path_factory) -> Copy:
    """A copy in which nothing has run."""
    return Copy(tmp_path_factory.mktemp("copy") / "ppac")


def test_the_smoke_pipeline(copy):
    output = copy.dvc("--cd", "pipelines/smoke", "repro")
    assert ran(output)[-1] == "report"
    assert (copy.folder / "pipelines/smoke/report/index.html").exists()
    assert not ran(copy.dvc("--cd", "pipelines/smoke", "repro"))
    assert ("pipelines/smoke/report", "FINISHED") in copy.runs()  # in the one store of all
    assert not [*copy.folder.glob("pipelines/*/mlflow.db")]
    assert not [*copy.folder.glob("pipelines/*/.dvc/cache")]
    assert "gamma" in copy.dvc("--cd", "pipelines/smoke", "plots", "show", "--json")


def test_code_folders_stay_as_they_are(copy):
    """Stages depend on them: what a run writes there would be a change in the next clone."""
    here = (path for name in ("ppac", "stages") for path in (copy.folder / name).rglob("*"))
    files = {str(path.relative_to(copy.folder)) for path in here if path.is_file()}
    new = files - set(files_of_the_project())
    assert not [name for name in new if not name.startswith("ppac/__pycache__/")]


def test_an_experiment_in_a_folder(copy):
    copy.git("add", "-A")
    copy.git("commit", "-qm", "smoke")
    another = ["exp", "run", "--temp", "-S", "../../params.yaml:gamma=64"]
    names = ran(copy.dvc("--cd", "pipelines/smoke", *another))
    assert {name.split("@")[0].split("-")[0] for name in names} == {"evaluate", "report"}
    assert ("bprmf/ppac gamma=64", "FINISHED") in copy.runs()


TOY = '''"""The base model with all its scores turned round."""

from ppac.core.config import Section
from ppac.scoring.method import Method, bpr


class Config(Section):
    pass


class Net(Method):
    def __init__(self, model, shared, l2, config):
        super().__init__(model, l2)

    def loss(self, batch):
        rep, ego = self.rows(batch)
        positive, negative = self.model.pair(rep.users, rep.items)
        return bpr(negative, positive) + self.regulariser(ego)

    def combine(self, parts, pp, gp, weights):
        return -parts
'''


def test_a_method_is_one_file_and_one_entry(copy):
    """Added to the comparison, it is searched, trained, tuned, evaluated and reported there."""
    (copy.folder / "ppac/methods/toy.py").write_text(TOY)
    with (copy.folder / "params.yaml").open("a") as params:
        params.write("\ntoy: {}\n")
    folder = copy.folder / "pipelines/comparison"
    params = yaml.safe_load((folder / "params.yaml").read_text())
    axes = {"datasets": ["synthetic"], "bases": ["bprmf"], "methods": ["base", "ppac", "toy"]}
    axes |= {"variants": ["ppac-pred"], "rankers": ["userknn"]}
    small = {"search": {"trials": 2, "epochs": 5}}
    (folder / "params.yaml").write_text(yaml.safe_dump(params | axes | small))
    write_all(copy.folder)  # files for the one base model that is left
    output = copy.dvc("--cd", "pipelines/comparison", "repro")
    assert {f"{stage}@synthetic-bprmf-toy" for stage in ("train", "tune", "evaluate")} <= {
        *ran(output)
    }
    assert not [name for name in ran(output) if name.startswith("train@") and "pred" in name]
    results = (folder / "report/results.csv").read_text().splitlines()
    assert [line.split(",")[2] for line in results[1:]] == [
        "base", "ppac", "toy", "ppac-pred", "userknn"
    ]  # fmt: skip
    significance = (folder / "report/significance.csv").read_text()
    assert "synthetic,bprmf,toy,ndcg_at_50,best," in significance
    assert 'synthetic,bprmf,toy,true,"train.lr=' in (folder / "report/search.csv").read_text()
    copy.git("checkout", "-q", ".")


def test_a_report_on_each_dataset_and_base_and_a_view_of_it(copy):
    """It is written again although a cell's `runs/` are gone, as where it was not run."""
    folder = copy.folder / "pipelines/smoke"
    params = yaml.safe_load((folder / "params.yaml").read_text())
    axes = {"bases": ["bprmf"], "methods": ["base"], "variants": [], "rankers": ["ppgp"]}
    axes |= {"sweeps": [], "recommendations": [], "report": {"missing": "blank"}}
    (folder / "params.yaml").write_text(yaml.safe_dump(params | axes))
    write_all(copy.folder)
    assert "report@synthetic" in ran(copy.dvc("--cd", "pipelines/smoke", "repro", "-R", "."))
    place = folder / "report/synthetic/bprmf"
    assert (place / "index.html").exists()
    again = ["--cd", "pipelines/smoke", "repro", "-s", "bprmf/report/dvc.yaml:report@synthetic"]
    assert not ran(copy.dvc(*again))
    shutil.rmtree(folder / "runs/synthetic/bprmf/base/evaluate")
    assert "because their runs/ are not here: 1 cell(s)." in copy.dvc(*again)
    assert "synthetic,bprmf,base,0." in (place / "results.csv").read_text()
    assert "bprmf/base" not in (place / "tables/head_tail.csv").read_text()
    view = copy.folder / "pipelines/motivation/dvc.yaml"
    view.write_text(view.read_text().replace("../released", "../smoke"))
    copy.dvc("--cd", "pipelines/motivation", "repro")
    assert (view.parent / "report/figures/differences-synthetic.svg").exists()
    copy.git("checkout", "-q", ".")
    write_all(copy.folder)
