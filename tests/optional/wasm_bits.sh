#!/usr/bin/env bash
# tests/optional/wasm_bits.sh: products have the same bits with plain vectors (SSE2) and in WASM, the same with AVX2
# and AVX-512, and the two groups differ: only the second fuses a multiplication and an addition
# (`third_party/setup --with demo`; the second half of it is in tests/test_product.c, too).
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
command -v emcc >/dev/null && command -v node >/dev/null ||
    { echo "emcc or node is not installed (third_party/setup --with demo)"; exit 77; }
export NODE_PATH=${NODE_PATH:-/usr/share/nodejs} # of emscripten, where node is not Debian's
sources=("-I$root/src" "$root/src/product_tiles.c" "$root/tests/optional/wasm_bits.c")
flags=(-O3 -std=gnu11 -ffp-contract=off -fno-math-errno -fno-trapping-math)

cc "${flags[@]}" -mno-avx -DRUN=fgsf_product_run_plain "${sources[@]}" -o "$work/plain"
emcc "${flags[@]}" -msimd128 -s SINGLE_FILE=1 -DRUN=fgsf_product_run_plain "${sources[@]}" -o "$work/wasm.js" 2>"$work/log" ||
    { cat "$work/log"; exit 1; }
plain=$("$work/plain")
wasm=$(node "$work/wasm.js" 2>"$work/log") || { tail -n 5 "$work/log" | cut -c 1-200; exit 1; }
echo "plain (SSE2) $plain, WASM $wasm"
[ "$plain" = "$wasm" ] || { echo "wasm_bits: plain and WASM differ"; exit 1; }

fused=
for kind in avx2:-mno-avx512f:-mavx2 avx512:-mavx512f:-mavx512f; do
    IFS=: read -r name first second <<<"$kind"
    grep -q "${name/avx512/avx512f}" /proc/cpuinfo || continue
    cc "${flags[@]}" "$first" "$second" -mfma "-DFGSF_TILES_${name^^}" "-DFGSF_PRODUCT_${name^^}" "-DRUN=fgsf_product_run_$name" \
        "${sources[@]}" -o "$work/$name"
    this=$("$work/$name")
    echo "$name $this"
    [ "${fused:-$this}" = "$this" ] || { echo "wasm_bits: AVX2 and AVX-512 differ"; exit 1; }
    fused=$this
done
[ "$fused" != "$plain" ] || { echo "wasm_bits: fused and plain products are equal"; exit 1; }
