# SPDX-License-Identifier: Apache-2.0
#
# Tests of requests that fabricbench-micro rejects or cannot fulfil.

# Bad input: exit status 2 on all ranks and one line on stderr.
add_mpi_test(
  micro.pingpong.odd_ranks
  NP 3
  LABELS verification
  EXIT 2
  STDERR "pingpong: MPI_COMM_WORLD has 3 ranks; expected an even number"
  NO_STDOUT "#@"
  COMMAND fabricbench-micro pingpong ${few}
)
add_mpi_test(
  micro.pingpong.one_rank
  ANY_STACK
  NP 1
  LABELS verification
  EXIT 2
  STDERR "pingpong: MPI_COMM_WORLD has 1 rank; expected an even number"
  NO_STDOUT "#@"
  COMMAND fabricbench-micro pingpong ${few}
)
add_mpi_test(
  micro.bad_size
  NP 2
  ANY_STACK
  LABELS verification
  EXIT 2
  STDERR "--sizes: \"8Q\" is not a message size"
  NO_STDOUT "#@"
  COMMAND fabricbench-micro pingpong --sizes 0,8Q
)
foreach(
  bad
  IN
  ITEMS
    "unidirectional --window 0"
    "unexpected --queued 2000000"
    "put --sync locked"
    "allreduce --sizes 6"
    "barrier --sizes 8"
)
  string(REPLACE " " ";" bad "${bad}")
  list(GET bad 0 name)
  list(GET bad 1 option)
  add_mpi_test(
    micro.${name}.bad_option
    ANY_STACK
    NP 2
    LABELS verification
    EXIT 2
    STDERR "${option}: "
    NO_STDOUT "#@"
    COMMAND fabricbench-micro ${bad}
  )
endforeach()
add_mpi_test(
  micro.multiconn.two_rank_pairs
  NP 4
  ANY_STACK
  LABELS verification
  STDOUT "\n#@end=ok\n$"
  COMMAND fabricbench-micro multiconn --sizes 8 --connections 1,2,5 ${few}
)
add_mpi_test(
  micro.hotspot.one_rank
  NP 1
  ANY_STACK
  LABELS verification
  EXIT 2
  STDERR "expected 2 or more"
  NO_STDOUT "#@"
  COMMAND fabricbench-micro hotspot ${few}
)
add_mpi_test(
  micro.bidirectional.too_large
  NP 2
  ANY_STACK
  LABELS verification
  EXIT 2
  STDERR "exceed a quarter of the memory"
  COMMAND fabricbench-micro bidirectional --check --sizes 64MiB --window 65536
)
add_mpi_test(
  micro.unexpected.queue_full
  NP 2
  ANY_STACK
  LABELS verification
  STDOUT "\n#@skipped.queued:64,tags:equal.8=" "\nunexpected,queued=16 tags=equal,8,0,4," "\n#@end=ok\n$"
  NO_STDOUT "queued=64 tags=equal,8,0,0,"
  ENVIRONMENT FABRICBENCH_MICRO_FAULT=exhaust:20
  COMMAND fabricbench-micro unexpected --sizes 8 --queued 16,64 --tags equal ${few}
)
add_mpi_test(
  micro.wireup_options
  NP 2
  ANY_STACK
  LABELS verification
  EXIT 2
  STDERR "wireup takes no options"
  COMMAND fabricbench-micro wireup --check
)
add_mpi_test(
  micro.wrong_world
  NP 2
  ANY_STACK
  LABELS verification
  EXIT 2
  STDERR "4 ranks are expected, MPI_COMM_WORLD has 2"
  ENVIRONMENT FABRICBENCH_EXPECT_RANKS=4
  COMMAND fabricbench-micro wireup
)
add_mpi_test(
  micro.wrong_pmi
  NP 1
  LABELS verification
  EXIT 2
  STDERR "the launcher started 4 single processes: wrong PMI"
  ENVIRONMENT FABRICBENCH_EXPECT_RANKS=4
  COMMAND fabricbench-micro wireup
)
