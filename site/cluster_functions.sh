# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Shell functions of site/rdma/cluster.sh and site/vcluster/cluster.sh, which source this file with the arguments
#   NAME        of the system, the first word of messages
#   DIRECTORY   of the running cluster
#   VARIABLE    that is 1 in the environment of each process of the cluster
#   TRIES       of a waiting command per second, 1 to 10
cluster=$1
directory=$2
mark=$3=1
tries_per_second=$4
export "${mark?}"

fail() {
  echo "$cluster: $*" >&2
  exit 2
}

whole() { # NAME VALUE LEAST MOST
  if [[ ! $2 =~ ^[0-9]{1,7}$ ]] || ((10#$2 < $3 || 10#$2 > $4)); then
    fail "$1 is '$2'; expected a whole number from $3 to $4"
  fi
}

within() { # SECONDS COMMAND…: repeats the command until it succeeds
  local tries=$(($1 * tries_per_second)) pause
  pause=$(printf '0.%03d' $((999 / tries_per_second)))
  shift
  for ((; tries; tries--)); do
    if "$@" >/dev/null 2>&1; then return 0; fi
    sleep "$pause"
  done
  return 1
}

start_munge() {
  mkdir -p "$directory/munge"
  (umask 377 && head -c 128 /dev/urandom >"$directory/munge/key")
  chown -R munge:munge "$directory/munge"
  su munge -s /bin/sh -c "umask 022; exec munged --socket=$directory/munge/socket --pid-file=$directory/munge/pid \
    --log-file=$directory/munge/log --seed-file=$directory/munge/seed --key-file=$directory/munge/key"
}

idle() { [ "$(sinfo -h -t idle -o %D 2>/dev/null || true)" = "$NODES" ]; }

cluster_processes() { # prints the PIDs of the cluster's processes on the host, without this script and its parent
  local file pid
  # One grep for all processes. It does not carry the mark itself.
  for file in $(env -u "${mark%%=*}" grep -lsxz "$mark" /proc/[0-9]*/environ); do
    pid=${file#/proc/}
    pid=${pid%/environ}
    case $pid in "$$" | "$PPID" | "$BASHPID") ;; *) echo "$pid" ;; esac
  done
}

kill_all() { # ROUNDS COMMAND: kills the processes whose PIDs the command prints, until there are none; prints them too
  local rounds=$1 pid
  for ((; rounds; rounds--)); do
    local left=()
    for pid in $($2); do
      # Spares other cluster.sh processes, which a user may have started.
      case $(tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null) in *cluster.sh*) continue ;; esac
      left+=("$pid")
    done
    ((${#left[@]})) || break
    kill -KILL "${left[@]}" 2>/dev/null || true
    printf '%s\n' "${left[@]}"
    sleep 0.1
  done
}
