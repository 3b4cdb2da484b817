"""Spack recipe: one MPI per installation, as Spack does it.

Copy it to packages/choir/package.py of a Spack repository. choir is built from a clone that CHOIR_GIT names, by default
the one this file is part of.
"""
import os
import pathlib

from spack.package import *


class Choir(CMakePackage):
    """Fast collective file I/O for unmodified MPI programs: a library preloaded in front of MPI-IO that picks, by
    measurement, the best of a family of strategies for each access pattern."""

    homepage = "file:///usr/share/doc/choir"
    git = os.environ.get("CHOIR_GIT", "file://" + str(pathlib.Path(__file__).resolve().parents[2]))
    license("BSD-3-Clause")

    version("main", branch="main")
    version("0.1.0", tag="v0.1.0")

    depends_on("cxx", type="build")
    depends_on("c", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("ninja", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("mpi")
    depends_on("fmt@9:")
    depends_on("cli11@2:", type="build")
    depends_on("nlohmann-json@3.11:", type="build")
    depends_on("toml11@3.7:3", type="build")
    depends_on("liburing")
    depends_on("hwloc")
    depends_on("scotch")
    depends_on("lemon")
    depends_on("cbc", when="+cbc")
    variant("cbc", default=False, description="exact assignments for choir assign")

    requires("^[virtuals=mpi] mpich", "^[virtuals=mpi] openmpi", policy="one_of",
             msg="choir knows MPICH and Open MPI")
    generator("ninja")

    def cmake_args(self):
        mpi = "openmpi" if self.spec["mpi"].name == "openmpi" else "mpich"
        bin_folder = self.spec["mpi"].prefix.bin
        return [
            self.define("CHOIR_MPI", mpi),
            self.define("CHOIR_TESTS", self.run_tests),
            self.define("CHOIR_MPICC", join_path(bin_folder, "mpicc")),
            self.define("CHOIR_MPIEXEC", join_path(bin_folder, "mpiexec")),
            self.define("CHOIR_MPIFORT", join_path(bin_folder, "mpifort")),
        ]
