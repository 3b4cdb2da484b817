"""tools.py: the lab's two C programs, compiled when first needed and kept by the hash of what they are made from."""
import hashlib
import os
import pathlib
import subprocess

from choirlab.errors import LabError
from choirlab.lab import needed

SOURCES = pathlib.Path(__file__).resolve().parent.parent


def cache_folder():
    chosen = os.environ.get("CHOIR_LAB_CACHE")
    home_cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    folder = pathlib.Path(chosen or f"{home_cache}/choir-lab").resolve()
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def compiled(source, compiler, flags):
    """The path of what `compiler` makes of `source`."""
    needed(compiler)
    text = (SOURCES / source).read_bytes()
    digest = hashlib.sha256(text + " ".join([compiler, *flags]).encode()).hexdigest()[:16]
    target = cache_folder() / f"{pathlib.Path(source).stem}-{digest}"
    if not target.exists():
        partial = target.with_suffix(f".{os.getpid()}")
        command = [compiler, "-O2", "-Wall", "-Wextra", "-o", str(partial), str(SOURCES / source), *flags]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise LabError(f"cannot compile {source}:\n{done.stderr}")
        partial.rename(target)
    return str(target)
