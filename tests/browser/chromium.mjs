// Drives Debian's Chromium through its debugging pipe; no package is needed.
//
//     const browser = await launch();
//     const page = await browser.open("file:///tmp/index.html", { width: 1200, height: 900, dark: true });
//     await page.until("document.title !== ''");
//     await page.shot("page.png");
//     page.errors;            // what the console and uncaught exceptions said
//     await browser.close();
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--hide-scrollbars", "--remote-debugging-pipe"];

export async function launch(program = "chromium") {
    const profile = mkdtempSync(join(tmpdir(), "fgsf-chromium-"));
    const child = spawn(program, [...FLAGS, `--user-data-dir=${profile}`], { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
    const waiting = new Map(), listeners = new Map();
    let next = 1, rest = "";
    child.stdio[4].on("data", (bytes) => {
        const messages = (rest + bytes).split("\0");
        rest = messages.pop();
        for (const message of messages.map((m) => JSON.parse(m))) {
            const call = waiting.get(message.id);
            waiting.delete(message.id);
            if (call) message.error ? call.reject(new Error(message.error.message)) : call.resolve(message.result);
            else listeners.get(message.sessionId)?.(message);
        }
    });
    const send = (method, params = {}, sessionId) => new Promise((resolve, reject) => {
        waiting.set(next, { resolve, reject });
        child.stdio[3].write(`${JSON.stringify({ id: next++, method, params, sessionId })}\0`);
    });
    return {
        open: (url, options) => openPage(send, listeners, url, options),
        close: async () => {
            const ended = new Promise((resolve) => child.once("exit", resolve));
            await send("Browser.close").catch(() => child.kill());
            await ended;
            rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
        },
    };
}

async function openPage(send, listeners, url, { width = 1200, height = 900, dark = false, phone = false } = {}) {
    const { targetId } = await send("Target.createTarget", { url: "about:blank" });
    const { sessionId } = await send("Target.attachToTarget", { targetId, flatten: true });
    const call = (method, params) => send(method, params, sessionId);
    const errors = [];
    listeners.set(sessionId, ({ method, params }) => {
        if (method === "Runtime.exceptionThrown") errors.push(params.exceptionDetails.exception?.description ?? params.exceptionDetails.text);
        if (method === "Runtime.consoleAPICalled" && ["error", "warning"].includes(params.type)) errors.push(params.args.map((a) => a.value ?? a.description).join(" "));
        if (method === "Log.entryAdded" && ["error", "warning"].includes(params.entry.level)) errors.push(params.entry.text);
    });
    for (const domain of ["Runtime", "Log", "Page"]) await call(`${domain}.enable`);
    await call("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: phone ? 2 : 1, mobile: phone });
    await call("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: dark ? "dark" : "light" }] });
    await call("Page.navigate", { url });
    const page = {
        errors, call,
        async run(expression) {
            const { result, exceptionDetails } = await call("Runtime.evaluate", { expression, awaitPromise: true, returnByValue: true });
            if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
            return result.value;
        },
        async until(expression, seconds = 20) {
            for (const end = Date.now() + 1000 * seconds; Date.now() < end;) {
                const value = await page.run(expression).catch(() => false);
                if (value) return value;
                await new Promise((resolve) => setTimeout(resolve, 100));
            }
            throw new Error(`not within ${seconds} s: ${expression}; console: ${errors.join("; ")}`);
        },
        async shot(path, whole = true) {
            const { data } = await call("Page.captureScreenshot", { format: "png", captureBeyondViewport: whole });
            writeFileSync(path, Buffer.from(data, "base64"));
        },
        close: () => send("Target.closeTarget", { targetId }),
    };
    return page;
}
