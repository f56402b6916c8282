"""The folders of pipelines/ as DVC projects of their own, as `dvc init --subdir` makes them.

DVC reads all pipeline and lock files of its project several times for every command, which takes
milliseconds a stage: with hundreds of cells in some folders, minutes. So the root's commands see
the root's stages, and those in a folder the folder's. All keep their data in the root's cache, and
with it the record of what was run, and draw with the root's templates.

Of files outside its project DVC ignores none, and the code is outside of these: bytecode beside it
would count as a change. ppac/__init__.py has Python write none.
"""

from __future__ import annotations

from pathlib import Path

CONFIG = ".dvc/config"
COPIED = (".dvc/.gitignore", ".dvcignore")  # as they are at the root
TEMPLATES, SHARED = ".dvc/plots", "../../../.dvc/plots"  # a link, and where it leads
SETTINGS = """\
[core]
    analytics = false
    check_update = false
[cache]
    type = "reflink,hardlink,copy"
    dir = ../../../.dvc/cache
"""


def make_projects(root: Path) -> list[Path]:
    """Give every folder of pipelines/ what it lacks of a project; the files of all of them."""
    made = []
    for folder in sorted(root.glob("pipelines/*/")):
        (folder / ".dvc").mkdir(exist_ok=True)
        for name, content in project_files(root).items():
            if name != CONFIG or not (folder / name).exists():  # somebody may have added a remote
                (folder / name).write_text(content, encoding="utf-8")
            made.append(folder / name)
        if not (folder / TEMPLATES).is_symlink():
            (folder / TEMPLATES).symlink_to(SHARED, target_is_directory=True)
        made.append(folder / TEMPLATES)
    return made


def project_files(root: Path) -> dict[str, str]:
    """The text files of a project in a folder of pipelines/, by name."""
    copied = {name: (root / name).read_text(encoding="utf-8") for name in COPIED}
    return {CONFIG: SETTINGS, **copied}
