# SPDX-License-Identifier: Apache-2.0
#
# Defines the interface target fabricbench_warnings: the compiler warnings of all C and C++ targets. Link it PRIVATE.
# -DFABRICBENCH_WERROR=ON turns the warnings into errors (continuous integration).
option(FABRICBENCH_WERROR "Treat warnings as errors" OFF)

add_library(fabricbench_warnings INTERFACE)
target_compile_options(
  fabricbench_warnings
  INTERFACE
    $<$<COMPILE_LANGUAGE:C,CXX>:-Wall;-Wextra;-Wpedantic;-Wshadow;-Wconversion;-Wsign-conversion>
    $<$<COMPILE_LANGUAGE:C,CXX>:-Wdouble-promotion;-Wformat=2;-Wundef;-Wcast-align>
    $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes;-Wmissing-prototypes>
    $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor;-Woverloaded-virtual;-Wextra-semi>
    $<$<BOOL:${FABRICBENCH_WERROR}>:-Werror>
)
