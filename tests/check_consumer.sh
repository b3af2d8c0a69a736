#!/usr/bin/env bash
# Installs FGSF into a temporary prefix and builds tests/consumer against it: with find_package, static
# and shared, and with pkg-config, static and shared, from C and from C++. Runs every program.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix="$work/pre fix" # with a space, and moved below: the package must not know where it was made
source=$FGSF_SOURCE/tests/consumer

cmake --install "$FGSF_BUILD" --prefix "$work/elsewhere" >"$work/install.log"
mv "$work/elsewhere" "$prefix"

# Each header alone must compile as strict C11, and all of them together as C++.
mkdir "$work/include"
for header in "$prefix"/include/fgsf/*.h; do
    printf '#include "fgsf/%s"\n' "${header##*/}" >>"$work/include/all_headers.h"
    printf '#include "fgsf/%s"\nextern int not_empty;\n' "${header##*/}" |
        cc -std=c11 -pedantic -Wall -Wextra -Werror -fsyntax-only "-I$prefix/include" -x c -
done

run() {
    local said
    said=$("$2") || { echo "$1: exit code $?: $said"; exit 1; }
    echo "$1: $said"
}

for kind in static shared; do
    cmake -S "$source" -B "$work/$kind" -G Ninja "-DCMAKE_PREFIX_PATH=$prefix" \
        -DCMAKE_BUILD_TYPE=Release "-DCMAKE_CXX_FLAGS=-I$work/include" "-DFGSF_KIND=$kind" \
        >"$work/configure.log" || { cat "$work/configure.log"; exit 1; }
    cmake --build "$work/$kind" >"$work/build.log" || { cat "$work/build.log"; exit 1; }
    run "find_package, $kind, C" "$work/$kind/consumer_c"
    run "find_package, $kind, C++" "$work/$kind/consumer_cpp"
done

pc=$(dirname "$(find "$prefix" -name fgsf.pc)")
export PKG_CONFIG_PATH=$pc
libdir=$(dirname "$pc")
[ "$(pkg-config --modversion fgsf)" = "$(sed -n 's/^project(fgsf VERSION \([0-9.]*\).*/\1/p' \
    "$FGSF_SOURCE/CMakeLists.txt")" ]
eval "shared=($(pkg-config --cflags --libs fgsf))"
# All of the archive, so that a library missing from Libs.private is noticed.
whole='-Wl,--whole-archive -l:libfgsf.a -Wl,--no-whole-archive'
eval "static=($(pkg-config --static --cflags --libs fgsf | sed "s/-lfgsf\>/$whole/"))"
cc "$source/main.c" "${shared[@]}" "-Wl,-rpath,$libdir" -o "$work/pc_shared"
cc "$source/main.c" "${static[@]}" -o "$work/pc_static"
c++ "-I$work/include" "$source/main.cpp" "${shared[@]}" "-Wl,-rpath,$libdir" -o "$work/pc_shared_cpp"
c++ "-I$work/include" "$source/main.cpp" "${static[@]}" -o "$work/pc_static_cpp"
for program in pc_shared pc_static pc_shared_cpp pc_static_cpp; do
    run "pkg-config, $program" "$work/$program"
done

# Only our own names leave the shared library.
stray=$(nm -D --defined-only "$libdir/libfgsf.so" | awk '$2 ~ /[A-Z]/ && $3 !~ /^fgsf_/ {print $3}')
[ -z "$stray" ] || { printf 'libfgsf.so exports names that are not fgsf_*:\n%s\n' "$stray"; exit 1; }
