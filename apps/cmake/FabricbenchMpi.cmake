# SPDX-License-Identifier: Apache-2.0
#
# Finds the stack's MPI as MPI::MPI_C and MPI::MPI_CXX, without the MPI C++ bindings. If the stack and the machine
# support Fortran, also finds MPI::MPI_Fortran and sets FABRICBENCH_FORTRAN.
#
# Debian installs all stacks into one directory and distinguishes them by suffix (mpicxx.mpich, mpiexec.mpich). FindMPI
# would combine mpicxx.mpich with plain `mpiexec`, the launcher of another stack, and every test would start single
# processes. Therefore the suffix of the configured compiler or launcher selects the other wrappers and the launcher.
function(fabricbench_mpi_suffix out)
  set(suffix "")
  foreach(given IN ITEMS "${MPI_CXX_COMPILER}" "${MPI_C_COMPILER}" "${MPIEXEC_EXECUTABLE}")
    get_filename_component(name "${given}" NAME)
    if(name MATCHES "^(mpicxx|mpic\\+\\+|mpicc|mpiexec|mpirun)(\\.[a-z]+)$")
      set(suffix "${CMAKE_MATCH_2}")
      break()
    endif()
  endforeach()
  set(${out} "${suffix}" PARENT_SCOPE)
endfunction()

# SimGrid's wrappers redefine main, sleep, malloc and the clock, but FindMPI extracts only their libraries.
if("${MPI_CXX_COMPILER};${MPI_C_COMPILER}" MATCHES "/?smpi(cc|cxx)(;|$)" AND NOT CMAKE_CXX_COMPILER MATCHES "smpicxx$")
  message(
    FATAL_ERROR
    "SimGrid SMPI must be the compiler itself: configure with -DCMAKE_C_COMPILER=smpicc -DCMAKE_CXX_COMPILER=smpicxx "
    "instead of -DMPI_C_COMPILER and -DMPI_CXX_COMPILER"
  )
endif()

fabricbench_mpi_suffix(mpi_suffix)
if(mpi_suffix)
  find_program(MPI_C_COMPILER NAMES mpicc${mpi_suffix})
  find_program(MPI_CXX_COMPILER NAMES mpicxx${mpi_suffix} mpic++${mpi_suffix})
  find_program(MPI_Fortran_COMPILER NAMES mpif90${mpi_suffix})
  find_program(MPIEXEC_EXECUTABLE NAMES mpiexec${mpi_suffix} mpirun${mpi_suffix})
endif()

set(MPI_CXX_SKIP_MPICXX ON) # defines OMPI_SKIP_MPICXX and MPICH_SKIP_MPICXX on MPI::MPI_CXX
find_package(MPI REQUIRED COMPONENTS C CXX)
message(STATUS "Fabricbench: MPI ${MPI_CXX_VERSION}, ${MPI_CXX_COMPILER}, launcher ${MPIEXEC_EXECUTABLE}")

# Uses only a configured Fortran wrapper or the one with the suffix: FindMPI alone could select another stack's wrapper.
set(FABRICBENCH_FORTRAN OFF)
check_language(Fortran)
if(CMAKE_Fortran_COMPILER AND (MPI_Fortran_COMPILER OR CMAKE_Fortran_COMPILER MATCHES "smpif90$"))
  enable_language(Fortran)
  find_package(MPI COMPONENTS Fortran)
  if(MPI_Fortran_FOUND AND MPI_Fortran_HAVE_F90_MODULE)
    set(FABRICBENCH_FORTRAN ON)
  endif()
endif()
if(NOT FABRICBENCH_FORTRAN)
  message(STATUS "Fabricbench: no Fortran with MPI; the programs in Fortran are left out")
endif()
