# Copyright lastbit authors.
# SPDX-License-Identifier: Apache-2.0
"""The compiled part of the wheel is CMake's; all else stands in pyproject.toml. LASTBIT_BUILD_DIR names a build folder that is there already."""
import os
import pathlib
import re
import subprocess
import sys

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

ROOT = pathlib.Path(__file__).resolve().parent
WORK = ROOT / "build" / "wheel"  # nothing outside of build/


class Module(build_ext):
    """lastbit._lastbit, built by CMake for the Python that asks."""

    def build_extension(self, ext):
        folder = pathlib.Path(os.environ.get("LASTBIT_BUILD_DIR", WORK / "cmake"))
        if not (folder / "CMakeCache.txt").exists():
            parts = [f"-DLASTBIT_{part}=OFF" for part in ("TOOLS", "TESTS", "EXAMPLES", "BENCHMARKS")]
            subprocess.run(["cmake", "-S", ROOT, "-B", folder, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_UNITY_BUILD=ON",
                            "-DLASTBIT_PYTHON_MODULE=ON", f"-DPython_EXECUTABLE={sys.executable}", *parts], check=True)
        subprocess.run(["cmake", "--build", folder, "--target", "lastbit_python"], check=True)
        self.copy_file(next((folder / "python" / "lastbit").glob("_lastbit*.so")), self.get_ext_fullpath(ext.name))


WORK.mkdir(parents=True, exist_ok=True)
setup(version=re.search(r"project\(lastbit VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())[1],
      ext_modules=[Extension("lastbit._lastbit", [])], cmdclass={"build_ext": Module},
      options={"build": {"build_base": str(WORK)}, "egg_info": {"egg_base": str(WORK)}})
