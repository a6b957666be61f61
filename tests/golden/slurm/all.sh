#!/bin/bash
# Written by bench run --engine slurm: each task of this array is a worker of one plan.
#SBATCH --job-name=bench-0123
#SBATCH --array=0-7
#SBATCH --output=/store/.work/queue-0123/slurm-%a.log
#SBATCH --open-mode=append
#SBATCH --requeue
#SBATCH --signal=USR2@300
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=1
#SBATCH --partition=gpu
#SBATCH --gpus-per-node=1
#SBATCH --cpus-per-task=4
#SBATCH --mem=32G
#SBATCH --time=4:00:00
#SBATCH --account=me
#SBATCH --qos=low
#SBATCH --exclusive
#SBATCH --constraint="a100|h100"
#SBATCH --comment="so said \"he\""

# Slurm signals the steps of a job. This shell outlives the signal, and waits for its worker.
trap : TERM USR2
export BENCH_SIGNALS_S=60 # It signals every process, and srun some of them again: these signals are one.
cd /work || exit 1
srun --kill-on-bad-exit=1 --cpus-per-task=4 /env/bin/python -m bench work /store/.work/queue-0123/plan.json &
worker=$!
while kill -0 "$worker" 2>/dev/null; do wait "$worker"; done
wait "$worker"
code=$?

# 75: the worker was told to end and has kept what it had. A task that is being cancelled is not RUNNING any more.
task="${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID" # SLURM_JOB_ID of the last task stands for the whole array
if [ "$code" = 75 ] && [ "${SLURM_RESTART_COUNT:-0}" -lt 200 ] &&
  scontrol show job "$task" | grep -q JobState=RUNNING; then
  scontrol requeue "$task" && sleep 60 # until Slurm ends this shell
fi
exit "$code"
