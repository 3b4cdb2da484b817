-- choir: environment module for Lmod. Works from where it is installed (PREFIX/@CMAKE_INSTALL_DATADIR@/choir/modulefiles);
-- a copy elsewhere needs CHOIR_PREFIX.
local here = myFileName():match("^(.*)/@CMAKE_INSTALL_DATADIR@/choir/modulefiles/")
local prefix = os.getenv("CHOIR_PREFIX") or here or "@CMAKE_INSTALL_PREFIX@"

whatis("Name: choir")
whatis("Version: @PROJECT_VERSION@")
whatis("Description: fast collective file I/O for unmodified MPI programs")
help([[
Runs MPI programs with faster collective file I/O, without change or relink:

    mpiexec -n 64 choir run ./app

`choir info` shows what is in force, `man choir` and `man choir.toml` explain it.
CHOIR_STRATEGY=native hands everything back to the MPI library.
]])

prepend_path("PATH", pathJoin(prefix, "@CMAKE_INSTALL_BINDIR@"))
prepend_path("MANPATH", pathJoin(prefix, "@CMAKE_INSTALL_MANDIR@"))
-- An empty entry stands for the system's own pages.
append_path("MANPATH", "", ":")
prepend_path("PKG_CONFIG_PATH", pathJoin(prefix, "@CMAKE_INSTALL_LIBDIR@/pkgconfig"))
prepend_path("CMAKE_PREFIX_PATH", prefix)
