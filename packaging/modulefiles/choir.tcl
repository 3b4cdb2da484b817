#%Module1.0
# choir: environment module in Tcl. Works from where it is installed (PREFIX/@CMAKE_INSTALL_DATADIR@/choir/modulefiles);
# a copy elsewhere needs CHOIR_PREFIX.
set prefix @CMAKE_INSTALL_PREFIX@
regexp {^(.*)/@CMAKE_INSTALL_DATADIR@/choir/modulefiles/} $ModulesCurrentModulefile all prefix
if {[info exists env(CHOIR_PREFIX)]} { set prefix $env(CHOIR_PREFIX) }

module-whatis "choir @PROJECT_VERSION@: fast collective file I/O for unmodified MPI programs"
proc ModulesHelp {} {
    puts stderr "mpiexec -n 64 choir run ./app        see choir info, man choir, man choir.toml"
}

prepend-path PATH $prefix/@CMAKE_INSTALL_BINDIR@
prepend-path MANPATH $prefix/@CMAKE_INSTALL_MANDIR@
# An empty entry stands for the system's own pages.
append-path MANPATH {}
prepend-path PKG_CONFIG_PATH $prefix/@CMAKE_INSTALL_LIBDIR@/pkgconfig
prepend-path CMAKE_PREFIX_PATH $prefix
