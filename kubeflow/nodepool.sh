#!/bin/sh
# Prints the gcloud command that makes the node pool for a TPU slice or GPUs; --yes runs it.
#
# Usage: kubeflow/nodepool.sh CLUSTER LOCATION SLICE|GPUS [--spot] [--max-nodes N] [--yes]
#   kubeflow/nodepool.sh my-cluster us-west1-c v5e:2x2 --spot
#   kubeflow/nodepool.sh my-cluster us-west1-c nvidia-l4:1
set -eu

refuse() {
    echo "nodepool: $1" >&2
    exit 2
}

[ $# -ge 3 ] || refuse "usage: nodepool.sh CLUSTER LOCATION SLICE|GPUS [--spot] [--max-nodes N] [--yes]"
cluster=$1
location=$2
accelerator=$3
shift 3

spot=
most=1
run=
while [ $# -gt 0 ]; do
    case $1 in
    --spot) spot=yes ;;
    --max-nodes)
        [ $# -ge 2 ] || refuse "--max-nodes needs a number"
        most=$2
        shift
        ;;
    --yes) run=yes ;;
    *) refuse "unknown option $1" ;;
    esac
    shift
done
case $most in
'' | *[!0-9]* | 0) refuse "--max-nodes must be a positive number, got '$most'" ;;
esac

python=${PYTHON:-python3}
root=$(cd "$(dirname "$0")/.." && pwd)
# MACHINE and, for GPUs, TYPE COUNT; the table is that of the compiler.
facts=$(PYTHONPATH=$root "$python" -m kubeflow.nodepool "$accelerator") || exit 2
read -r machine type count <<END
$facts
END

name=$(echo "trainer-$accelerator${spot:+-spot}" | tr ':_' '--')
set -- gcloud container node-pools create "$name" \
    "--cluster=$cluster" "--location=$location" "--machine-type=$machine" \
    --num-nodes=0 --enable-autoscaling --min-nodes=0 "--max-nodes=$most"
[ -z "${type:-}" ] || set -- "$@" "--accelerator=type=$type,count=$count,gpu-driver-version=latest"
[ -z "$spot" ] || set -- "$@" --spot

if [ -z "$run" ]; then
    echo "$*"
    echo "nodepool: nothing was run; --yes runs it" >&2
else
    exec "$@"
fi
