"""Taking one member out of a zip or tar archive. Nothing else in it is written or executed."""

from __future__ import annotations

import errno
import lzma
import shutil
import tarfile
import zipfile
import zlib
from pathlib import Path

from ppac.core.errors import nearest
from ppac.sources.web import Unavailable, Wrong

DAMAGED = (zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, EOFError, RuntimeError)


def take(archive: Path, member: str, target: Path) -> Path:
    """Copy ``member`` of ``archive`` to ``target``."""
    try:
        if zipfile.is_zipfile(archive):
            return _from_zip(archive, member, target)
        return _from_tar(archive, member, target)
    except DAMAGED as error:
        reason = str(error).partition("\n")[0].rstrip(":") or type(error).__name__
        raise Wrong(f"the archive is damaged or of an unknown kind: {reason}") from None
    except OSError as error:
        if error.errno not in (None, errno.EINVAL):  # a full disk is not the archive's fault
            raise
        raise Wrong(f"the archive is damaged: {error}") from None


def _from_zip(archive: Path, member: str, target: Path) -> Path:
    with zipfile.ZipFile(archive) as opened:
        if member not in opened.namelist():
            raise Unavailable(_absent(member, opened.namelist()))
        with opened.open(member) as source, target.open("wb") as file:
            shutil.copyfileobj(source, file)
    return target


def _from_tar(archive: Path, member: str, target: Path) -> Path:
    seen = []
    with tarfile.open(archive) as opened:
        for info in opened:
            seen.append(info.name)
            source = opened.extractfile(info) if info.name == member and info.isfile() else None
            if source is not None:
                with source, target.open("wb") as file:
                    shutil.copyfileobj(source, file)
                return target
    raise Unavailable(_absent(member, seen))


def _absent(member: str, names: list[str]) -> str:
    """One line even for an archive of thousands of members.

    >>> _absent("ml/u.dat", ["ml/u.data", "ml/u.item"])
    "the archive has no member 'ml/u.dat'; did you mean 'ml/u.data'?"
    """
    hint = nearest(member, names).rpartition("Known:")[0].strip()
    return f"the archive has no member '{member}'" + (f"; {hint}" if hint else "")
