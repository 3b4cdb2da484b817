# What this MPI library has of MPI-4, as definitions of choir::mpi. It is asked for the functions themselves: Open MPI 5 has
# some of them and calls itself MPI 3.1.
#
#   CHOIR_HAS_LARGE_COUNT  the functions with counts of MPI_Count, MPI_X_c
#   CHOIR_HAS_SESSIONS     MPI_Session_init
include(CheckSymbolExists)
function(choir_mpi_feature name function)
  get_target_property(CMAKE_REQUIRED_INCLUDES choir_mpi INTERFACE_INCLUDE_DIRECTORIES)
  get_target_property(CMAKE_REQUIRED_LIBRARIES choir_mpi INTERFACE_LINK_LIBRARIES)
  get_target_property(CMAKE_REQUIRED_LINK_OPTIONS choir_mpi INTERFACE_LINK_OPTIONS)
  check_symbol_exists(${function} mpi.h ${name})
  if(${name})
    target_compile_definitions(choir_mpi INTERFACE ${name})
  endif()
  set(${name} ${${name}} PARENT_SCOPE)
endfunction()
choir_mpi_feature(CHOIR_HAS_LARGE_COUNT PMPI_File_write_at_all_begin_c)
choir_mpi_feature(CHOIR_HAS_SESSIONS PMPI_Session_init)
