# SPDX-License-Identifier: Apache-2.0
#
# npb_write_references(<csv> <out>): converts the lines `kernel,class,name,value` of <csv> to C++ initialisers in <out>.
function(npb_write_references csv out)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${csv}")
  file(STRINGS "${csv}" lines REGEX "^[A-Z]+,[A-Z],[a-z0-9._]+,[-+0-9.eE]+$")
  if(NOT lines)
    message(FATAL_ERROR "${csv}: no verification values; expected lines kernel,class,name,value")
  endif()
  set(text "")
  foreach(line IN LISTS lines)
    string(REGEX REPLACE "^([^,]+),([^,]+),([^,]+),([^,]+)$" "{\"\\1\", '\\2', \"\\3\", \\4},\n" row "${line}")
    string(APPEND text "${row}")
  endforeach()
  file(CONFIGURE OUTPUT "${out}" CONTENT "${text}" @ONLY)
endfunction()
