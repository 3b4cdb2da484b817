# The MPI of this tree, as target choir::mpi: any that find_package(MPI) knows and that is of a family choir knows.
#
#   CHOIR_MPI=mpich|openmpi   Debian's way, with both side by side: mpicc.mpich, mpicc.openmpi
#   CMAKE_C_COMPILER=mpicc    that one, whatever the family; CHOIR_MPI follows from its mpi.h
#
# choir is linked with the C library alone, for C++ too.
include(CheckCSourceCompiles)

if(CHOIR_MPI)
  find_program(CHOIR_MPICC NAMES mpicc.${CHOIR_MPI})
endif()
get_filename_component(compiler_name ${CMAKE_C_COMPILER} NAME)
if(NOT CHOIR_MPICC AND compiler_name MATCHES "^mpi")
  set(CHOIR_MPICC ${CMAKE_C_COMPILER})
endif()
if(CHOIR_MPICC)
  set(MPI_C_COMPILER ${CHOIR_MPICC})
  set(MPI_ASSUME_NO_BUILTIN_MPI ON)  # C++ sources are compiled without the wrapper: its words are asked for
endif()
find_package(MPI REQUIRED COMPONENTS C)
if(NOT CHOIR_MPICC)
  set(CHOIR_MPICC ${MPI_C_COMPILER})
endif()

# choir_mpi_defines(OUT MACRO...): whether mpi.h defines one of the macros.
function(choir_mpi_defines out)
  list(TRANSFORM ARGN REPLACE "(.+)" "defined(\\1)" OUTPUT_VARIABLE conditions)
  list(JOIN conditions " || " condition)
  set(CMAKE_REQUIRED_LIBRARIES MPI::MPI_C)
  set(CMAKE_REQUIRED_QUIET ON)
  check_c_source_compiles("#include <mpi.h>\n#if !(${condition})\n#error\n#endif\nint main(void) { return 0; }" ${out})
endfunction()
choir_mpi_defines(CHOIR_MPI_IS_OPENMPI OMPI_MAJOR_VERSION)
choir_mpi_defines(CHOIR_MPI_IS_MPICH MPICH_VERSION MPICH_NUMVERSION MVAPICH_VERSION MVAPICH2_VERSION I_MPI_VERSION)
if(CHOIR_MPI_IS_OPENMPI)
  set(family openmpi)
elseif(CHOIR_MPI_IS_MPICH)
  set(family mpich)
else()
  message(FATAL_ERROR "choir knows Open MPI and the family of MPICH (MPICH, Intel MPI, MVAPICH, Cray MPICH); the mpi.h of "
    "${CHOIR_MPICC} is of neither")
endif()
if(CHOIR_MPI AND NOT CHOIR_MPI STREQUAL family)
  message(FATAL_ERROR "CHOIR_MPI is ${CHOIR_MPI}, but ${CHOIR_MPICC} is of the family ${family}")
endif()
set(CHOIR_MPI ${family} CACHE STRING "mpich or openmpi; empty: that of the compiler" FORCE)

get_filename_component(wrapper_folder ${CHOIR_MPICC} DIRECTORY)
find_program(CHOIR_MPIEXEC NAMES mpiexec.${CHOIR_MPI} mpirun.${CHOIR_MPI} mpiexec HINTS ${wrapper_folder})
find_program(CHOIR_MPIFORT NAMES mpifort.${CHOIR_MPI} mpifort HINTS ${wrapper_folder})
if(CHOIR_MPIFORT)
  execute_process(COMMAND ${CHOIR_MPIFORT} --version OUTPUT_VARIABLE fortran ERROR_QUIET)
  if(NOT fortran MATCHES "GNU Fortran")  # the options below are its own
    choir_left_out("Fortran module files" "${CHOIR_MPIFORT} is not GNU Fortran")
    unset(CHOIR_MPIFORT)
    unset(CHOIR_MPIFORT CACHE)
  endif()
endif()

# The name by which the loader knows the library: libmpich.so.12.
set(CHOIR_MPI_SONAME "")
foreach(library IN LISTS MPI_C_LIBRARIES)
  file(REAL_PATH ${library} file)
  if(file MATCHES "(libmpi(ch)?\\.so\\.[0-9]+)[^/]*$" AND NOT CHOIR_MPI_SONAME)
    set(CHOIR_MPI_SONAME ${CMAKE_MATCH_1})
  endif()
endforeach()

add_library(choir_mpi INTERFACE)
add_library(choir::mpi ALIAS choir_mpi)
target_include_directories(choir_mpi SYSTEM INTERFACE ${MPI_C_INCLUDE_DIRS})
# What is linked with the property CHOIR_WITHOUT_MPI takes the functions from the program's library.
target_link_libraries(choir_mpi INTERFACE
  "$<$<NOT:$<BOOL:$<TARGET_PROPERTY:CHOIR_WITHOUT_MPI>>>:${MPI_C_LIBRARIES};${MPI_C_LINK_FLAGS}>")
target_compile_definitions(choir_mpi INTERFACE MPICH_SKIP_MPICXX OMPI_SKIP_MPICXX)
