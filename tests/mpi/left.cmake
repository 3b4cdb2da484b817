# What choir leaves to the MPI library is counted with its reason, and what it need not leave is not.
add_executable(left_test left_test.cpp)
target_compile_options(left_test PRIVATE -O1)
target_link_libraries(left_test PRIVATE choir_mpi_test_support)

# choir_left(NAME [CHECK name] [SETTINGS key=value...] [LINES pattern...]): the patterns of expect-lines, on two ranks
function(choir_left name)
  cmake_parse_arguments(arg "" "CHECK" "SETTINGS;LINES" ${ARGN})
  if(NOT arg_CHECK)
    set(arg_CHECK ${name})
  endif()
  add_test(NAME mpi.left.${name}.2
    COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/expect-lines ${arg_LINES} -- ${CMAKE_SOURCE_DIR}/scripts/mpi-launch ${CHOIR_MPI} 2
      ${under_choir} CHOIR_STATS=1 ${arg_SETTINGS} $<TARGET_FILE:left_test> ${arg_CHECK} --dir ${data})
  set_tests_properties(mpi.left.${name}.2 PROPERTIES LABELS mpi TIMEOUT 180 PROCESSORS 2
    ENVIRONMENT "XDG_CACHE_HOME=${CMAKE_BINARY_DIR}/test-cache")
endfunction()

set(left "left to the MPI library")
choir_left(plain LINES "write_at_all: 1 calls" "!${left}")
foreach(nodes 0 1)
  choir_left(span_beyond_extent_${nodes} CHECK span_beyond_extent SETTINGS CHOIR_RANKS_PER_NODE=${nodes}
    LINES "write_all: 1 calls" "iread_at_all: 1 calls" "!${left}")
  choir_left(later_tiles_${nodes} CHECK later_tiles SETTINGS CHOIR_RANKS_PER_NODE=${nodes}
    LINES "read_at_all: 1 calls" "!${left}")
  choir_left(backwards_${nodes} CHECK backwards SETTINGS CHOIR_RANKS_PER_NODE=${nodes}
    LINES "3 collective calls ${left}: the call goes backwards")
endforeach()
choir_left(external32 LINES "2 collective calls ${left}: the data representation is not native" "!no collective call")
choir_left(atomic_mode LINES "2 collective calls ${left}: atomic mode is on")
choir_left(shared_pointer LINES "2 collective calls ${left}: the call uses the shared file pointer")
