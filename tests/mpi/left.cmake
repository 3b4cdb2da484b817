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
choir_left(plain LINES "\\(write_at_all, [0-9a-f]+\\): 1 calls" "!${left}")
foreach(nodes 0 1)
  choir_left(span_beyond_extent_${nodes} CHECK span_beyond_extent SETTINGS CHOIR_RANKS_PER_NODE=${nodes}
    LINES "\\(write_all, [0-9a-f]+\\): 1 calls" "\\(iread_at_all, [0-9a-f]+\\): [12] calls" "!${left}")
  choir_left(later_tiles_${nodes} CHECK later_tiles SETTINGS CHOIR_RANKS_PER_NODE=${nodes}
    LINES "\\(read_at_all, [0-9a-f]+\\): 1 calls" "!${left}")
  choir_left(backwards_${nodes} CHECK backwards SETTINGS CHOIR_RANKS_PER_NODE=${nodes}
    LINES "3 collective calls ${left}: the call goes backwards")
endforeach()
choir_left(external32 LINES "2 collective calls ${left}: the data representation is not native" "!no collective call")
choir_left(atomic_mode LINES "2 collective calls ${left}: atomic mode is on")
choir_left(shared_pointer LINES "2 collective calls ${left}: the call uses the shared file pointer")

# The launcher starts spawned processes without choir: the parents must not wait for them in a collective of choir's.
if(CHOIR_MPI STREQUAL "openmpi")  # Debian's MPICH cannot spawn
  add_executable(spawn_test spawn_test.c)
  target_link_libraries(spawn_test PRIVATE choir::mpi)
  add_test(NAME mpi.left.spawned.2
    COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/expect-lines "spawn_test: done" "\\(write_at_all, [0-9a-f]+\\): 1 calls"
      "2 collective calls ${left}: processes of another MPI_COMM_WORLD" --
      ${CMAKE_SOURCE_DIR}/scripts/mpi-launch ${CHOIR_MPI} 2 ${under_choir} CHOIR_STATS=1 $<TARGET_FILE:spawn_test> ${data})
  set_tests_properties(mpi.left.spawned.2 PROPERTIES LABELS mpi TIMEOUT 120 PROCESSORS 2)
else()  # Open MPI 4 has no sessions
  add_executable(session_test session_test.c)
  target_link_libraries(session_test PRIVATE choir::mpi)
  choir_mpi_test(left.session RANKS 2 COMMAND ${under_choir} $<TARGET_FILE:session_test> ${data})
endif()

# Stand-ins for the libraries of GPUs.
add_executable(device_test device_test.c)
target_link_libraries(device_test PRIVATE choir::mpi ${CMAKE_DL_LIBS})
foreach(vendor cuda.so.1 amdhip64.so.6)
  add_library(fake_${vendor} SHARED fake_gpu.c)
  set_target_properties(fake_${vendor} PROPERTIES C_VISIBILITY_PRESET default OUTPUT_NAME ${vendor} SUFFIX ""
    LINK_OPTIONS -Wl,-soname,lib${vendor} NO_SONAME ON LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/test-libraries)
endforeach()
function(choir_device name library where)
  add_test(NAME mpi.left.device_${name}.2
    COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/expect-lines "device_test: good" ${ARGN} --
      ${CMAKE_SOURCE_DIR}/scripts/mpi-launch ${CHOIR_MPI} 2 ${under_choir} CHOIR_STATS=1
      $<TARGET_FILE:device_test> ${data} ${library} ${where})
  set_tests_properties(mpi.left.device_${name}.2 PROPERTIES LABELS mpi TIMEOUT 120 PROCESSORS 2)
endfunction()
set(in_device_memory "4 collective calls ${left}: a buffer is in device memory")
choir_device(cuda $<TARGET_FILE:fake_cuda.so.1> device ${in_device_memory})
choir_device(hip $<TARGET_FILE:fake_amdhip64.so.6> device ${in_device_memory})
choir_device(mixed $<TARGET_FILE:fake_cuda.so.1> mixed ${in_device_memory})
choir_device(managed $<TARGET_FILE:fake_cuda.so.1> managed "!${left}")
choir_device(none none device "!${left}")
