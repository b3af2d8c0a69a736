// The page around two workers: maps, sliders, curves. All learning happens in the library.
"use strict";

const $ = (id) => document.getElementById(id);
const MAP = ["1...X...G", "....X....", ".........", "....X..2.", "XX.XXX.XX", "....X....", "..3......", "....X...1", "_...X2..3"];
const SETTINGS = {
    "env.num_tasks": 3, "train.steps_per_task": 8000, "net.hidden": "64,64", "train.batch_size": 64,
    "train.buffer_capacity": 40000, "train.log_every": 20, "diag.residual_batch": 0,
};
const COLOURS = ["#3b9c5a", "#c03b8b", "#d9a514", "#7657c9"]; // objects of types 1, 2, 3; the goal
const ARROWS = [[-1, 0], [0, -1], [1, 0], [0, 1]];            // left, up, right, down
const TILES = [[".", "Floor"], ["X", "Wall"], ["1", "Object 1"], ["2", "Object 2"], ["3", "Object 3"], ["G", "Goal"], ["_", "Start"]];
const FEATURES = 4;
const dark = matchMedia("(prefers-color-scheme: dark)");
const state = { map: MAP.map((row) => [...row]), weights: [1, 0, 0, 1], followed: true, tile: "", running: true, tasks: [] };

function el(tag, attributes = {}, ...children) {
    const node = document.createElement(tag);
    for (const [key, value] of Object.entries(attributes)) {
        if (key.startsWith("on")) node[key] = value;
        else if (key === "style") node.style.cssText = value;
        else node.setAttribute(key, value);
    }
    node.append(...children);
    return node;
}

const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name);
const number = (x) => (Number.isFinite(x) ? String(+x.toPrecision(3)) : "–");

// ---- The map -------------------------------------------------------------------------------------

// Free cells are numbered row by row, as the library does.
function cellNumbers(map) {
    let next = 0;
    return map.map((row) => row.map((tile) => (tile === "X" ? -1 : next++)));
}

function symbol(context, tile, x, y, size) {
    context.fillStyle = tile === "G" ? COLOURS[3] : COLOURS[tile - 1];
    context.beginPath();
    if (tile === "G") {
        context.moveTo(x, y - size), context.lineTo(x + size, y), context.lineTo(x, y + size), context.lineTo(x - size, y);
    } else {
        context.arc(x, y, size * 0.8, 0, 7);
    }
    context.fill();
}

function arrow(context, action, x, y, size, colour) {
    const [dx, dy] = ARROWS[action];
    context.strokeStyle = colour;
    context.beginPath();
    context.moveTo(x - dx * size, y - dy * size), context.lineTo(x + dx * size, y + dy * size);
    context.moveTo(x + dx * size - (dx + dy) * size * 0.6, y + dy * size - (dy + dx) * size * 0.6);
    context.lineTo(x + dx * size, y + dy * size);
    context.lineTo(x + dx * size - (dx - dy) * size * 0.6, y + dy * size - (dy - dx) * size * 0.6);
    context.stroke();
}

function mixColour(a, b, t) {
    const parts = (c) => [1, 3, 5].map((i) => parseInt(c.slice(i, i + 2), 16));
    const [p, q] = [parts(a), parts(b)];
    return `rgb(${p.map((v, i) => Math.round(v + t * (q[i] - v))).join(" ")})`;
}

function full(colour) { // #abc to #aabbcc
    const c = colour.trim();
    return c.length === 4 ? `#${[...c.slice(1)].map((d) => d + d).join("")}` : c;
}

// Draws what changes rarely, walls, values and arrows, into a picture of its own.
function drawPicture(side, pixels) {
    const { picture, q } = side, map = state.map;
    picture.width = picture.height = pixels;
    const context = picture.getContext("2d"), cell = pixels / map[0].length, numbers = cellNumbers(map);
    const floor = full(css("--floor")), accent = full(css(side.name === "left" ? "--left" : "--right")), ink = full(css("--ink"));
    const best = q ? Array.from({ length: q.length / 4 }, (_, i) => Math.max(...q.subarray(4 * i, 4 * i + 4))) : [];
    const low = Math.min(...best), high = Math.max(...best);
    context.lineWidth = Math.max(1.2, cell * 0.045);
    context.lineCap = context.lineJoin = "round";
    map.forEach((row, r) => row.forEach((tile, c) => {
        const i = numbers[r][c], x = (c + 0.5) * cell, y = (r + 0.5) * cell;
        const value = best.length && i >= 0 && high > low ? (best[i] - low) / (high - low) : 0;
        context.fillStyle = tile === "X" ? css("--wall") : mixColour(floor, accent, 0.62 * value);
        context.fillRect(c * cell, r * cell, cell + 0.5, cell + 0.5);
        if (tile === "X") return;
        if ("123G".includes(tile)) symbol(context, tile, x, y, cell * 0.3);
        else if (q && i >= 0) {
            const own = q.subarray(4 * i, 4 * i + 4);
            arrow(context, own.indexOf(Math.max(...own)), x, y, cell * 0.2, mixColour(floor, ink, 0.62));
        }
        if (tile === "_") {
            context.strokeStyle = ink;
            context.strokeRect(c * cell + cell * 0.12, r * cell + cell * 0.12, cell * 0.76, cell * 0.76);
        }
    }));
    side.stale = false;
}

function drawMap(side, walker) {
    const { canvas } = side, pixels = Math.round(canvas.clientWidth * devicePixelRatio);
    if (canvas.width !== pixels) {
        canvas.width = canvas.height = pixels;
        side.stale = true;
    }
    if (!pixels || !(side.stale || walker)) return; // nothing moves
    if (side.stale) drawPicture(side, pixels);
    const context = canvas.getContext("2d"), cell = pixels / state.map[0].length;
    context.drawImage(side.picture, 0, 0);
    if (walker) {
        context.fillStyle = css("--ink");
        context.beginPath();
        context.arc((walker[1] + 0.5) * cell, (walker[0] + 0.5) * cell, cell * 0.17, 0, 7);
        context.fill();
    }
}

// The dot: a place every 90 ms, smoothly, then from the start again.
function animate(time) {
    for (const side of sides) {
        const places = side.walk ? side.walk.length / 2 : 0;
        if (!places) { drawMap(side, null); continue; }
        const at = (time / 90) % (places + 8), i = Math.min(Math.floor(at), places - 1), next = Math.min(i + 1, places - 1);
        const t = at < places ? at - Math.floor(at) : 0, mix = (k) => side.walk[2 * i + k] * (1 - t) + side.walk[2 * next + k] * t;
        drawMap(side, [mix(0), mix(1)]);
    }
    requestAnimationFrame(animate);
}

// ---- A side --------------------------------------------------------------------------------------

// What a kind needs beside its name: these bootstrap from a target network.
const NEEDS = { bidirectional: { "target.mode": "hard", "target.period": 200 }, convergent: { "target.mode": "hard", "target.period": 200 } };
const DIALED = ["semi", "mix", "full"]; // what the slider goes through

function gradientSettings(side) {
    const kind = DIALED.includes(side.kind) ? (side.eta === 0 ? "semi" : side.eta === 1 ? "full" : "mix") : side.kind;
    return { "gradient.kind": kind, "gradient.eta": side.eta, ...NEEDS[kind] };
}

function makeSide(name, kind) {
    const side = { name, kind, eta: kind === "semi" ? 0 : 1, curve: [[], []], walk: null, q: null, stale: true, picture: el("canvas") };
    const show = () => { slider.value = side.eta; select.value = side.kind; share.textContent = `${Math.round(100 * side.eta)} %`; };
    const slider = el("input", { type: "range", min: 0, max: 1, step: 0.05, "aria-label": `share of the full gradient, ${name} side` });
    const select = el("select", { "aria-label": `gradient of the ${name} side` }), share = el("output");
    slider.oninput = () => {
        side.eta = +slider.value;
        if (DIALED.includes(side.kind)) side.kind = side.eta === 0 ? "semi" : side.eta === 1 ? "full" : "mix";
        show();
    };
    select.onchange = () => {
        side.kind = select.value;
        side.eta = { semi: 0, mix: 0.5 }[side.kind] ?? 1;
        show();
        startAll();
    };
    slider.onchange = startAll;
    side.offer = (kinds) => { select.replaceChildren(...kinds.map((k) => el("option", { value: k }, `${k} gradient`))); show(); };
    side.offer([kind]);
    side.canvas = el("canvas", { class: "map", "aria-label": `map of the ${name} side`, role: "img" });
    side.facts = ["reward collected", "greedy return", "greedy walk"].map((label) => {
        const value = el("b", {}, "–");
        return { value, node: el("div", {}, value, el("span", {}, label)) };
    });
    side.bar = el("i");
    $(name).append(select, el("label", { class: "slide mix" }, el("span", {}, "through the target"), slider, share),
        side.canvas, el("div", { class: "facts" }, ...side.facts.map((f) => f.node)), el("div", { class: "bar" }, side.bar));
    side.canvas.onpointerdown = (event) => { if (state.tile) { side.canvas.setPointerCapture(event.pointerId); paint(side, event); } };
    side.canvas.onpointermove = (event) => { if (state.tile && event.buttons) paint(side, event); };
    side.canvas.onpointerup = () => { if (state.tile) startAll(); };
    return side;
}

function hear(side, data) {
    if (data.gradients) side.offer(data.gradients);
    if (data.ready) { side.ready = true; if (sides.every((s) => s.ready)) startAll(); }
    if (data.error) $("error").textContent = data.error;
    if (data.tasks) { state.tasks = data.tasks; showPresets(); }
    if (data.progress) showProgress(side, data.progress, data.done);
    if (data.q) {
        if (!side.q) performance.mark("shown");
        side.q = data.q;
        side.walk = data.walk;
        side.stale = true;
        const worth = data.collected.reduce((sum, n, i) => sum + n * state.weights[i], 0);
        const steps = data.walk.length / 2 - 1, goal = data.collected[FEATURES - 1] > 0;
        side.judged = { goal, worth, steps };
        side.facts[1].value.textContent = number(worth);
        side.facts[2].value.textContent = goal ? `${steps} steps` : "no goal";
    }
}

function showProgress(side, p, done) {
    side.progress = p;
    side.done = done;
    side.curve[0].push(p.step);
    side.curve[1].push(p.reward);
    side.facts[0].value.textContent = number(p.reward);
    side.bar.style.width = `${(100 * p.step) / p.steps}%`;
    $("speed").textContent = sides.map((s) => `${s.name}: ${Math.round(s.progress?.speed ?? 0).toLocaleString("en")} steps/s`).join(", ");
    const task = Math.min(...sides.map((s) => s.progress?.task ?? 0));
    const all = sides.every((s) => s.done);
    $("task").textContent = all ? "Trained. The weights below still work: nothing is learned for them." : `Learning task ${task + 1} of ${state.tasks.length}.`;
    if (all) { state.running = false; $("play").textContent = "Trained"; $("play").disabled = true; }
    if (state.followed && state.tasks[task] && String(state.tasks[task]) !== String(state.weights)) setWeights(state.tasks[task], true);
    drawChart.due = true;
}

// ---- Rewards -------------------------------------------------------------------------------------

const names = ["Object 1", "Object 2", "Object 3", "Goal"];
const sliders = names.map((name, i) => {
    const output = el("output", {}, "0");
    const range = el("input", { type: "range", min: -2, max: 2, step: 0.1, "aria-label": `weight of ${name}` });
    range.oninput = () => setWeights(state.weights.map((w, k) => (k === i ? +range.value : w)), false);
    $("weights").append(el("label", { class: "slide" }, el("span", {}, el("i", { class: i === 3 ? "dot goal" : "dot", style: `background:${COLOURS[i]}` }), name), range, output));
    return { range, output };
});

// `followed`: the weights are those of the task that is being learned, and change with it.
function setWeights(weights, followed) {
    state.weights = [...weights];
    state.followed = followed;
    sliders.forEach(({ range, output }, i) => { range.value = weights[i]; output.textContent = number(weights[i]); });
    for (const side of sides) side.worker.postMessage({ weights: state.weights });
    showPresets();
}

function showPresets() {
    const same = (w) => String(w) === String(state.weights);
    const button = (label, weights, followed) => el("button", { "aria-pressed": String(followed ? state.followed : !state.followed && same(weights)), onclick: () => setWeights(weights, followed) }, label);
    $("presets").replaceChildren(button("As trained now", state.tasks[0] ?? [1, 0, 0, 1], true),
        ...state.tasks.map((w, i) => button(`Task ${i + 1}`, w, false)),
        button("All three", [1, 1, 1, 1], false), button("Avoid 1", [-1, 1, 1, 1], false));
}

// ---- The editor ----------------------------------------------------------------------------------

function paint(side, event) {
    const box = side.canvas.getBoundingClientRect(), size = state.map.length;
    const row = Math.floor(((event.clientY - box.top) / box.height) * size), col = Math.floor(((event.clientX - box.left) / box.width) * size);
    if (state.map[row]?.[col] === undefined || state.map[row][col] === "_") return; // one start, always
    if (state.tile === "_") state.map.forEach((r) => r.forEach((tile, c) => { if (tile === "_") r[c] = "."; }));
    state.map[row][col] = state.tile;
    for (const s of sides) Object.assign(s, { q: null, walk: null, stale: true });
    event.preventDefault();
}

function showTiles() {
    $("tiles").replaceChildren(...TILES.map(([tile, name]) => el("button", {
        "aria-pressed": String(state.tile === tile),
        onclick: () => { state.tile = state.tile === tile ? "" : tile; document.body.classList.toggle("drawing", Boolean(state.tile)); showTiles(); },
    }, name)), el("button", { onclick: () => { state.map = MAP.map((row) => [...row]); startAll(); } }, "The first map again"));
}

// ---- Curves --------------------------------------------------------------------------------------

let chart;
function drawChart() {
    if (drawChart.due) {
        drawChart.due = false;
        const [a, b] = sides.map((s) => s.curve);
        const data = uPlot.join([[a[0], a[1]], [b[0], b[1]]]);
        if (!chart) {
            const soft = css("--soft"), line = css("--line"), axis = { stroke: soft, grid: { stroke: line, width: 1 }, ticks: { show: false }, font: "12px system-ui, sans-serif" };
            const series = (name) => ({ stroke: css(name), width: 2.2, points: { show: false }, spanGaps: true });
            $("chart").replaceChildren();
            chart = new uPlot({
                width: $("chart").clientWidth, height: 230, legend: { show: false }, padding: [10, 10, 0, 0], cursor: { show: false },
                scales: { x: { time: false } }, series: [{}, series("--left"), series("--right")],
                axes: [{ ...axis, size: 32, values: (_, ticks) => ticks.map((x) => (x >= 1000 ? `${x / 1000}k` : x)) }, { ...axis, size: 46 }],
            }, data, $("chart"));
        } else {
            chart.setData(data);
        }
    }
    setTimeout(drawChart, 200);
}

function redrawChart() {
    chart?.destroy();
    chart = null;
    drawChart.due = sides[0].curve[0].length > 0;
}

// ---- Start ---------------------------------------------------------------------------------------

function startAll() {
    const map = `${state.map.map((row) => row.join("")).join("\n")}\n`;
    const numCells = state.map.flat().filter((tile) => tile !== "X").length;
    $("error").textContent = "";
    $("play").disabled = false;
    $("play").textContent = "Pause";
    state.running = true;
    for (const side of sides) {
        const settings = { ...SETTINGS, seed: $("seed").value || 0, ...gradientSettings(side) };
        Object.assign(side, { curve: [[], []], walk: null, q: null, stale: true, progress: null, done: false, judged: null });
        side.worker.postMessage({ start: {
            settings: Object.entries(settings).map(([k, v]) => `${k}=${v}`).join("\n"), map, numCells,
            numFeatures: FEATURES, numTasks: SETTINGS["env.num_tasks"],
        } });
        side.worker.postMessage({ weights: state.weights });
        side.worker.postMessage({ run: true });
    }
    redrawChart();
}

async function unpack() {
    const packed = await fetch(`data:application/gzip;base64,${$("wasm").textContent}`);
    return new Response(packed.body.pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
}

const sides = [makeSide("left", "semi"), makeSide("right", "full")];
const script = URL.createObjectURL(new Blob([$("worker").textContent], { type: "text/javascript" }));
for (const side of sides) {
    side.worker = new Worker(script);
    side.worker.onmessage = ({ data }) => hear(side, data);
    side.worker.onerror = (event) => { $("error").textContent = `The library did not start: ${event.message}`; };
}
unpack().then((wasm) => sides.forEach((side) => side.worker.postMessage({ wasm })), (error) => { $("error").textContent = error.message; });
$("again").onclick = startAll;
$("seed").onchange = startAll;
$("play").onclick = () => {
    state.running = !state.running;
    $("play").textContent = state.running ? "Pause" : "Go on";
    for (const side of sides) if (!side.done) side.worker.postMessage({ run: state.running });
};
dark.addEventListener("change", () => { sides.forEach((side) => { side.stale = true; }); redrawChart(); });
addEventListener("resize", () => chart?.setSize({ width: $("chart").clientWidth, height: 230 }));
setWeights(state.weights, true);
showTiles();
drawChart();
requestAnimationFrame(animate);
