#!/usr/bin/env bash
# Every function, file and configuration key that docs/paper-to-code.md names exists: functions are
# defined in the sources (in the file named right after them, if one is), keys and the values given to
# them stand in the key table.
set -euo pipefail
cd "$FGSF_SOURCE"
doc=docs/paper-to-code.md
table=(src/config_table.c envs/*.c)
wrong=0

complain() {
    echo "$doc: $1"
    wrong=1
}

# A definition starts its line with a type and ends it with an opening brace, perhaps lines later.
is_function() { # name file...
    local name=$1
    shift
    grep -qE "^[a-z][a-zA-Z0-9_ ]*[ *]$name\(" "$@"
}

check_key() { # key=value
    local key=${1%%=*} value=${1#*=}
    grep -qF "\"$key\"," "${table[@]}" || complain "no key $key"
    if [ "$value" != "$1" ] && ! grep -qE "^(true|false|[0-9.e-]+)$" <<< "$value" &&
        ! awk -v key="\"$key\"," 'index($0, key) { on = 1 } on { print } on && /}?\),?$/ { exit }' \
            "${table[@]}" | grep -qE "[\"|]$value[\"|]"; then
        complain "key $key has no choice $value"
    fi
}

names=0
while IFS= read -r line; do
    file='' # a function belongs to the next file in its line, so the words are read backwards
    while IFS= read -r word; do
        names=$((names + 1))
        case $word in
        src/* | envs/* | tests/*)
            [ -e "$word" ] || complain "no file $word"
            file=$word
            ;;
        method=* | preset=* | representation* | *.*) check_key "$word" ;;
        fgsf_*) is_function "$word" src/*.c envs/*.c || complain "no function $word" ;;
        paper) ;; # a preset
        *) is_function "$word" ${file:-src/*.c} || complain "no function $word in ${file:-src}" ;;
        esac
    done < <(grep -oE '`[^`]+`' <<< "$line" | tr -d '`' | tac)
done < "$doc"

[ "$names" -gt 150 ] || complain "only $names names found"
exit "$wrong"
