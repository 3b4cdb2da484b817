# What `cmake --install` puts where. Both MPI trees may go into one prefix:
#
#   bin/                   choir and the tools that are the same for every MPI
#   lib/choir/MPI/         libchoir_mpiio.so (preloaded by choir run) and libchoir.so (the API), bin/ with the tools of that MPI,
#                          fortran/ with the API's module files
#   lib/choir/             what strategy plug-ins link
#   include/choir/         the API; include/choir/plugin/ for strategy plug-ins
#   lib/cmake/choir/       find_package(choir COMPONENTS mpich|openmpi|plugin)
#   lib/pkgconfig/         choir-mpich.pc, choir-openmpi.pc
#   share/                 manual pages, completions; doc/choir: licence, changes, examples, a sample choir.toml;
#                          choir/modulefiles
include(CMakePackageConfigHelpers)
set(CHOIR_MPI_LIBDIR ${CMAKE_INSTALL_LIBDIR}/choir/${CHOIR_MPI})
set(CHOIR_CMAKEDIR ${CMAKE_INSTALL_LIBDIR}/cmake/choir)

install(TARGETS choir-command RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})

# The other common tools have their rule beside their target.
foreach(tool choir-place choir-model choir-iobench)
  if(TARGET ${tool} AND CHOIR_COMMON_TOOLS)
    install(TARGETS ${tool} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  endif()
endforeach()
foreach(tool choir-bench choir-netbench)
  if(TARGET ${tool})
    install(TARGETS ${tool} RUNTIME DESTINATION ${CHOIR_MPI_LIBDIR}/bin)
  endif()
endforeach()
install(PROGRAMS ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/choir-bench-compare DESTINATION ${CHOIR_MPI_LIBDIR}/bin)

if(TARGET choir_mpiio)
  install(TARGETS choir_mpiio LIBRARY DESTINATION ${CHOIR_MPI_LIBDIR})
  if(TARGET choir_mpiio_abi)
    install(TARGETS choir_mpiio_abi LIBRARY DESTINATION ${CHOIR_MPI_LIBDIR}/abi)
  endif()
endif()
if(TARGET choir)
  install(TARGETS choir LIBRARY DESTINATION ${CHOIR_MPI_LIBDIR})
  # The prefix is known only when installing (cmake --install --prefix), so the file finds it from its own place.
  file(RELATIVE_PATH CHOIR_PREFIX_FROM_PC ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
  configure_file(${CMAKE_SOURCE_DIR}/packaging/choir.pc.in ${CMAKE_BINARY_DIR}/choir-${CHOIR_MPI}.pc @ONLY)
  install(FILES ${CMAKE_BINARY_DIR}/choir-${CHOIR_MPI}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endif()
if(EXISTS ${CMAKE_SOURCE_DIR}/include/choir)
  install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/choir DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
    FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp" PATTERN "*.f90")
  get_property(choir_fortran_modules GLOBAL PROPERTY CHOIR_FORTRAN_MODULES)
  if(choir_fortran_modules)
    install(DIRECTORY ${choir_fortran_modules}/ DESTINATION ${CHOIR_MPI_LIBDIR}/fortran FILES_MATCHING PATTERN "*.mod")
  endif()
endif()

# A strategy plug-in carries its own copy of the planner, since the front door hides its symbols.
install(TARGETS choir_plan choir_access EXPORT choir-plugin ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}/choir
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/choir/plugin)
install(EXPORT choir-plugin NAMESPACE choir:: DESTINATION ${CHOIR_CMAKEDIR} FILE choirTargets-plugin.cmake)
file(GLOB plan_headers CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/plan/*.hpp)
install(FILES ${plan_headers} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/choir/plugin/plan)
install(FILES src/access/run.hpp src/access/layout.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/choir/plugin/access)

set(CHOIR_INSTALL_LIBRARIES ${CMAKE_INSTALL_LIBDIR}/choir)
set(CHOIR_INSTALL_INCLUDES ${CMAKE_INSTALL_INCLUDEDIR})
configure_package_config_file(${CMAKE_SOURCE_DIR}/packaging/choirConfig.cmake.in ${CMAKE_BINARY_DIR}/choirConfig.cmake
  INSTALL_DESTINATION ${CHOIR_CMAKEDIR} PATH_VARS CHOIR_INSTALL_LIBRARIES CHOIR_INSTALL_INCLUDES)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/choirConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/choirConfig.cmake ${CMAKE_BINARY_DIR}/choirConfigVersion.cmake
  DESTINATION ${CHOIR_CMAKEDIR})

install(FILES LICENSE CHANGELOG.md README.md packaging/choir.toml DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY examples DESTINATION ${CMAKE_INSTALL_DOCDIR})
foreach(kind lua tcl)
  configure_file(packaging/modulefiles/choir.${kind} ${CMAKE_BINARY_DIR}/modulefiles/choir.${kind} @ONLY)
endforeach()
# Modules of both kinds have one name: Lmod reads NAME.lua, Environment Modules NAME.
install(FILES ${CMAKE_BINARY_DIR}/modulefiles/choir.lua DESTINATION ${CMAKE_INSTALL_DATADIR}/choir/modulefiles)
install(FILES ${CMAKE_BINARY_DIR}/modulefiles/choir.tcl DESTINATION ${CMAKE_INSTALL_DATADIR}/choir/modulefiles
  RENAME choir)

file(GLOB manual_1 ${CMAKE_SOURCE_DIR}/man/*.1)
file(GLOB manual_5 ${CMAKE_SOURCE_DIR}/man/*.5)
install(FILES ${manual_1} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${manual_5} DESTINATION ${CMAKE_INSTALL_MANDIR}/man5)
install(FILES ${CMAKE_SOURCE_DIR}/completions/choir.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
  RENAME choir)
install(FILES ${CMAKE_SOURCE_DIR}/completions/_choir DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions)
