#!/usr/bin/env bash
# Every fuzz target for a few seconds (FGSF_FUZZ_SECONDS, 4); tests/fuzz/run MINUTES is the long form.
FGSF_FUZZ_SECONDS=${FGSF_FUZZ_SECONDS:-4} exec "$FGSF_SOURCE/tests/fuzz/run"
