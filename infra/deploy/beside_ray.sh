#!/usr/bin/env bash
# beside_ray.sh ADDRESS COMMAND...: a Ray node that takes no work, and a command that drives the
# cluster from it. When one of them ends so does the other, for somebody to start both again: a node
# does not outlive the head of its cluster.
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
