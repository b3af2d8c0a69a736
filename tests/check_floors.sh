#!/usr/bin/env bash
# Three floors: a file includes headers of its own floor and of those below, never of one above. Reads
# the #include lines of include/fgsf and src. A file that stands on no floor is an error too, and so are
# files and folders of the disk below the study floor.
set -euo pipefail

tensor='export status version rng device network bellman gpe gpi optimizer product program lower lower_device resident update bellman_graph
    registry denormals clones memory require pool product_tiles network_mlp device_check number'
learning='replay reward feature_set agent learner learning walk replay_index learner_batch
    learner_choose learner_create learner_error learner_walk'
study='key env envs config trainer evaluate archive run stats config_table config_value config_check
    config_json checkpoint diagnose archive_check io run_csv run_summary run_internal trainer_internal
    trainer_samples'

# floors ROOT: prints every violation under ROOT/include/fgsf and ROOT/src.
floors() {
    (cd "$1" && grep -HE '^[[:space:]]*#[[:space:]]*include' include/fgsf/*.h src/*.c src/*.h) |
        sed -n 's/^\([^:]*\):[#[:space:]]*include[[:space:]]*\(["<][^">]*\)[">].*/\1 \2/p' |
        awk -v tensor="$tensor" -v learning="$learning" -v study="$study" '
            function place(names, floor,   list, n, i) {
                n = split(names, list, /[ \n]+/)
                for (i = 1; i <= n; i++) floor_of[list[i]] = floor
            }
            function name(path) { sub(/.*[\/"<]/, "", path); sub(/\.[ch]$/, "", path); return path }
            BEGIN { place(tensor, 1); place(learning, 2); place(study, 3) }
            $2 ~ /^"(ggml|gguf|fgsf_commit)/ { next }
            $2 ~ /^<(cjson|fcntl|dirent|unistd|sys\/(stat|file))/ && floor_of[name($1)] < 3 {
                print $1 " includes " substr($2, 2) ", of files"
            }
            $2 ~ /^</ && $2 !~ /^<fgsf/ { next }
            !(name($1) in floor_of) { print $1 " stands on no floor"; next }
            !(name($2) in floor_of) { print $1 " includes " substr($2, 2) ", which stands on no floor"; next }
            floor_of[name($1)] < floor_of[name($2)] { print $1 " includes " substr($2, 2) " of a floor above" }'
}

found=$(floors "$FGSF_SOURCE")
[ -z "$found" ] || { printf '%s\n' "$found"; exit 1; }

# The control: each of these lines must be found.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r "$FGSF_SOURCE/include" "$FGSF_SOURCE/src" "$work"
violate() { # FILE LINE
    cp "$work/$1" "$work/kept"
    printf '%s\n' "$2" >>"$work/$1"
    [ "$(floors "$work" | wc -l)" = 1 ] || { echo "$1 may include $2"; exit 1; }
    mv "$work/kept" "$work/$1"
}
violate include/fgsf/network.h '#include "fgsf/config.h"'
violate src/bellman.c '#include "learning.h"'
violate include/fgsf/learner.h '#include "fgsf/env.h"'
violate src/replay.c '#include "io.h"'
violate src/gpe.c '#include "unheard_of.h"'
violate include/fgsf/gpi.h '#include <fgsf/config.h>'
violate src/network.c '#  include "trainer_internal.h" // spaces and a comment'
violate src/replay.c '#include <fcntl.h>'
