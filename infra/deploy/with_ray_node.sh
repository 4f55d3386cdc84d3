#!/usr/bin/env bash
# with_ray_node.sh ADDRESS COMMAND...: a Ray node that takes no work, and a command that drives the
# cluster from it. When one of them ends, the other is ended too, so that the container starts both
# again: a node ends when the head of its cluster ends.
address=$1
shift
ray start --address="$address" --num-cpus=0 --block &
node=$!
"$@" &
command=$!
trap 'kill "$command" "$node"' TERM INT
wait -n
kill "$command" "$node" 2>/dev/null
wait
exit 1
