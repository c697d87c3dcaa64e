#!/bin/sh
# Entry point of the image: Beam's engines give options for a worker, everybody else a command.
set -eu
case "${1:-}" in
    --*) exec /opt/apache/beam/boot "$@" ;;
    *) exec "$@" ;;
esac
