# How tests are registered.
#
# choir_unit_test(NAME SOURCES... LIBS...)     a GoogleTest program without MPI, built in the mpich tree only
# choir_mpi_test(NAME RANKS n... COMMAND ...)  one test per rank count, launched by scripts/mpi-launch
#
# Random properties run from a fixed seed, so that CI gives the same verdict twice; `make soak` moves the seed.
if(NOT CHOIR_TESTS)
  return()
endif()
if(CHOIR_PURE_TESTS)
  find_package(GTest)
  find_path(CHOIR_RAPIDCHECK_INCLUDE rapidcheck.h)
  if(NOT GTest_FOUND OR NOT CHOIR_RAPIDCHECK_INCLUDE)
    choir_left_out("tests without MPI" "no GoogleTest or no RapidCheck")
    set(CHOIR_PURE_TESTS OFF)
  endif()
endif()
find_program(CHOIR_PYTHON NAMES python3)
if(NOT CHOIR_PYTHON)
  choir_left_out("tests of the lab, the report and the documents" "no python3")
endif()

# Seconds until a test counts as hung; sanitizers slow some down twentyfold, and in a soak properties have a hundred times
# as many cases.
set(CHOIR_TEST_TIMEOUT 240)
if(CHOIR_SANITIZE)
  set(CHOIR_TEST_TIMEOUT 1200)
elseif(CHOIR_SOAK)
  set(CHOIR_TEST_TIMEOUT 3600)
endif()

function(choir_unit_test name)
  if(NOT CHOIR_PURE_TESTS)
    return()
  endif()
  cmake_parse_arguments(arg "" "" "SOURCES;LIBS" ${ARGN})
  foreach(library IN LISTS arg_LIBS)
    if(NOT TARGET ${library})  # what it tests was left out
      return()
    endif()
  endforeach()
  add_executable(${name} ${arg_SOURCES})
  target_compile_options(${name} PRIVATE -O1 -Wno-error=maybe-uninitialized)
  target_link_libraries(${name} PRIVATE ${arg_LIBS} rapidcheck GTest::gtest GTest::gtest_main)
  add_test(NAME unit.${name} COMMAND ${name})
  set_tests_properties(unit.${name} PROPERTIES LABELS "unit" TIMEOUT ${CHOIR_TEST_TIMEOUT}
    ENVIRONMENT "RC_PARAMS=seed=${CHOIR_SEED} max_success=${CHOIR_PROPERTY_CASES}")
endfunction()

set(CHOIR_SEED 20261115 CACHE STRING "seed of the random tests")
set(CHOIR_PROPERTY_CASES 200 CACHE STRING "random cases per property")
set(CHOIR_SOAK_CASES 100000 CACHE STRING "random patterns of a soak")

function(choir_mpi_test name)
  cmake_parse_arguments(arg "" "TIMEOUT" "RANKS;COMMAND;ENVIRONMENT;LABELS" ${ARGN})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT ${CHOIR_TEST_TIMEOUT})
  endif()
  foreach(ranks IN LISTS arg_RANKS)
    add_test(NAME mpi.${name}.${ranks}
      COMMAND ${CMAKE_SOURCE_DIR}/scripts/mpi-launch ${CHOIR_MPI} ${ranks} ${arg_COMMAND})
    set_tests_properties(mpi.${name}.${ranks} PROPERTIES LABELS "mpi;${arg_LABELS}" TIMEOUT ${arg_TIMEOUT}
      PROCESSORS 2 ENVIRONMENT "XDG_CACHE_HOME=${CMAKE_BINARY_DIR}/test-cache;${arg_ENVIRONMENT}")
  endforeach()
endfunction()
