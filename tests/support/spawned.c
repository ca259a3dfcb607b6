// SPDX-License-Identifier: Apache-2.0
//
// Two ranks start two further ranks and join them, then connect to each other through a port.
#include <mpi.h>
#include <stdio.h>
#include <string.h>
int main(int argc, char** argv) {
  MPI_Comm parent, inter, merged, port_comm;
  int rank;
  char port[MPI_MAX_PORT_NAME] = "";
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_get_parent(&parent);
  int x = rank;
  if (parent == MPI_COMM_NULL) {
    MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter,
                   MPI_ERRCODES_IGNORE);
    MPI_Bcast(&x, 1, MPI_INT, rank == 0 ? MPI_ROOT : MPI_PROC_NULL, inter);
    MPI_Send(&x, 1, MPI_INT, rank, 0, inter);
  } else {
    inter = parent;
    MPI_Bcast(&x, 1, MPI_INT, 0, inter);
    MPI_Recv(&x, 1, MPI_INT, rank, 0, inter, MPI_STATUS_IGNORE);
  }
  MPI_Intercomm_merge(inter, 0, &merged);
  MPI_Barrier(merged);
  MPI_Allreduce(MPI_IN_PLACE, &x, 1, MPI_INT, MPI_SUM, merged);
  MPI_Comm_free(&merged);
  MPI_Comm_disconnect(&inter);
  if (parent == MPI_COMM_NULL) {
    if (rank == 0) MPI_Open_port(MPI_INFO_NULL, port);
    MPI_Bcast(port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, MPI_COMM_WORLD);
    if (rank == 0)
      MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &port_comm);
    else
      MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &port_comm);
    MPI_Barrier(port_comm);
    MPI_Comm_disconnect(&port_comm);
  }
  MPI_Finalize();
  return 0;
}
