# Reads the public headers and writes, for each number, choice and pointer in the structs that functions
# take, calls with a bad value in it: NULL, zero, negative, huge, NaN. What is done with the struct is in
# test_misuse.c, as USE_struct(p). A field of these structs is called as soon as it is declared.

BEGIN {
    n = split("network_shape agent_params bellman_params batch feature_set_params learner_params experience " \
              "optimizer_params stretch transition replay_params reward_params run_id run_progress " \
              "stats_scores stats_bootstrap_params eval_rows config env_def network_def key", list, " ")
    for (i = 1; i <= n; i++) wanted["fgsf_" list[i]] = 1
    # A NaN or a NULL here is well: the header says so, or the fixture has no use for the field.
    n = split("batch.weight batch.present batch.state batch.next network_shape.def agent_params.tasks learner_params.avg.context " \
              "agent_params.xi.members feature_set_params.members run_id.cell env_def.summary env_def.decode " \
              "env_def.task_reward env_def.feature_set env_def.position network_def.summary " \
              "learner_params.avg.draw learner_params.avg.key learner_params.avg.grid_pitch replay_params.grid_pitch " \
              "eval_rows.rows eval_rows.stop optimizer_params.rm_k0 optimizer_params.rm_power config.env_params.align key.choices", list, " ")
    for (i = 1; i <= n; i++) optional["fgsf_" list[i]] = 1
    # Counts of what the caller's own array holds, and memory that is only reserved.
    n = split("stats_scores.seeds stats_scores.tasks env_def.num_keys env_def.num_settings batch.states batch.nexts " \
              "feature_set_params.num_members stats_bootstrap_params.resamples", list, " ")
    for (i = 1; i <= n; i++) counted["fgsf_" list[i]] = 1
}

{ sub(/\/\/.*/, ""); text = text $0 " " }

function call(field, value, end) {
    printf "CALL(\"%s(%s = %s)\", %s, %s p = *GOOD_%s; p.%s = %s; result = USE_%s(&p))\n", struct, field, value, end, \
        struct, substr(struct, 6), field, value, substr(struct, 6)
}

function calls(type, field,    full, k, values, count) {
    full = struct "." field
    if (type ~ /\*$/) values = "NULL"
    else if (type ~ /^(double|float)$/) values = "NAN INFINITY -1.0 1e300 0.0"
    else if (type == "bool") values = "true false"
    else if (type ~ /^enum|^fgsf_key_type$/) values = "99 -1"
    else if (full in counted) values = "0"
    else if (type == "size_t") values = "0 SIZE_MAX SIZE_MAX/2"
    else if (type ~ /^(int|int32_t)$/) values = "0 -1 INT_MAX"
    else if (type == "int64_t") values = "0 -1 INT64_MAX 4294967297"
    else return
    count = split(values, list, " ")
    for (k = 1; k <= count; k++) {
        refused = (list[k] == "NAN" || list[k] == "NULL" || list[k] == "99" || list[k] == "-1" && type !~ /^int/) && !(full in optional)
        call(field, list[k], refused ? "REFUSED" : "ANY")
    }
}

function close_struct(    i) {
    for (i = 1; i <= fields; i++) calls(types[i], names[i])
    struct = ""
}

function declare(words,    type, count, parts, i) {
    gsub(/^ +| +$/, "", words)
    gsub(/ +/, " ", words)
    if (words == "" || words ~ /\(|^union|\[/ ) return
    count = split(words, parts, / *, */)
    match(parts[1], /[a-z0-9_]+$/)
    type = substr(parts[1], 1, RSTART - 1)
    gsub(/^ +| +$/, "", type)
    for (i = 1; i <= count; i++) {
        match(parts[i], /[a-z0-9_]+$/)
        names[++fields] = substr(parts[i], RSTART)
        types[fields] = type
    }
}

END {
    depth = 0
    while (match(text, /[;{}]/)) {
        piece = substr(text, 1, RSTART - 1)
        sign = substr(text, RSTART, 1)
        text = substr(text, RSTART + 1)
        if (sign == "{" && depth == 0 && match(piece, /(typedef )?struct fgsf_[a-z_]+ *$/)) {
            struct = substr(piece, RSTART); gsub(/typedef |struct | /, "", struct)
            if (!(struct in wanted)) struct = ""
            depth = 1; fields = 0; closed = 0
        } else if (sign == "{") {
            if (depth > 0) from[depth] = fields
            depth++
        } else if (sign == "}") {
            depth--
            closed = 1
        } else if (closed) {
            gsub(/ /, "", piece)
            if (depth == 0 && struct != "") close_struct()
            for (i = from[depth] + 1; depth > 0 && i <= fields; i++) names[i] = piece "." names[i]
            closed = 0
        } else if (depth > 0 && struct != "") declare(piece)
    }
}
