# SPDX-License-Identifier: Apache-2.0
#
# add_mpi_test(<name> [ANY_STACK] [NP <n>…] [LABELS <l>…] [EXIT <code>] [STDOUT <regex>…] [NO_STDOUT <regex>…] [STDERR <regex>…]
#              [ENVIRONMENT <NAME=value>…] [TIMEOUT <s>] [PREFIX <command>…] COMMAND <program> [<argument>…])
#
# Adds one test per number of ranks, named <name>.np<n>. Without NP it adds one test <name>, which runs without a
# launcher. A test passes if the exit code equals EXIT (default 0), all STDOUT and STDERR expressions match and no
# NO_STDOUT expression matches. <program> is a target or a file. PREFIX precedes the launcher on the command line. Every
# rank checks that the launcher started <n> ranks in one MPI_COMM_WORLD. TIMEOUT defaults to 60 s.
#
# ANY_STACK declares that the result does not depend on the MPI library, so that one stack suffices. Such a test has the
# label any_stack, as have all tests with the label unit. `ctest -LE any_stack` leaves them out on the other stacks.
# Tests of more than two ranks have the label many_ranks.
#
# add_unit_program(<name> <source>…)
#
# Adds a program of unit tests. The build leaves it out, because the unit tests of one stack suffice. CTest builds all
# such programs before the first test that runs one.
set(FABRICBENCH_EXPECT_SCRIPT "${CMAKE_CURRENT_LIST_DIR}/expect.cmake")

# Lets Open MPI 4 and 5 run as root and with more ranks than cores. MPICH needs no settings for that.
set(
  FABRICBENCH_MPI_TEST_ENVIRONMENT
  OMPI_ALLOW_RUN_AS_ROOT=1
  OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  OMPI_MCA_rmaps_base_oversubscribe=1
  OMPI_MCA_mpi_yield_when_idle=1
  OMPI_MCA_hwloc_base_binding_policy=none
  PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
  PRTE_MCA_hwloc_default_binding_policy=none
)

function(add_unit_program name)
  add_executable(${name} EXCLUDE_FROM_ALL ${ARGN})
  if(NOT TARGET unit_programs)
    add_custom_target(unit_programs)
    add_test(
      NAME unit.programs
      COMMAND ${CMAKE_COMMAND} --build "${PROJECT_BINARY_DIR}" --target unit_programs --parallel 2
    )
    set_tests_properties(
      unit.programs
      PROPERTIES LABELS "unit;any_stack" FIXTURES_SETUP unit_programs PROCESSORS 2 TIMEOUT 600
    )
  endif()
  add_dependencies(unit_programs ${name})
endfunction()

function(add_mpi_test name)
  cmake_parse_arguments(
    PARSE_ARGV 1
    arg
    "ANY_STACK"
    "EXIT;TIMEOUT"
    "NP;LABELS;STDOUT;NO_STDOUT;STDERR;ENVIRONMENT;PREFIX;COMMAND"
  )
  if(arg_UNPARSED_ARGUMENTS OR NOT arg_COMMAND)
    message(FATAL_ERROR "add_mpi_test(${name}): no COMMAND, or unknown arguments: ${arg_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT DEFINED arg_EXIT)
    set(arg_EXIT 0)
  endif()
  if(NOT DEFINED arg_TIMEOUT)
    set(arg_TIMEOUT 60)
  endif()
  if(arg_ANY_STACK OR "unit" IN_LIST arg_LABELS)
    list(APPEND arg_LABELS any_stack)
  endif()
  list(POP_FRONT arg_COMMAND program)
  set(is_unit_program OFF)
  if(TARGET ${program})
    get_target_property(is_unit_program ${program} EXCLUDE_FROM_ALL)
    set(program $<TARGET_FILE:${program}>)
  endif()
  set(expectations "-DEXPECT_EXIT=${arg_EXIT}")
  foreach(kind IN ITEMS STDOUT NO_STDOUT STDERR)
    set(index 0)
    foreach(regex IN LISTS arg_${kind})
      # A plain semicolon would split the list; a semicolon in brackets does not.
      string(REPLACE ";" "[;]" regex "${regex}")
      list(APPEND expectations "-DEXPECT_${kind}_${index}=${regex}")
      math(EXPR index "${index} + 1")
    endforeach()
  endforeach()

  if(NOT arg_NP)
    set(arg_NP 0)
  endif()
  foreach(np IN LISTS arg_NP)
    set(test ${name})
    set(launcher "")
    set(labels ${arg_LABELS})
    set(environment ${FABRICBENCH_MPI_TEST_ENVIRONMENT})
    if(np GREATER 0)
      set(test ${name}.np${np})
      set(launcher ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} ${np} ${MPIEXEC_PREFLAGS})
      list(APPEND environment FABRICBENCH_EXPECT_RANKS=${np})
    endif()
    add_test(
      NAME ${test}
      COMMAND
        ${CMAKE_COMMAND} ${expectations} -P "${FABRICBENCH_EXPECT_SCRIPT}" -- ${arg_PREFIX} ${launcher} ${program}
        ${arg_COMMAND}
    )
    list(APPEND environment ${arg_ENVIRONMENT})
    if(np GREATER 2)
      list(APPEND labels many_ranks)
    endif()
    set_tests_properties(
      ${test}
      PROPERTIES LABELS "${labels}" ENVIRONMENT "${environment}" TIMEOUT ${arg_TIMEOUT}
    )
    if(np GREATER 1)
      set_tests_properties(${test} PROPERTIES PROCESSORS ${np})
    endif()
    if(is_unit_program)
      set_tests_properties(${test} PROPERTIES FIXTURES_REQUIRED unit_programs)
    endif()
  endforeach()
endfunction()
