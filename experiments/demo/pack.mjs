// pack.mjs SOURCES WASM UPLOT OUT: puts everything into one HTML file. The worker, with the WebAssembly
// inside, is a text in the page, so that it also starts from a file that was opened by a double click.
import { readFileSync, writeFileSync } from "node:fs";
import { gzipSync } from "node:zlib";

const [sources, wasm, uplot, out] = process.argv.slice(2);
const read = (folder, name) => readFileSync(`${folder}/${name}`, "utf8");
const binary = gzipSync(readFileSync(`${wasm}/demo.wasm`), { level: 9 }).toString("base64");
const pieces = {
    "demo.css": read(sources, "demo.css"), "demo.js": read(sources, "demo.js"),
    "uPlot.min.css": read(uplot, "uPlot.min.css"), "uPlot.iife.min.js": read(uplot, "uPlot.iife.min.js"),
    "worker.js": `${read(wasm, "demo.js")}\n${read(sources, "worker.js")}`, "demo.wasm": binary,
};
const page = read(sources, "demo.html").replace(/@([\w.]+)@/g, (all, name) => pieces[name] ?? all);
if (/<\/script/i.test(pieces["worker.js"])) throw new Error("the worker would end its own script element");
writeFileSync(out, page);
