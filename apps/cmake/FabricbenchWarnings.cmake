# SPDX-License-Identifier: Apache-2.0
#
# fabricbench_warnings: every warning that the project keeps clean, for C and C++ alike. Link it PRIVATE.
# -DFABRICBENCH_WERROR=ON turns them into errors (continuous integration).
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
