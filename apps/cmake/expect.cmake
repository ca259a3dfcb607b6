# SPDX-License-Identifier: Apache-2.0
#
# cmake -DEXPECT_EXIT=<code> [-DEXPECT_STDOUT_<i>=<regex>] [-DEXPECT_NO_STDOUT_<i>=<regex>] [-DEXPECT_STDERR_<i>=<regex>]
#       -P expect.cmake -- <command> [<argument>…]
#
# Runs the command and fails if its exit code or output differs from the expectation. CTest's own properties are weaker:
# WILL_FAIL accepts any failure, even a crash, and PASS_REGULAR_EXPRESSION ignores the exit code.
set(command "")
set(in_command FALSE)
math(EXPR last "${CMAKE_ARGC} - 1")
foreach(i RANGE ${last})
  if(in_command)
    list(APPEND command "${CMAKE_ARGV${i}}")
  elseif(CMAKE_ARGV${i} STREQUAL "--")
    set(in_command TRUE)
  endif()
endforeach()

execute_process(COMMAND ${command} RESULT_VARIABLE code OUTPUT_VARIABLE out ERROR_VARIABLE err)

set(faults "")
if(NOT code STREQUAL EXPECT_EXIT)
  string(APPEND faults "exit code ${code}, expected ${EXPECT_EXIT}\n")
endif()
foreach(i RANGE 31)
  if(DEFINED EXPECT_STDOUT_${i} AND NOT out MATCHES "${EXPECT_STDOUT_${i}}")
    string(APPEND faults "stdout does not match \"${EXPECT_STDOUT_${i}}\"\n")
  endif()
  if(DEFINED EXPECT_NO_STDOUT_${i} AND out MATCHES "${EXPECT_NO_STDOUT_${i}}")
    string(APPEND faults "stdout matches \"${EXPECT_NO_STDOUT_${i}}\"\n")
  endif()
  if(DEFINED EXPECT_STDERR_${i} AND NOT err MATCHES "${EXPECT_STDERR_${i}}")
    string(APPEND faults "stderr does not match \"${EXPECT_STDERR_${i}}\"\n")
  endif()
endforeach()
if(faults)
  message(FATAL_ERROR "${faults}command: ${command}\n--- stdout\n${out}\n--- stderr\n${err}")
endif()
