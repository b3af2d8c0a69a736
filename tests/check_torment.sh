#!/usr/bin/env bash
# The short form of tests/torment: a few kills, failed system calls and damaged files.
exec "$FGSF_SOURCE/tests/torment" 8
