#!/usr/bin/env bash
# Write the measurement records of this machine, for assets/benchmarks.
#
#   benchmarks/records.sh OUT TAG PART...   run in the project folder; python3 must have the dependencies
#
# TAG names the machine in the file names. Parts, and their minutes on an H200 with 16 cores:
# agree 10 (PAIRS=3: 6), recipes 10, by-hand 4, peers 11 and operators 7 at most, sweep-mixed 4,
# sweep-cpu 4, tune 4, optimise 6 and stages 3 (DEVICES=mixed: half), threads 5, gpus 3 (GPUS=1,2), processes,
# curves 6 (only the CPU), gpu-peers 3, tuned-minute 6, cpu-and-engines 3, gpu-checks 5 at most (tests marked gpu of
# bench and exports, tune --seconds, gpus on two cards). Without a GPU a part measures only the CPU, and gpus nothing. The result is OUT/records.tgz.
# The speed of rendering versions and the memory have scripts of their own: render_record.py and memory_record.py.
set -u
out=$1 tag=$2
shift 2
export PYTHONPATH=$PWD${PYTHONPATH:+:$PYTHONPATH} PYTHONUNBUFFERED=1
photos=/tmp/photos-500x375
[ -d "$photos" ] || python3 benchmarks/photos.py "$photos" 2000
mkdir -p /tmp/records
cores=$(nproc)
if nvidia-smi -L >/dev/null 2>&1; then
  device=both devices=${DEVICES:-mixed cpu} several="4,$cores" batches=64,256 small=32
else
  device=cpu devices=cpu several="1,$cores,$((2 * cores))" batches=32,64 small=16
fi
workbench() { timeout -s INT -k 30 420 python3 -m workbench.cli "$@" 2>/tmp/progress || tail -3 /tmp/progress; }
record() { echo "--json /tmp/records/$1-$tag.json --name $1-$tag"; }
heavy() { python3 benchmarks/heavy.py "/tmp/heavy$1.json" "$1" "$2" 1.0; }
heavy 64 4 && heavy 256 $((cores < 16 ? cores : 16))

agree() {
  OUT=/tmp/records/agree python3 -m pytest benchmarks/test_lab.py -q -s -p no:cacheprovider
  mv /tmp/records/agree/perf.json "/tmp/records/agreement-$tag.json"
}
recipes() {
  for recipe in $(python3 -m workbench.cli recipes | awk '{print $1}'); do
    workbench bench "$recipe" --data "$photos" --device $device --regime pipeline \
      --batch-size 256 --threads "$cores" --load 1.0 --budget 12 $(record "recipe-$recipe")
  done
}
by_hand() {  # the settings of the figures that were measured by hand
  for load in 0.65 1.0; do
    workbench bench imagenet-train --data "$photos" --device $device --regime decode \
      --batch-size 64 --threads 4 --load $load --budget 16 $(record "decode-64-4-load-$load")
    [ $device = cpu ] && break
  done
  workbench bench imagenet-train --data "$photos" --device $device --regime both \
    --batch-size 256 --threads "$cores" --load 1.0 --budget 16 \
    $(record "imagenet-train-256-$cores")
  for threads in 4 "$cores"; do
    workbench bench /tmp/heavy256.json --data "$photos" --device $device --threads "$threads" \
      --regime pipeline --budget 16 $(record "heavy-256-$threads")
  done
}
peers() {
  for recipe in ${RECIPES:-imagenet-train rotate-jitter}; do
    workbench bench "$recipe" --data "$photos" --device $device --regime pipeline --peers \
      --batch-size 64 --threads "$cores" --budget "${BUDGET:-25}" $(record "peers-$recipe")
  done
}
operators() {  # each by itself, of DALI and of the peers in PEERS
  for recipe in ${RECIPES:-rotate-jitter}; do
    workbench bench "$recipe" --data "$photos" --device $device --regime pipeline --batch-size 64 \
      --threads "$cores" $(printf -- '--peer %s ' ${PEERS:-torchvision albu}) --each-operator \
      --budget "${BUDGET:-12}" $(record "each-$recipe")
  done
}
curves() {  # over the size of the files and the batch size
  python3 -m benchmarks.curves /tmp/records "$tag" "${RECIPE:-rotate-jitter}"
}
gpu_peers() {  # Kornia and torchvision on the GPU
  [ $device = cpu ] && return
  workbench bench rotate-jitter --data "$photos" --device mixed --regime pipeline --load 1.0 \
    --batch-size 64 --peer benchmarks.gpu_peers:kornia --peer benchmarks.gpu_peers:torchvision_cuda \
    --budget "${BUDGET:-40}" $(record gpu-peers-rotate-jitter)
}
mixed="--threads $several --batch-sizes $batches --prefetch 2,4 --loads 0.65,0.85,1.0"
cpu="--threads $several --batch-sizes $small,$batches --prefetch 1,2,4"
limit="--memory $((cores * 4))"  # GiB; what a virtual machine says that it has grows as it is used
sweep() {
  workbench tune imagenet-train --data "$photos" --device "$1" --exhaustive ${!1} $limit \
    $(record "sweep-$1")
}
tune() {
  for each in $devices; do
    workbench tune imagenet-train --regime decode --data "$photos" --device $each ${!each} $limit \
      $(record "tune-decode-$each")
    workbench tune /tmp/heavy64.json --data "$photos" --device $each ${!each} $limit \
      $(record "tune-heavy64-$each")
  done
}
optimise() {  # pipelines ordered badly; the median of their gains at the end
  python3 benchmarks/badly_ordered.py /tmp/bad
  for graph in /tmp/bad/*.json; do
    workbench optimise "$graph" --data "$photos" $(record "optimise-$(basename "$graph" .json)")
  done
  python3 benchmarks/badly_ordered.py /tmp/bad /tmp/records/optimise-*"-$tag.json"
}
stages() {
  for each in $devices; do
    workbench stages /tmp/heavy64.json --data "$photos" --device $each $(record "stages-$each")
  done
}
threads() {
  for each in $devices; do
    workbench scale /tmp/heavy64.json --data "$photos" --device $each $(record "threads-$each")
  done
}
gpus() {  # cards by pipelines
  python3 benchmarks/heavy.py /tmp/heavy-gpus.json 128 2 1.0
  for affinity in none split; do
    workbench scale /tmp/heavy-gpus.json --data "$photos" --gpus "${GPUS:-1,2,4}" --pipelines "${PIPELINES:-1,2}" \
      --files read --affinity $affinity --budget "${BUDGET:-30}" $(record "gpus-$affinity")
  done
}
gpu_checks() {
  timeout 160 python3 -m pytest -q -m gpu -p no:cacheprovider tests/bench tests/emit/targets \
    tests/engine/build/test_pipelines_side_by_side.py
  workbench tune imagenet-train --data "$photos" --device mixed --seconds 40 $(record "tune-40-s")
  GPUS=${GPUS:-1,2} BUDGET=${BUDGET:-6} gpus
}
tuned_minute() {  # the tuner's choice for a minute, and its exported loader
  for work in ${WORKS:-imagenet-train decode}; do
    python3 -m benchmarks.tune_live --device "${devices%% *}" --work "$work" --alone --budget "${BUDGET:-150}" \
      --long "${LONG:-60}" --json "/tmp/records/tuned-minute-$work-$tag.json" 2>/tmp/progress
  done
  python3 -m benchmarks.loader_rate --device "${devices%% *}" --work imagenet-train --seconds "${SECONDS_OF_LOADER:-20}" \
    --choice "/tmp/records/tuned-minute-imagenet-train-$tag.json" --json "/tmp/records/tuned-minute-loader-$tag.json"
}
cpu_and_engines() {  # pipelines that decode on the CPU next to mixed ones
  python3 -m benchmarks.cpu_and_engines --device "${devices%% *}" --rounds "${ROUNDS:-3}" \
    --json "/tmp/records/cpu-and-engines-$tag.json"
}
processes() {  # the same without a GPU, with a thread each
  python3 benchmarks/heavy.py /tmp/heavy-processes.json 64 1 1.0
  for affinity in none split; do
    workbench scale /tmp/heavy-processes.json --data "$photos" --processes "1,$cores" --affinity $affinity \
      $(record "processes-$affinity")
  done
}

for part in "$@"; do
  began=$SECONDS
  echo "== $part"
  case $part in
    sweep-mixed | sweep-cpu) sweep "${part#sweep-}" ;;
    by-hand) by_hand ;;
    gpu-checks) gpu_checks ;;
    gpu-peers) gpu_peers ;;
    tuned-minute) tuned_minute ;;
    cpu-and-engines) cpu_and_engines ;;
    agree | recipes | peers | operators | tune | optimise | stages | threads | gpus | processes | curves) "$part" ;;
    *) echo "no such part: $part" >&2 ;;
  esac
  echo "== $part: $((SECONDS - began)) s"
  sed -i 's#/tmp/photos#photos#' /tmp/records/*.json  # a record here names no machine's folders
  tar -C /tmp/records -czf "$out/records.tgz" .
done
