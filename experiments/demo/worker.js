// One side of the demo: trains in slices, and answers at once when the reward changes.
"use strict";

const SLICE = 40; // ms of training between looks at the messages
let lib, cells = 0, features = 0, weights = [], running = false, begun = false, seen = 0, spent = 0;

function scratch(bytes) {
    scratch.size ??= 0;
    if (bytes > scratch.size) {
        if (scratch.at) lib._free(scratch.at);
        scratch.at = lib._malloc(bytes);
        scratch.size = bytes;
    }
    return scratch.at;
}

function check(status) {
    if (status !== 0) throw new Error(lib.ccall("demo_error", "string"));
}

function start({ settings, map, numCells, numFeatures, numTasks }) {
    lib.FS.writeFile("/map", map);
    running = begun = false;
    check(lib.ccall("demo_start", "number", ["string"], [`env.map=/map\n${settings}`]));
    cells = numCells;
    features = numFeatures;
    seen = spent = 0;
    const at = scratch(8 * features);
    const tasks = Array.from({ length: numTasks }, (_, i) => {
        lib._demo_weights(i, at);
        return [...lib.HEAPF64.subarray(at / 8, at / 8 + features)];
    });
    postMessage({ tasks });
}

function progress() {
    const at = scratch(64);
    lib._demo_progress(at);
    const [step, steps, task, reward, loss] = lib.HEAPF64.subarray(at / 8, at / 8 + 5);
    return { step, steps, task, reward, loss, speed: (1000 * step) / spent };
}

// The arrows and values under the weights, and the greedy walk.
function look() {
    const at = scratch(8 * features + Math.max(16 * cells, 8 * (features + 400)));
    const out = at + 8 * features;
    lib.HEAPF64.set(weights, at / 8);
    check(lib._demo_view(at, out));
    const q = lib.HEAPF32.slice(out / 4, out / 4 + 4 * cells);
    lib.HEAPF64.set(weights, at / 8);
    const places = lib._demo_walk(at, out);
    const walk = lib.HEAPF64.slice(out / 8, out / 8 + features + 2 * places);
    postMessage({ q, collected: [...walk.subarray(0, features)], walk: walk.subarray(features) });
}

function work() {
    if (!running) return;
    const begin = performance.now();
    let status = 0;
    while (status === 0 && performance.now() - begin < SLICE) status = lib._demo_train(20);
    spent += performance.now() - begin;
    begun = true;
    if (status > 0) return fail(new Error(lib.ccall("demo_error", "string")));
    const done = status < 0;
    postMessage({ progress: progress(), done });
    if (done || performance.now() - seen > 250) {
        look();
        seen = performance.now();
    }
    running = !done;
    setTimeout(work, 0);
}

function fail(error) {
    running = false;
    postMessage({ error: error.message });
}

onmessage = async ({ data }) => {
    try {
        if (data.wasm) {
            lib = await FGSF({ wasmBinary: data.wasm });
            postMessage({ ready: true, gradients: lib.ccall("demo_gradients", "string").split("|") });
        }
        if (data.start) start(data.start);
        if (data.weights) {
            weights = data.weights;
            if (begun) look(); // before the first step there is no policy yet
        }
        if (data.run !== undefined && data.run !== running) {
            running = data.run;
            work();
        }
    } catch (error) {
        fail(error);
    }
};
