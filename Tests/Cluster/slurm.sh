#!/usr/bin/env bash
# Runs Examples/cluster on a real Slurm with one node: four shards as an array, one of them started again, and a merge.
# The merged output must equal that of a run without shards.
#
# Slurm, its authentication and the demo server run in a folder of their own, on free ports.
#
# usage: slurm.sh PROGRAM
set -euo pipefail

if [ "$(id -u)" != 0 ]; then
  echo "slurm: skipped, because Slurm's daemons need root to start jobs"
  exit 0
fi

root="$(realpath "$(dirname "${BASH_SOURCE[0]}")/../..")"
program="$(realpath "$1")"
folder="$(mktemp -d "${TMPDIR:-/tmp}/gqlrun-slurm.XXXXXX")"
# munged refuses folders that others can write to, as /tmp is; only its own folder must be safe.
chmod 711 "$folder"

fail() {
  echo "slurm: $*" >&2
  tail -n 20 "$folder"/log/* "$folder"/shared/*.log >&2 2>/dev/null || true
  exit 1
}

# stop NAME: ends a daemon and waits for its end, because it writes its state last.
stop() {
  [ -s "$folder/$1.pid" ] || return 0
  local process rounds=100
  process="$(cat "$folder/$1.pid")"
  kill "$process" 2>/dev/null || return 0
  while kill -0 "$process" 2>/dev/null; do
    rounds=$((rounds - 1))
    [ "$rounds" -gt 0 ] || { kill -KILL "$process" 2>/dev/null || true; break; }
    sleep 0.1
  done
}

finish() {
  local status=$?
  for name in slurmd slurmctld munged server; do stop "$name"; done
  rm -rf "$folder" || echo "slurm: $folder was not removed" >&2
  exit "$status"
}
trap finish EXIT

free_port() {
  python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# until_true SECONDS COMMAND…: asks until the command succeeds.
until_true() {
  local rounds=$(($1 * 10))
  shift
  while ! "$@" >/dev/null 2>&1; do
    rounds=$((rounds - 1))
    [ "$rounds" -gt 0 ] || return 1
    sleep 0.1
  done
}

export PATH="$(dirname "$program"):/usr/sbin:$PATH" SLURM_CONF="$folder/slurm.conf"
mkdir "$folder"/{state,spool,log,munge}
chmod 711 "$folder/munge"
head -c 128 /dev/urandom >"$folder/munge/key"
chmod 400 "$folder/munge/key"

host="$(hostname -s)"
cat >"$SLURM_CONF" <<CONF
ClusterName=gqlrun
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$folder/munge/socket
CredType=cred/munge
SlurmctldPort=$(free_port)
SlurmdPort=$(free_port)
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.pid
SlurmctldLogFile=$folder/log/slurmctld
SlurmdLogFile=$folder/log/slurmd
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
MpiDefault=none
MailProg=/bin/true
ReturnToService=2
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
SchedulerParameters=sched_interval=1
NodeName=$host NodeAddr=127.0.0.1 CPUs=4 Boards=1 Sockets=1 CoresPerSocket=4 ThreadsPerCore=1
PartitionName=all Nodes=ALL Default=YES State=UP OverSubscribe=YES
SlurmdParameters=config_overrides
CONF

munged --force --key-file="$folder/munge/key" --socket="$folder/munge/socket" \
  --pid-file="$folder/munged.pid" --log-file="$folder/log/munged" --seed-file="$folder/munge/seed"
slurmctld -f "$SLURM_CONF" 2>>"$folder/log/start"
slurmd -f "$SLURM_CONF" 2>>"$folder/log/start"

port="$(free_port)"
"$program" serve --port "$port" >"$folder/log/server" 2>&1 &
echo $! >"$folder/server.pid"
export GQL_URL="http://127.0.0.1:$port/graphql"
until_true 120 curl -sf "$GQL_URL?query=%7B__typename%7D" || fail "the demo server did not start"
until_true 120 sh -c 'sinfo -h -t idle | grep -q .' || fail "Slurm did not start"

cp -r "$root/Examples/cluster" "$folder/shared"
cd "$folder/shared"

# ended JOB: whether Slurm has ended the job and all its tasks.
ended() {
  ! squeue -h -j "$1" 2>/dev/null | grep -q .
}

job="$(sbatch --parsable countries.sbatch)" || fail "sbatch refused the array"
until_true 600 ended "$job" || fail "the array did not end"

# One shard again: it has nothing left to do.
again="$(sbatch --parsable --array=2 --export="ALL,RUN=$job,SHARDS=4" countries.sbatch)"
until_true 300 ended "$again" || fail "the shard that was started again did not end"
grep -q '0 done' "countries-$again-2.log" || fail "the shard that was started again sent requests"

# Without the number of shards, one task of an array would be the whole batch, so it is refused.
alone="$(sbatch --parsable --array=2 --export="ALL,RUN=$job" countries.sbatch)"
until_true 300 ended "$alone" || fail "the shard without a number did not end"
grep -q 'auto/4' "countries-$alone-2.log" || fail "an array with one task was not refused"

merge="$(sbatch --parsable --export="ALL,RUN=$job" --wrap 'gqlrun batch merge countries.batch.yaml')"
until_true 300 ended "$merge" || fail "the merge did not end"
RUN=whole "$program" batch run countries.batch.yaml -q || fail "the run without shards failed"
for file in countries.ndjson countries.csv; do
  cmp <(sort "out/$job/$file") <(sort "out/whole/$file") || fail "$file differs from that of one machine"
done
echo "slurm: 4 shards of $(($(wc -l <"out/whole/countries.csv") - 1)) tasks; merged, equal to one run"
