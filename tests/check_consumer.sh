#!/usr/bin/env bash
# Installs FGSF into a temporary prefix and uses it as its users do: tests/consumer with find_package
# and with pkg-config, static and shared, from C and from C++; the programs of docs/examples; and the
# commands of docs/environments.md, word for word, in the tree and outside of it.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix="$work/pre fix" # with a space, and moved below: the package must not know where it was made
source=$FGSF_SOURCE/tests/consumer
examples=$FGSF_SOURCE/docs/examples
warnings=(-Wall -Wextra -Werror)

die() { printf '%s\n' "$*"; exit 1; }

# run WHAT COMMAND...: shows what the command said.
run() {
    local said
    said=$("${@:2}" 2>&1) || die "$1: exit code $?: $said"
    echo "$1: $said"
}

cmake --install "$FGSF_BUILD" --prefix "$work/elsewhere" >"$work/install.log"
mv "$work/elsewhere" "$prefix"

mkdir "$work/include" # for C++, which includes them all
for header in "$prefix"/include/fgsf/*.h; do
    printf '#include "fgsf/%s"\n' "${header##*/}" >>"$work/include/all_headers.h"
done

# ---- find_package --------------------------------------------------------------------------------

for kind in static shared; do
    cmake -S "$source" -B "$work/$kind" -G Ninja "-DCMAKE_PREFIX_PATH=$prefix" \
        -DCMAKE_BUILD_TYPE=Release "-DCMAKE_C_FLAGS=${warnings[*]}" "-DFGSF_EXAMPLES=$examples" \
        "-DCMAKE_CXX_FLAGS=-I$work/include" "-DFGSF_KIND=$kind" \
        >"$work/configure.log" || die "$(cat "$work/configure.log")"
    cmake --build "$work/$kind" >"$work/build.log" || die "$(cat "$work/build.log")"
    run "find_package, $kind, C" "$work/$kind/consumer_c" "$work/policy.gguf"
    run "find_package, $kind, C++" "$work/$kind/consumer_cpp"
    run "find_package, $kind, a network" "$work/$kind/residual"
done

# ---- pkg-config ----------------------------------------------------------------------------------

pc=$(dirname "$(find "$prefix" -name fgsf.pc)")
export PKG_CONFIG_PATH=$pc
libdir=$(dirname "$pc")
version=$(sed -n 's/^project(fgsf VERSION \([0-9.]*\).*/\1/p' "$FGSF_SOURCE/CMakeLists.txt")
[ "$(pkg-config --modversion fgsf)" = "$version" ]
eval "alone=($(pkg-config --cflags --libs fgsf) '-Wl,-rpath,$libdir')"
eval "shared=($(pkg-config --cflags --libs fgsf_envs) '-Wl,-rpath,$libdir')"
# All of the archive, so that a library missing from Libs.private is noticed.
whole='-Wl,--whole-archive -l:libfgsf.a -Wl,--no-whole-archive'
eval "static=($(pkg-config --static --cflags --libs fgsf_envs |
    sed "s/-lfgsf_envs\>/-l:libfgsf_envs.a/; s/-lfgsf\>/$whole/"))"
for kind in shared static; do
    declare -n flags=$kind
    cc "${warnings[@]}" "$source/main.c" "$examples/corridor.c" "${flags[@]}" -o "$work/pc_$kind"
    c++ "-I$work/include" "$source/main.cpp" "${flags[@]}" -o "$work/pc_${kind}_cpp"
    run "pkg-config, $kind, C" "$work/pc_$kind" "$work/policy.gguf"
    run "pkg-config, $kind, C++" "$work/pc_${kind}_cpp"
    cc "${warnings[@]}" "$examples/residual.c" "${flags[@]}" -o "$work/pc_${kind}_residual"
    run "pkg-config, $kind, a network" "$work/pc_${kind}_residual"
done
eval "plugin=($(pkg-config --cflags --libs fgsf_plugin))"
cc -shared -fPIC "${warnings[@]}" "$examples/residual.c" "${plugin[@]}" -o "$work/residual.so"
# A program that builds no graph has no part of ggml in it, nor its C++ library.
if nm "$work/pc_shared" | grep -w ggml_mul_mat; then die "the program has ggml in it"; fi
if readelf -d "$work/pc_shared" | grep -F 'libstdc++'; then die "the program links libstdc++"; fi

# ---- What is in the shared libraries --------------------------------------------------------------

for name in fgsf fgsf_envs; do # each exports what the installed headers declare, and nothing else
    nm -D --defined-only "$libdir/lib$name.so" | awk '$2 ~ /[A-Z]/ {print $3}' | sort >"$work/exported"
    [ -s "$work/exported" ] || die "lib$name.so exports nothing"
    stray=$(grep -rhow 'fgsf_[a-z0-9_]*' "$prefix/include/fgsf" | sort -u | comm -23 "$work/exported" -)
    [ -z "$stray" ] || die "lib$name.so exports what no header declares: $stray"
done
needs() { readelf -d "$libdir/$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'; }
if needs libfgsf.so | grep -i 'mujoco\|blas'; then die "libfgsf.so links it"; fi
readelf -d "$libdir/libfgsf.so" | grep -q "SONAME.*\[libfgsf.so.${version%.*}\]"
needs libfgsf_envs.so | grep -qx "libfgsf.so.${version%.*}"

# ---- The programs of docs/examples ----------------------------------------------------------------

[ "$(wc -l <"$examples/own_loop.c")" -le 80 ] || die "own_loop.c is longer than 80 lines"
for name in own_loop act; do
    cc "${warnings[@]}" "$examples/$name.c" "${alone[@]}" -o "$work/$name"
done
run "own_loop" "$work/own_loop" "$work/corners.gguf" # fails unless every start is optimal
# The cell right of corner 0 and the one left of corner 1, under three rewards.
{
    echo 0 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
    echo 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 1 0
} >"$work/states"
acts() { # EXPECTED W0 W1: the actions in the two cells
    local said
    said=$("$work/act" "$work/corners.gguf" "${@:2}" <"$work/states" | tr '\n' ' ')
    [ "$said" = "$1 " ] || die "act ${*:2}: '$said' instead of '$1'"
}
acts '0 1' 1 1
[ "$("$work/act" "$work/corners.gguf" 1 0 <"$work/states" | head -n 1)" = 0 ]
[ "$("$work/act" "$work/corners.gguf" 0 1 <"$work/states" | tail -n 1)" = 1 ]
if "$work/act" "$work/corners.gguf" 1 2>"$work/error" <"$work/states"; then die "one weight is enough?"; fi

# ---- The commands of docs/environments.md ---------------------------------------------------------

[ -x "$prefix/bin/fgsf-train" ] || exit 0
for plugin in "$work/residual.so" "$work/static/libresidual_plugin.so"; do
    run "a plugin with a network" "$prefix/bin/fgsf-train" --plugin "$plugin" --env four_rooms --quiet \
        --methods sfrql --scale smoke --set net.kind=residual --set net.hidden=8 --set env.num_tasks=1 \
        --set train.steps_per_task=100 --out "$work/runs-${plugin##*/}"
done
# block N: the N-th block of commands in the section.
block() {
    sed -n '/^## Adding an environment/,$p' "$FGSF_SOURCE/docs/environments.md" |
        awk -v wanted="$1" '/^```sh$/ { n++; inside = 1; next } /^```/ { inside = 0 }
                            inside && n == wanted'
}
walk() { # FOLDER BLOCK
    block "$2" >"$1/commands"
    command -v gnuplot >/dev/null || sed -i '/^fgsf-export/d' "$1/commands" # it has nothing to draw with
    [ -s "$1/commands" ] || die "docs/environments.md: no commands"
    (cd "$1" && PATH=$prefix/bin:$PATH bash -euo pipefail commands) >"$1/log" 2>&1 ||
        die "docs/environments.md: $(cat "$1/log")"
    grep -q '^corridor,fg-sfrql,,0,done' "$1/runs/corridor/summary.csv"
    grep -q '^t,action,s0,s1,s2,s3,s4,s5,s6,reward,terminal,phi0,phi1$' "$1/log"
    grep -q 'prior 1  ' "$1/log" || die "watch shows no Q per policy: $(cat "$1/log")"
    grep -q '^episode 0: return 1, [0-9]* steps, goal reached$' "$1/log" ||
        die "the trained policy does not reach its goal: $(cat "$1/log")"
    if command -v gnuplot >/dev/null; then
        ls "$1"/runs/corridor/export/figures/*.png >/dev/null
    fi
    echo "docs/environments.md, block $2: done"
}
ln -s "$prefix" "$work/prefix" # the shell splits $(pkg-config ...) at the space
export PKG_CONFIG_PATH=$work/prefix${pc#"$prefix"}
tree=$work/tree
mkdir -p "$tree/experiments" "$work/outside"
ln -s "$FGSF_SOURCE/include" "$FGSF_SOURCE/docs" "$tree"
# experiments/run without its build, which is done already.
printf '#!/bin/sh\ndriver=$1\nshift\nexec "%s/experiments/$driver" "$@"\n' "$FGSF_BUILD" >"$tree/experiments/run"
chmod +x "$tree/experiments/run"
cp "$examples/corridor.c" "$work/outside"
walk "$tree" 1
walk "$work/outside" 2
