// The live page of a sweep. The driver writes the data; everything that is computed or chosen happens
// here. Text reaches the page only through textContent and attributes, never as markup.
"use strict";

const $ = (id) => document.getElementById(id);
const METRICS = [
    { name: "Reward collected", note: "Reward collected since the start, over all tasks.", of: (p) => [p.step, p.reward] },
    { name: "Return per episode", note: "Mean return of the training episodes of the last tenth of the run.", of: returns },
    { name: "Loss", log: true, note: "Loss of the active task's network (geometric mean over seeds).", of: (p) => [p.step, p.loss] },
    { name: "Bellman residual", log: true, note: "Mean squared residual on held-out transitions (geometric mean over seeds).", of: (p) => [p.step, p.residual] },
];
const FILTERS = {
    Running: (r) => r.state === "running",
    Problems: (r) => ["failed", "diverged", "unreadable", "stopped"].includes(r.state),
    Waiting: (r) => r.state === "waiting",
    Finished: (r) => r.state === "done",
    All: () => true,
};
const STATES = ["done", "running", "diverged", "failed"];
const COLUMNS = ["step", "reward", "episodes", "loss", "residual"];
const view = { metric: 0, only: "", filter: "", rows: 25, search: "", open: false };
const dark = matchMedia("(prefers-color-scheme: dark)");
let sweep, chart, heard = Date.now();

// ---- Small tools ---------------------------------------------------------------------------------

function el(tag, attributes = {}, ...children) {
    const node = document.createElement(tag);
    for (const [key, value] of Object.entries(attributes)) {
        if (key === "style") node.style.cssText = value;
        else if (key.startsWith("on")) node[key] = value;
        else if (value !== false && value !== undefined) node.setAttribute(key, value);
    }
    node.append(...children.filter((c) => c !== null && c !== undefined));
    return node;
}

function fill(id, ...children) {
    $(id).replaceChildren(...children.filter((c) => c !== null));
}

function number(x) {
    if (!Number.isFinite(x)) return "–";
    const size = Math.abs(x);
    if (size !== 0 && (size < 1e-3 || size >= 1e6)) return x.toExponential(1).replace("e+", "e");
    return size >= 1000 ? Math.round(x).toLocaleString("en") : String(+x.toPrecision(3));
}

function duration(seconds) {
    const s = Math.max(0, Math.round(seconds));
    if (s < 90) return `${s} s`;
    if (s < 5400) return `${Math.round(s / 60)} min`;
    if (s < 172800) return `${Math.floor(s / 3600)} h ${Math.round((s % 3600) / 60)} min`;
    return `${Math.round(s / 86400)} days`;
}

const clock = (seconds) => new Date(1000 * seconds).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
const byName = (a, b) => a.localeCompare(b, "en", { numeric: true });
const link = (path) => path.split("/").map(encodeURIComponent).join("/");

// The mean and half the width of its 95 % interval, which is NaN for one value.
function interval(values) {
    const t = [NaN, 12.71, 4.3, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.2, 2.18, 2.16, 2.14, 2.13, 2.12, 2.11, 2.1, 2.09];
    const n = values.length;
    const mean = values.reduce((a, b) => a + b, 0) / n;
    const variance = values.reduce((a, b) => a + (b - mean) ** 2, 0) / (n - 1);
    const quantile = n <= 20 ? t[n - 1] : 1.96 + 2.5 / (n - 1);
    return { n, mean, half: quantile * Math.sqrt(variance / n) };
}

// ---- The data ------------------------------------------------------------------------------------

function parse(text) {
    try {
        return JSON.parse(text);
    } catch {
        return null;
    }
}

// A run that nobody works on waits for its turn, or was stopped.
function stateOf(run, info, sweepState) {
    if (run.json && !info) return "unreadable";
    if (!info) return run.ended ? "failed" : "waiting";
    if (info.status !== "running") return info.status;
    if (run.live && !run.ended) return "running";
    return run.steps && !run.ended && sweepState === "running" ? "waiting" : "stopped";
}

function readRun(run, sweepState) {
    const [env, name, folder] = run.directory.split("/");
    const info = parse(run.json);
    const points = [];
    for (let i = 0; i < run.points.length; i += COLUMNS.length) {
        const p = {};
        COLUMNS.forEach((column, k) => (p[column] = run.points[i + k] ?? NaN));
        if (!points.length || p.step > points.at(-1).step) points.push(p);
    }
    const state = stateOf(run, info, sweepState);
    const step = Math.max(points.at(-1)?.step ?? 0, info?.steps ?? 0);
    return {
        directory: run.directory, family: `${env}/${name}`, env, name, seed: folder.replace("seed-", ""), info, state, points,
        step, total: Math.max(run.steps || 0, step), scores: run.scores ?? [], seconds: info?.seconds ?? 0,
        message: info?.message || run.message || "",
    };
}

function colour(index, count, shade) {
    const hues = [255, 50, 155, 310, 20, 200, 100, 345, 280, 130];
    const light = (dark.matches ? 0.74 : 0.57) + 0.2 * (shade - 0.5) * (count > hues.length ? 2 : 0);
    return `oklch(${light.toFixed(3)} ${dark.matches ? 0.14 : 0.165} ${hues[index % hues.length]})`;
}

// Few families have a colour each; of many, those of one method share a hue.
function colourFamilies(families) {
    const methods = [...new Set(families.map((f) => f.method))];
    const many = families.length > 10;
    families.forEach((f, i) => {
        const own = families.filter((o) => o.method === f.method);
        f.colour = many
            ? colour(methods.indexOf(f.method), 99, own.length > 1 ? own.indexOf(f) / (own.length - 1) : 0.5)
            : colour(i, 1, 0.5);
    });
}

function readSweep(text) {
    const data = parse(text);
    if (!data) return null;
    const runs = data.runs.filter(Boolean).map((run) => readRun(run, data.state));
    const envs = new Set(runs.map((r) => r.env));
    const families = [...new Set(runs.map((r) => r.family))].sort(byName).map((id) => {
        const own = runs.filter((r) => r.family === id).sort((a, b) => byName(a.seed, b.seed));
        return {
            id, runs: own, label: envs.size > 1 ? id : own[0].name, method: own[0].name.split("@")[0],
            about: own.map((r) => r.info).find((info) => info?.config),
        };
    });
    const total = Math.max(...runs.map((r) => r.total), 1);
    for (const r of runs) {
        r.total ||= total;
        r.share = r.state === "done" || r.state === "diverged" ? 1 : Math.min(1, r.step / r.total);
    }
    colourFamilies(families);
    return { ...data, runs, families };
}

// ---- Above everything ----------------------------------------------------------------------------

function showHeader() {
    const s = sweep;
    const count = (state) => s.runs.filter((r) => r.state === state).length;
    const share = s.runs.reduce((sum, r) => sum + r.share, 0) / Math.max(1, s.runs.length);
    const words = { running: "running", done: "finished", stopped: "stopped" };
    const problems = s.runs.filter(FILTERS.Problems).length;
    const facts = [[`${count("done")} of ${s.runs.length}`, "runs finished"]];
    if (s.state === "running") {
        facts.push([count("running"), "running"], [s.eta >= 0 ? duration(s.eta) : "–", "left"]);
    }
    facts.push([`${(100 * share).toFixed(share < 1 ? 1 : 0)} %`, "of all steps"], [duration(s.now - s.started), "since the start"]);
    if (problems) facts.push([problems, problems === 1 ? "needs a look" : "need a look"]);
    document.title = `${s.state === "running" ? `${Math.floor(100 * share)} % ` : ""}${s.title}`;
    $("title").textContent = s.title;
    $("state").textContent = words[s.state] ?? s.state;
    $("state").className = `chip ${s.state}`;
    fill("summary", ...facts.map(([value, name]) => el("div", {}, el("b", {}, String(value)), el("span", {}, name))));
    fill("bar", ...STATES.map((state) => {
        const width = s.runs.filter((r) => r.state === state).reduce((sum, r) => sum + r.share, 0);
        return el("i", { class: state, style: `width:${(100 * width) / Math.max(1, s.runs.length)}%` });
    }));
    $("bar").setAttribute("aria-label", `${Math.round(100 * share)} % of all steps are done`);
}

function showNews() {
    const silence = Date.now() / 1000 - sweep.now;
    const stale = sweep.state === "running" && silence > 30 + 3 * sweep.every;
    $("news").className = stale ? "quiet stale" : "quiet";
    $("news").textContent = sweep.state !== "running"
        ? `Started ${clock(sweep.started)}, ended ${clock(sweep.now)}.`
        : stale
          ? `No news for ${duration(silence)}: the driver may have been killed. Go on with --resume.`
          : `Updated ${clock(sweep.now)}; looks for news every ${Math.round(sweep.every)} s.`;
}

// ---- Learning curves -----------------------------------------------------------------------------

// Return per episode over a window of the run: reward gained by episodes ended in it.
function returns(p, run) {
    const window = run.total / 10;
    const before = run.points.findLast((q) => q.step <= p.step - window) ?? { reward: 0, episodes: 0 };
    return [p.step, p.episodes > before.episodes ? (p.reward - before.reward) / (p.episodes - before.episodes) : NaN];
}

// The metric of one run at the steps of the grid: linear between its points, null outside them.
function onGrid(run, metric, grid) {
    const curve = run.points.map((p) => metric.of(p, run)).filter(([, y]) => Number.isFinite(y) && (!metric.log || y > 0));
    let i = 0;
    return grid.map((x) => {
        while (i + 1 < curve.length && curve[i + 1][0] < x) i++;
        if (!curve.length || x < curve[0][0] || x > curve.at(-1)[0]) return null;
        const [x0, y0] = curve[i], [x1, y1] = curve[Math.min(i + 1, curve.length - 1)];
        const t = x1 > x0 ? Math.min(1, (x - x0) / (x1 - x0)) : 0;
        return metric.log ? y0 ** (1 - t) * y1 ** t : y0 + t * (y1 - y0);
    });
}

function summarise(family, metric, grid) {
    const curves = family.runs.filter((r) => r.points.length > 1).map((r) => onGrid(r, metric, grid));
    const band = { curves, mean: [], low: [], high: [] };
    grid.forEach((_, i) => {
        const values = curves.map((c) => c[i]).filter((y) => y !== null).map((y) => (metric.log ? Math.log(y) : y));
        const { mean, half } = interval(values);
        const back = (y) => (metric.log ? Math.exp(y) : y);
        band.mean.push(values.length ? back(mean) : null);
        band.low.push(values.length > 1 ? back(mean - half) : null);
        band.high.push(values.length > 1 ? back(mean + half) : null);
    });
    return band;
}

function translucent(colour, alpha) {
    return colour.replace(")", ` / ${alpha})`);
}

function axis(style) {
    return {
        stroke: style.getPropertyValue("--soft"), font: "12px system-ui, sans-serif",
        grid: { stroke: style.getPropertyValue("--line"), width: 1 }, ticks: { show: false },
    };
}

function buildChart(series, bands, data, metric) {
    const style = getComputedStyle(document.documentElement);
    const width = $("chart").clientWidth;
    const options = {
        width, height: width < 560 ? 260 : 340, series: [{}, ...series], bands, legend: { show: false },
        padding: [12, 12, 0, 0],
        scales: { x: { time: false }, y: metric.log ? { distr: 3 } : {} },
        axes: [
            { ...axis(style), size: 34, values: (_, ticks) => ticks.map((x) => (x >= 1000 ? `${+(x / 1000).toPrecision(3)}k` : x)) },
            { ...axis(style), size: 58, values: (_, ticks) => ticks.map((y) => (y === null ? "" : number(y))) },
        ],
        cursor: { y: false, points: { size: 7 }, drag: { x: true, y: false } },
        hooks: { setCursor: [(u) => showValues(u.cursor.idx)] },
    };
    $("chart").replaceChildren();
    return new uPlot(options, data, $("chart"));
}

function showCurves() {
    const metric = METRICS[view.metric];
    const started = sweep.families.filter((f) => f.runs.some((r) => r.points.length > 1));
    $("curves-section").hidden = !started.length;
    fill("metrics", ...METRICS.map((m, i) => el("button", {
        "aria-pressed": String(i === view.metric), onclick: () => choose({ metric: i }),
    }, m.name)));
    if (!started.length || typeof uPlot === "undefined") {
        $("chart").textContent = "This build has no chart library: run third_party/setup and build again.";
        return;
    }
    if (!started.some((f) => f.id === view.only)) view.only = "";
    const shown = started.filter((f) => !view.only || f.id === view.only);
    const last = Math.max(...started.flatMap((f) => f.runs.map((r) => r.step)));
    const grid = Array.from({ length: 161 }, (_, i) => (last * i) / 160);
    const series = [], bands = [], data = [grid];
    for (const f of shown) {
        const band = summarise(f, metric, grid);
        const hidden = { stroke: "transparent", width: 0, points: { show: false } };
        f.mean = band.mean;
        if (view.only) {
            for (const curve of band.curves.slice(0, 60)) {
                data.push(curve);
                series.push({ stroke: translucent(f.colour, 0.35), width: 1, points: { show: false } });
            }
        }
        data.push(band.high, band.low, band.mean);
        series.push(hidden, hidden, { stroke: f.colour, width: 2.2, points: { show: false } });
        bands.push({ series: [data.length - 3, data.length - 2], fill: translucent(f.colour, 0.16) });
    }
    chart?.destroy();
    chart = buildChart(series, bands, data, metric);
    fill("legend", ...started.map((f) => el("button", {
        class: shown.includes(f) ? "" : "off", "aria-pressed": String(view.only === f.id), "data-family": f.id,
        onclick: () => choose({ only: view.only === f.id ? "" : f.id }),
    }, el("i", { class: "key", style: `background:${f.colour}` }), f.label, el("em", {}, ""))));
    showValues(null);
    $("curve-note").textContent = `${metric.note} Mean over the seeds that have got so far, band: its 95 % interval. ` +
        (view.only ? "Click the method again to see all." : started.length > 1 ? "Click a method to see its seeds." : "");
}

// Writes the values below the cursor, or else the last ones, beside the names.
function showValues(index) {
    for (const button of $("legend").children) {
        const family = sweep.families.find((f) => f.id === button.dataset.family);
        const known = (family.mean ?? []).filter((y) => y !== null);
        const value = Number.isInteger(index) ? family.mean?.[index] : known.at(-1);
        button.querySelector("em").textContent = button.className === "off" ? "" : number(value ?? NaN);
    }
}

// ---- Returns by method ---------------------------------------------------------------------------

const SCORES = [
    ["Reward collected", (r) => r.points.at(-1)?.reward],
    ["Final return", (r) => r.scores[0]],
    ["Success", (r) => r.scores[1]],
    ["Zero-shot return", (r) => r.scores[2]],
];

// A dot at the mean with a line over the interval, all methods on one scale.
function whisker(score, low, high, colour) {
    const space = "http://www.w3.org/2000/svg", width = 130;
    const svg = document.createElementNS(space, "svg");
    const at = (y) => (high > low ? 4 + ((width - 8) * (y - low)) / (high - low) : width / 2);
    const add = (tag, attributes) => {
        const node = svg.appendChild(document.createElementNS(space, tag));
        for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    };
    svg.setAttribute("width", width);
    svg.setAttribute("height", 8);
    add("line", { x1: 0, x2: width, y1: 4, y2: 4, stroke: "var(--line)" });
    if (Number.isFinite(score.half)) {
        add("line", { x1: at(score.mean - score.half), x2: at(score.mean + score.half), y1: 4, y2: 4, stroke: colour, "stroke-width": 3, "stroke-linecap": "round", opacity: 0.45 });
    }
    add("circle", { cx: at(score.mean), cy: 4, r: 4, fill: colour });
    return svg;
}

function scoreCell(score, range, colour) {
    if (!score.n) return el("td", { class: "number" }, "–");
    const text = Number.isFinite(score.half) ? `[${number(score.mean - score.half)}, ${number(score.mean + score.half)}]` : "";
    return el("td", { class: "number" }, el("b", { style: "font-weight:560" }, number(score.mean)), el("small", {}, text), whisker(score, ...range, colour));
}

function showResults() {
    const rows = sweep.families.map((f) => {
        const done = f.runs.filter((r) => r.state === "done");
        return { f, done, scores: SCORES.map(([, of]) => interval(done.map(of).filter(Number.isFinite))) };
    });
    const ranges = SCORES.map((_, k) => {
        const ends = rows.map((r) => r.scores[k]).filter((s) => s.n).flatMap((s) => [s.mean - (s.half || 0), s.mean + (s.half || 0)]);
        return [Math.min(...ends), Math.max(...ends)];
    });
    $("results-section").hidden = !rows.some((r) => r.done.length);
    fill("results", el("table", {},
        el("thead", {}, el("tr", {}, el("th", {}, "Method"), el("th", { class: "number" }, "Seeds"), ...SCORES.map(([name]) => el("th", { class: "number" }, name)))),
        el("tbody", {}, ...rows.map(({ f, done, scores }) => el("tr", {},
            el("td", { class: "name" }, el("i", { class: "key", style: `background:${f.colour}` }), f.label),
            el("td", { class: "number" }, `${done.length}`, el("small", {}, `of ${f.runs.length}`)),
            ...scores.map((s, k) => scoreCell(s, ranges[k], f.colour)))))));
}

// ---- Runs ----------------------------------------------------------------------------------------

function describe(r) {
    const parts = [`${r.name} seed ${r.seed}`, r.state, `${Math.floor(100 * r.share)} %`];
    if (r.seconds) parts.push(duration(r.seconds));
    if (r.message) parts.push(r.message);
    return parts.join(" · ");
}

function square(r, f) {
    const full = Math.round(100 * r.share);
    const paint = !full && r.state === "waiting" ? "" : `background:linear-gradient(0deg, ${f.colour} ${full}%, ${translucent(f.colour, 0.18)} ${full}%)`;
    const tell = () => ($("about-run").textContent = describe(r));
    return el("a", { href: link(r.directory) + "/", class: r.state, style: paint, "aria-label": describe(r), onmouseenter: tell, onfocus: tell });
}

function runRow(r, f) {
    const p = r.points.at(-1);
    const tone = { failed: "bad", unreadable: "bad", diverged: "warn", stopped: "warn" }[r.state] ?? "";
    const rate = r.state === "running" && r.info?.steps > 0 ? r.seconds / r.info.steps : NaN;
    return el("tr", {},
        el("td", { class: "name" }, el("i", { class: "key", style: `background:${f.colour}` }), el("a", { href: link(r.directory) + "/" }, `${f.label} seed ${r.seed}`)),
        el("td", { class: tone }, r.state),
        el("td", {}, el("div", { class: "meter" }, el("i", { style: `width:${100 * r.share}%;background:${f.colour}` }))),
        el("td", { class: "number" }, number(r.step)),
        el("td", { class: "number" }, p ? number(returns(p, r)[1]) : "–"),
        el("td", { class: "number" }, p ? number(p.loss) : "–"),
        el("td", { class: "number" }, r.state === "running" ? (rate > 0 ? duration(rate * (r.total - r.step)) + " left" : "–") : r.seconds ? duration(r.seconds) : "–"),
        el("td", { class: "message" }, r.message));
}

function showRuns() {
    const of = new Map(sweep.families.flatMap((f) => f.runs.map((r) => [r, f])));
    const counts = Object.fromEntries(Object.entries(FILTERS).map(([name, test]) => [name, sweep.runs.filter(test).length]));
    const filter = counts[view.filter] ? view.filter : counts.Running ? "Running" : counts.Problems ? "Problems" : "All";
    const chosen = [...of].filter(([r]) => FILTERS[filter](r));
    fill("filters", ...Object.entries(counts).filter(([, n]) => n).map(([name, n]) => el("button", {
        "aria-pressed": String(name === filter), onclick: () => choose({ filter: name, rows: 25 }),
    }, `${name} ${n}`)));
    fill("map", ...sweep.families.map((f) => el("div", { class: "family" },
        el("span", { title: f.label }, f.label), el("div", { class: "squares" }, ...f.runs.map((r) => square(r, f))))));
    const names = ["Run", "State", "Progress", "Step", "Return", "Loss", "Time", ""];
    fill("runs", el("table", {},
        el("thead", {}, el("tr", {}, ...names.map((name, i) => el("th", { class: i > 2 && i < 7 ? "number" : "" }, name)))),
        el("tbody", {}, ...chosen.slice(0, view.rows).map(([r, f]) => runRow(r, f)))),
    chosen.length > view.rows ? el("button", { onclick: () => choose({ rows: view.rows + 200 }) }, `Show more (${chosen.length - view.rows} hidden)`) : null);
}

// ---- Configuration, figures ----------------------------------------------------------------------

const text = (value) => (value === undefined ? "" : typeof value === "string" ? value : JSON.stringify(value));

function showConfig() {
    const families = sweep.families.filter((f) => f.about);
    $("config-section").hidden = !families.length;
    if (!families.length) return;
    const keys = [...new Set(families.flatMap((f) => Object.keys(f.about.config)))].filter((k) => k !== "seed" && k !== "method");
    const varies = keys.filter((k) => new Set(families.map((f) => text(f.about.config[k]))).size > 1);
    const same = keys.filter((k) => !varies.includes(k));
    const matching = same.filter((k) => `${k} ${text(families[0].about.config[k])}`.includes(view.search));
    const list = () => matching.map((k) => el("div", {}, el("dt", {}, k), el("dd", {}, el("code", {}, text(families[0].about.config[k])))));
    const search = el("input", { type: "search", placeholder: "Find a setting", value: view.search, "aria-label": "Find a setting" });
    search.oninput = () => { choose({ search: search.value }, showConfig); $("config").querySelector("input").focus(); };
    const details = el("details", view.open ? { open: "" } : {}, el("summary", {}, `${same.length} settings are the same in all runs`), search, el("dl", {}, ...list()));
    details.ontoggle = () => { view.open = details.open; };
    const table = el("div", { class: "scroll" }, el("table", {},
        el("thead", {}, el("tr", {}, el("th", {}, "Method"), ...varies.map((k) => el("th", {}, k)))),
        el("tbody", {}, ...families.map((f) => el("tr", {},
            el("td", { class: "name" }, el("i", { class: "key", style: `background:${f.colour}` }), f.label),
            ...varies.map((k) => el("td", {}, el("code", {}, text(f.about.config[k])))))))));
    fill("config", varies.length ? table : null, details);
    const about = families[0].about;
    $("about").textContent = `FGSF ${about.fgsf_version}, ggml ${about.ggml_version}, ${about.cpu}. This file loads nothing from anywhere.`;
}

function showFigures() {
    $("figures-section").hidden = !sweep.figures.length;
    fill("figures", ...sweep.figures.map((f) => el("a", { href: link(`export/figures/${f.name}`) },
        el("img", { src: `data:image/png;base64,${f.png}`, alt: f.name, loading: "lazy" }), f.name.replace(/\.png$/, "").replaceAll("_", " "))));
}

// ---- Choices and news ----------------------------------------------------------------------------

const PIECES = [showHeader, showNews, showCurves, showResults, showFigures, showRuns, showConfig];

function showAll() {
    for (const piece of PIECES) {
        if (piece !== showConfig || document.activeElement?.type !== "search") piece();
    }
}

// What the reader chose outlives a reload of the page, where the browser allows it.
function choose(changes, ...pieces) {
    Object.assign(view, changes);
    try {
        sessionStorage.setItem(location.pathname, JSON.stringify(view));
    } catch { /* a browser without storage forgets */ }
    for (const piece of pieces.length ? pieces : [showCurves, showRuns]) piece();
}

function look() {
    showNews();
    if (sweep.state !== "running") return;
    const frame = el("iframe", { hidden: "", title: "news", src: `${location.href.split(/[?#]/)[0]}?${Date.now()}` });
    const hear = (event) => {
        if (event.source !== frame.contentWindow) return;
        const news = readSweep(event.data);
        if (news && news.now !== sweep.now) {
            const top = scrollY;
            sweep = news;
            heard = Date.now();
            showAll();
            scrollTo({ top, behavior: "instant" });
        }
    };
    addEventListener("message", hear);
    document.body.append(frame);
    setTimeout(() => {
        removeEventListener("message", hear);
        frame.remove();
        const wait = () => (document.hidden ? setTimeout(wait, 500) : look());
        wait();
    }, 1000 * Math.max(2, sweep.every));
}

Object.assign(view, parse((() => { try { return sessionStorage.getItem(location.pathname); } catch { return ""; } })()) ?? {});
sweep = readSweep($("data").textContent);
if (sweep) {
    showAll();
    dark.addEventListener("change", () => { colourFamilies(sweep.families); showAll(); });
    addEventListener("resize", () => chart && showCurves());
    if (sweep.state === "running") setTimeout(look, 1000 * Math.min(3, sweep.every));
} else {
    $("title").textContent = "The data of this page cannot be read.";
}
