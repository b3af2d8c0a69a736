# Sourced by experiments/run and tests/run: dependencies and builds, quiet unless something fails.
# Expects FGSF_ROOT, the repository's absolute path.

# Holds a lock on the build folder, so that two commands started together do not build at once.
fgsf_lock() {
    mkdir -p "$FGSF_ROOT/build"
    if command -v flock >/dev/null; then
        exec 8>"$FGSF_ROOT/build/.lock"
        flock 8
    fi
}

fgsf_unlock() { exec 8>&-; }

# fgsf_build PRESET FOLDER: brings the dependencies, configures when needed and builds every target.
fgsf_build() {
    local log=$FGSF_ROOT/build/$1.log
    "$FGSF_ROOT/third_party/setup" >&2 || return 1
    # A repository that was copied or moved with its build folder is configured afresh.
    if [ -f "$2/CMakeCache.txt" ] &&
        ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$FGSF_ROOT" "$2/CMakeCache.txt"; then
        rm -rf "$2/CMakeCache.txt" "$2/CMakeFiles" "$2/build.ninja"
    fi
    if [ ! -f "$2/build.ninja" ]; then
        printf 'fgsf: configuring and building (%s)\n' "$1" >&2
        (cd "$FGSF_ROOT" && cmake --preset "$1") >"$log" 2>&1 || { cat "$log" >&2; return 1; }
    fi
    cmake --build "$2" >"$log" 2>&1 || { cat "$log" >&2; return 1; }
}
