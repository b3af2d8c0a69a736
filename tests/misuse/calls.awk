# Reads the public headers and writes one call of every exported function for each argument and each bad
# value of it: NULL, zero, negative, huge, NaN, an object of another shape. The other arguments are good
# ones, from the fixture of test_misuse.c; a type that it does not know does not compile there. One call
# of each function has good arguments only and must succeed: a call that is refused for another reason
# would show nothing. Then one call for each field of the structs that functions take.
#
#     CALL(text, WELL or REFUSED or ANY, statements)

BEGIN {
    RS = ";"
    # Pointers that may be NULL, as the headers say.
    n = split("fgsf_device_open.name fgsf_device_check.error fgsf_agent_q.rho fgsf_agent_act.rho fgsf_agent_act.rng " \
              "fgsf_bellman_run.other fgsf_run_update.progress fgsf_run_finish.progress " \
              "fgsf_run_finish.message fgsf_csv_close.csv fgsf_config_resolve.env " \
              "fgsf_config_set.source fgsf_config_parse.source fgsf_learner_learn.out " \
              "fgsf_optimizer_step.norm fgsf_optimizer_step_stretches.norm fgsf_reward_ridge.rmse " \
              "fgsf_agent_load.device fgsf_agent_load.cfg fgsf_run_mark_failed.message " \
              "fgsf_fail.format fgsf_csv_row.format fgsf_device_list.name fgsf_device_list.about " \
              "fgsf_config_get.buffer fgsf_reward_create.task fgsf_reward_create.device " \
              "fgsf_reward_create.rng fgsf_reward_rho.set fgsf_agent_save.cfg " \
              "fgsf_bellman_run.loss fgsf_feature_set_restore.members fgsf_evaluate_fit.reward", list, " ")
    for (i = 1; i <= n; i++) optional[list[i]] = 1
    # Counts of what the caller's own array holds: nobody else can check a huge one.
    n = split("fgsf_archive_put.count fgsf_replay_sample.n fgsf_replay_matching.n " \
              "fgsf_stats_quantile.n fgsf_stats_auc.n " \
              "fgsf_stats_profile.n fgsf_stats_wilcoxon.n fgsf_gpi_choose.num_policies " \
              "fgsf_gpi_choose.num_actions fgsf_gpi_maximisers.num_policies fgsf_gpi_gap.num_policies fgsf_gpi_gap.num_actions " \
              "fgsf_gpi_maximisers.num_actions fgsf_gpi_maximisers.max fgsf_reward_ridge.n " \
              "fgsf_reward_ridge.num_features fgsf_run_directory.size fgsf_run_path.size " \
              "fgsf_device_list.name_size fgsf_device_list.about_size fgsf_config_get.size " \
              "fgsf_gpe_run.num_rho fgsf_gpe_run_plain.num_rho " \
              "fgsf_optimizer_step_stretches.count", list, " ")
    for (i = 1; i <= n; i++) counted[list[i]] = 1
    # Good values that the type alone does not tell.
    n = split("fgsf_archive_get_int.name \"int\" fgsf_archive_get_real.name \"real\" fgsf_archive_get_text.name \"text\" " \
              "fgsf_archive_get.name \"array\" fgsf_archive_count.name \"array\" fgsf_replay_load.prefix \"replay\" " \
              "fgsf_bellman_run.other NULL fgsf_config_load.path CONFIG_TEXT fgsf_config_parse.text \"{}\" " \
              "fgsf_csv_open.name \"x.csv\" fgsf_device_open.name \"cpu\" fgsf_env_set_state.values state fgsf_env_set_state.n STATE_SIZE " \
              "fgsf_evaluate_fit.reward NULL fgsf_run_read.directory RUN_TEXT fgsf_run_verify.directory RUN_TEXT " \
              "fgsf_run_summarize.out RUNS_TEXT fgsf_csv_open.last_step -1 fgsf_stats_auc.x rising", list, " ")
    # Those whose objects must fit each other.
    together = "^fgsf_(evaluate|evaluate_task|evaluate_heldout|evaluate_rho|gpe_run|gpe_run_plain|gpe_representation|" \
        "bellman_run|optimizer_step|optimizer_step_stretches|network_track|replay_load|learner_load|reward_rho)$"
    for (i = 1; i <= n; i += 2) special[list[i]] = list[i + 1]
}

# A good value of a type; `name` tells texts and counts apart.
function good(type, name) {
    if ((fn "." name) in special) return special[fn "." name]
    if (type == "const fgsf_archive *") return "reading"
    if (type ~ /^const char \*$/) return name == "path" ? "PATH_TEXT" : name == "env" ? "\"four_rooms\"" : \
        name == "preset" ? "\"clean\"" : name == "method" ? "\"fg-sfrql\"" : name == "device" ? "\"cpu\"" : \
        name == "key" ? "\"seed\"" : name == "value" ? "\"1\"" : name == "format" ? "\"x\"" : "\"name\""
    if (type ~ /\*\*$/) { sub(/ ?\*\*$/, "", type); sub(/^const /, "", type); return "(void *)&slot" }
    if (type ~ /\*$/) {
        sub(/^const /, "", type); sub(/ ?\*$/, "", type)
        if (type ~ /^(void|char|float|double|int|int32_t|int64_t|size_t)$/) return "(void *)buffer"
        sub(/^fgsf_/, "", type)
        return "GOOD_" type
    }
    if (type ~ /^(double|float)$/) return "0.5"
    if (type == "bool") return "true"
    if (type ~ /size_t|uint64_t/) return name ~ /size$/ ? "4096" : "8"
    return name ~ /^(n|rows|max_rows|count|max|threads|num_.*)$/ ? "1" : "0"
}

# Writes the bad values of a type into bad[], returns how many.
function bads(type, full,    k) {
    if (type ~ /\*$/) {
        bad[1] = "NULL"
        if (type !~ /fgsf_(agent|config|env|feature_set|learner|network|optimizer|replay|reward) \*$/) return 1
        if (fn ~ /_save$/) return 1 # what it saves is loaded
        bad[2] = type
        gsub(/^(const )?fgsf_| ?\*$/, "", bad[2])
        bad[2] = "other_" bad[2]
        return 2
    }
    if (type ~ /^(double|float)$/) { bad[1] = "NAN"; bad[2] = "INFINITY"; bad[3] = "-1.0"; bad[4] = "1e300"; return 4 }
    if (type == "bool") { bad[1] = "false"; return 1 }
    k = 0
    bad[++k] = "0"
    if (full in counted) return k
    if (type ~ /size_t|uint64_t/) { bad[++k] = "SIZE_MAX"; bad[++k] = "SIZE_MAX / 2"; return k }
    if (type ~ /int64_t/) { bad[++k] = "-1"; bad[++k] = "INT64_MAX"; bad[++k] = "1000000000"; return k }
    bad[++k] = "-1"
    bad[++k] = type ~ /^int$/ ? "INT_MAX" : "(" type ")99"
    bad[++k] = type ~ /^int$/ ? "99" : "(" type ")7"
    return k
}

function write(at, value, refused,    i, text) {
    text = ""
    for (i = 1; i <= count; i++) text = text (i > 1 ? ", " : "") (i == at ? value : good(types[i], names[i]))
    printf "CALL(\"%s(%s%s%s)\", %s, ", fn, at ? names[at] : "", at ? " = " : "", at ? value : "", refused
    if (returns == "fgsf_status") printf "result = (int)%s(%s)", fn, text
    else if (returns == "void") printf "%s(%s)", fn, text
    else printf "(void)%s(%s)", fn, text
    print ")"
}

!/^ *\/\// && /FGSF_API/ {
    declaration = $0
    sub(/^.*FGSF_API /, "", declaration)
    gsub(/[ \t\n]+/, " ", declaration)
    if (declaration !~ /\(/ || declaration ~ /^extern/) next
    sub(/ FGSF_PRINTF\(.*$/, "", declaration)
    head = declaration; sub(/\(.*$/, "", head)
    arguments = declaration; sub(/^[^(]*\(/, "", arguments); sub(/\)[^)]*$/, "", arguments)
    match(head, /[a-z0-9_]+$/)
    fn = substr(head, RSTART); returns = substr(head, 1, RSTART - 1)
    gsub(/^ +| +$/, "", returns)
    if (fn !~ /^fgsf_/) next # the macro itself
    count = arguments == "void" ? 0 : split(arguments, parts, /, */)
    varargs = 0
    for (i = 1; i <= count; i++) {
        if (parts[i] == "...") { count = i - 1; varargs = 1; break }
        match(parts[i], /[a-z0-9_]+$/)
        names[i] = substr(parts[i], RSTART); types[i] = substr(parts[i], 1, RSTART - 1)
        gsub(/^ +| +$/, "", types[i])
    }
    print "FUNCTION(" fn ")"
    write(0, "", returns == "fgsf_status" ? "WELL" : "ANY")
    for (i = 1; i <= count; i++) {
        full = fn "." names[i]
        k = bads(types[i], full)
        for (b = 1; b <= k; b++) {
            refused = returns == "fgsf_status" && (bad[b] == "NULL" || bad[b] == "NAN") && !(full in optional)
            if (bad[b] ~ /^other_/ && fn ~ together) refused = 1
            write(i, bad[b], refused ? "REFUSED" : "ANY")
        }
    }
}
