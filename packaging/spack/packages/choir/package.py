"""Spack recipe: one MPI per installation, as Spack does it.

It works from its place: `spack repo add packaging/spack`, then `spack install choir ^mpich`. choir is built from the
clone that CHOIR_GIT names, by default the one this file is part of.
"""
import os
import pathlib

from spack.package import *

try:  # Spack 1 keeps the build systems with its packages
    from spack_repo.builtin.build_systems.cmake import CMakePackage, generator
except ImportError:
    pass


MPIS = ("openmpi", "mpich", "mvapich", "mvapich2", "cray-mpich", "intel-oneapi-mpi")


class Choir(CMakePackage):
    """Fast collective file I/O for unmodified MPI programs: a library preloaded in front of MPI-IO that picks, by
    measurement, the best of a family of strategies for each access pattern."""

    homepage = "file:///usr/share/doc/choir"
    git = os.environ.get("CHOIR_GIT", "file://" + str(pathlib.Path(__file__).resolve().parents[4]))
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
    variant("place", default=True, description="choir place")
    variant("assign", default=True, description="choir assign")
    variant("cbc", default=False, when="+assign", description="exact assignments for choir assign")
    depends_on("hwloc", when="+place")
    depends_on("scotch", when="+place")
    depends_on("lemon", when="+assign")
    depends_on("cbc", when="+cbc")

    requires(
        *("^[virtuals=mpi] " + mpi for mpi in MPIS),
        policy="one_of",
        msg="choir knows Open MPI and the family of MPICH",
    )
    generator("ninja")

    def cmake_args(self):
        # The family follows from the mpi.h of this compiler.
        return [
            self.define("CHOIR_TESTS", self.run_tests),
            self.define("CHOIR_MPICC", self.spec["mpi"].mpicc),
            self.define("CHOIR_MPIFORT", self.spec["mpi"].mpifc),
        ]
