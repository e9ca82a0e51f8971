#!/bin/bash
# A training run on several machines of a Slurm cluster (docs/cluster.md). The first machine owns the
# run; the folder given with --out must be on its disk, or on a shared one.
#
#   sbatch deploy/slurm.sh --game connect4 --out runs/connect4
#
# Checked: bash reads it, and its Ray commands and `zerogames train` were run on three hosts in
# network namespaces (selfplay/tests/test_hosts.py). Not tried: a Slurm cluster, and GPUs.

#SBATCH --job-name=zerogames
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=16
#SBATCH --signal=B:TERM@120
#SBATCH --requeue

set -euo pipefail

port=$((20000 + SLURM_JOB_ID % 20000))
head=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
address=$(getent ahostsv4 "$head" | awk '{ print $1; exit }')

# Others have accounts on these machines: without a token they could run programs in this job.
RAY_AUTH_TOKEN=$(python -c "import secrets; print(secrets.token_hex(32))")
export RAY_AUTH_TOKEN RAY_AUTH_MODE=token RAY_worker_niceness=0

srun --nodes=1 --ntasks=1 --nodelist="$head" --overlap \
    ray start --head --block --node-ip-address "$address" --port "$port" \
    --num-cpus "$SLURM_CPUS_PER_TASK" --include-dashboard false --disable-usage-stats &
sleep 20
if [ "$SLURM_NNODES" -gt 1 ]; then
    srun --nodes=$((SLURM_NNODES - 1)) --ntasks=$((SLURM_NNODES - 1)) --exclude="$head" --overlap \
        ray start --block --address "$address:$port" --num-cpus "$SLURM_CPUS_PER_TASK" \
        --disable-usage-stats &
    sleep 20
fi

# Slurm's signal before the end of the job lets the run end in good order; the job is queued again
# and continues.
srun --nodes=1 --ntasks=1 --nodelist="$head" --overlap \
    zerogames train --ray-address "$address:$port" --workers auto "$@" &
train=$!
trap 'kill -TERM $train; wait $train; scontrol requeue $SLURM_JOB_ID' TERM
wait $train
