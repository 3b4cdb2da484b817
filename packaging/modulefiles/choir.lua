-- choir: environment module (Lmod; site: set prefix to where choir is installed).
local prefix = os.getenv("CHOIR_PREFIX") or "/opt/choir"

whatis("Name: choir")
whatis("Description: fast collective file I/O for unmodified MPI programs")
help([[
Runs MPI programs with faster collective file I/O, without change or relink:

    mpiexec -n 64 choir run ./app

`choir info` shows what is in force, `man choir` and `man choir.toml` explain it.
CHOIR_STRATEGY=native hands everything back to the MPI library.
]])

prepend_path("PATH", pathJoin(prefix, "bin"))
prepend_path("MANPATH", pathJoin(prefix, "share/man"))
prepend_path("PKG_CONFIG_PATH", pathJoin(prefix, "lib/pkgconfig"))
prepend_path("CMAKE_PREFIX_PATH", prefix)
