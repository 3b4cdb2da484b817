#%Module1.0
# choir: environment module (Tcl; site: set prefix to where choir is installed).
set prefix /opt/choir
if {[info exists env(CHOIR_PREFIX)]} { set prefix $env(CHOIR_PREFIX) }

module-whatis "choir: fast collective file I/O for unmodified MPI programs"
proc ModulesHelp {} {
    puts stderr "mpiexec -n 64 choir run ./app        see choir info, man choir, man choir.toml"
}

prepend-path PATH $prefix/bin
prepend-path MANPATH $prefix/share/man
prepend-path PKG_CONFIG_PATH $prefix/lib/pkgconfig
prepend-path CMAKE_PREFIX_PATH $prefix
