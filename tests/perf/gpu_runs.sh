#!/usr/bin/env bash
# Records of the speed lab on a machine with GPUs, for assets/benchmarks.
#
#   tests/perf/gpu_runs.sh OUT PART...      from the project's folder; python3 has what it needs
#
# Parts, with their estimated minutes on an H200 with 16 cores: agree 6, recipes 6, by-hand 3,
# peers 4, sweep-mixed 7, sweep-cpu 3, tune 6, stages 3, threads 4, gpus 3 (1, 2, 4 GPUs as far as
# there are any). Everything comes back as OUT/records.tgz.
set -u
out=$1
shift
here=$PWD
export PYTHONPATH=$here${PYTHONPATH:+:$PYTHONPATH} PYTHONUNBUFFERED=1
photos=/tmp/photos-500x375
[ -d "$photos" ] || python3 tests/perf/photos.py "$photos" 2000
mkdir -p /tmp/records
cores=$(nproc)
tag=${TAG:-h200}
workbench() { python3 -m workbench.cli "$@" 2>/tmp/progress || tail -3 /tmp/progress; }
record() { echo "--json /tmp/records/$1-$tag.json --name $1-$tag"; }
python3 tests/perf/heavy.py /tmp/heavy.json 256 "$cores" 1.0

agree() {
  OUT=/tmp/records python3 -m pytest tests/perf/test_lab.py -q -s -p no:cacheprovider
  mv /tmp/records/perf.json "/tmp/records/agreement-$tag.json"
}
recipes() {
  for recipe in $(python3 -m workbench.cli recipes | awk '{print $1}'); do
    workbench bench "$recipe" --data "$photos" --regime pipeline --batch-size 256 \
      --threads "$cores" --load 1.0 --budget 6 $(record "recipe-$recipe")
  done
}
by_hand() {  # the settings of the figures that were measured by hand
  for load in 0.65 1.0; do
    workbench bench imagenet-train --data "$photos" --regime decode --batch-size 64 --threads 4 \
      --load $load --budget 8 $(record "decode-64-4-load-$load")
  done
  workbench bench imagenet-train --data "$photos" --batch-size 256 --threads "$cores" \
    --load 1.0 --budget 8 $(record "imagenet-train-256-$cores")
  for threads in 4 "$cores"; do
    workbench bench /tmp/heavy.json --data "$photos" --threads "$threads" --regime pipeline \
      --budget 8 $(record "heavy-256-$threads")
  done
}
peers() {
  for recipe in imagenet-train imagenet-eval rotate-jitter; do
    workbench bench "$recipe" --data "$photos" --regime pipeline --peers --batch-size 64 \
      --threads "$cores" --budget 6 $(record "peers-$recipe")
  done
}
mixed="--threads 4,8,$cores --batch-sizes 64,128,256 --prefetch 2,4 --loads 0.65,0.85,1.0"
cpu="--threads 4,8,$cores --batch-sizes 32,64,128 --prefetch 1,2,4"
sweep_mixed() {
  workbench tune imagenet-train --data "$photos" --device mixed --exhaustive $mixed \
    $(record sweep-mixed)
}
sweep_cpu() {
  workbench tune imagenet-train --data "$photos" --device cpu --exhaustive $cpu $(record sweep-cpu)
}
tune() {
  workbench tune imagenet-train --data "$photos" --device mixed $mixed $(record tune-mixed)
  workbench tune imagenet-train --data "$photos" --device mixed --regime decode $mixed \
    $(record tune-decode)
  workbench tune /tmp/heavy.json --data "$photos" --device mixed $mixed $(record tune-heavy)
  workbench tune imagenet-train --data "$photos" --device cpu $cpu $(record tune-cpu)
}
stages() {
  workbench stages /tmp/heavy.json --data "$photos" --device mixed $(record stages-mixed)
  workbench stages /tmp/heavy.json --data "$photos" --device cpu $(record stages-cpu)
}
threads() {
  python3 tests/perf/heavy.py /tmp/heavy64.json 64 4 1.0
  workbench scale /tmp/heavy64.json --data "$photos" --device cpu $(record threads-cpu)
  workbench scale imagenet-train --data "$photos" --device mixed $(record threads-mixed)
}
gpus() {
  for affinity in none split; do
    python3 tests/perf/heavy.py /tmp/heavy16.json 256 16 1.0
    workbench scale /tmp/heavy16.json --data "$photos" --device mixed --gpus "${GPUS:-1,2,4}" \
      --affinity $affinity $(record "gpus-$affinity")
  done
}

for part in "$@"; do
  echo "== $part"
  case $part in
    sweep-mixed) sweep_mixed ;;
    sweep-cpu) sweep_cpu ;;
    by-hand) by_hand ;;
    agree | recipes | peers | tune | stages | threads | gpus) "$part" ;;
    *) echo "no such part: $part" >&2 ;;
  esac
  tar -C /tmp/records -czf "$out/records.tgz" .
done
