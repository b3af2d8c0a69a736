// page.mjs STEP INDEX_HTML: looks at a live page in Chromium and fails, with a reason, when it is wrong.
import { pathToFileURL } from "node:url";
import { launch } from "./chromium.mjs";

const [step, file, shots] = process.argv.slice(2);
const url = pathToFileURL(file).href;
const need = (truth, what) => { if (!truth) throw new Error(what); };

const steps = {
    // A sweep that goes on: the numbers change without a reload, and what the reader chose stays.
    async running(browser) {
        const page = await browser.open(url);
        await page.until("sweep.families.some((f) => f.runs.some((r) => r.points.length > 3)) && chart");
        need(await page.run("sweep.state") === "running", "the sweep is not running");
        await page.run("window.sameDocument = true; choose({ metric: 2 }); scrollTo(0, 120)");
        const before = await page.run("[sweep.now, sweep.runs.reduce((a, r) => a + r.step, 0)]");
        await page.until(`sweep.now > ${before[0]} && sweep.runs.reduce((a, r) => a + r.step, 0) > ${before[1]}`, 30);
        need(await page.run("window.sameDocument === true && view.metric === 2 && scrollY === 120"), "the update lost the reader's place");
        need(await page.run("document.querySelector('#metrics [aria-pressed=true]').textContent") === "Loss", "the choice is not shown");
        need(/^\d+ (s|min)$|^–$/.test(await page.run("[...document.querySelectorAll('#summary div')].find((d) => d.textContent.endsWith('left')).firstChild.textContent")), "no time left");
        return page;
    },
    // A finished sweep: returns with intervals, links to run directories, what differs, the figures.
    async done(browser) {
        const page = await browser.open(url);
        await page.until("chart");
        need(await page.run("sweep.state === 'done' && sweep.runs.every((r) => r.state === 'done')"), "not all runs are done");
        need(await page.run("[...document.querySelectorAll('#results tbody tr')].every((row) => /\\[.*, .*\\]/.test(row.textContent))"), "a method has no interval");
        need(await page.run("document.querySelector('.squares a').getAttribute('href')") === "four_rooms/fg-sfrql/seed-0/", "no link to the run directory");
        need((await page.run("[...document.querySelectorAll('#config th')].map((h) => h.textContent)")).includes("gradient.kind"), "gradient.kind does not differ");
        need(await page.run("sweep.figures.length === document.querySelectorAll('#figures img').length"), "figures are missing");
        need(await page.run("document.documentElement.scrollWidth <= innerWidth"), "the page is wider than its window");
        return page;
    },
    // Names, messages and settings that would be markup stay text.
    async hostile(browser) {
        const page = await browser.open(url);
        await page.until("sweep.runs.length === 3");
        need(await page.run("!window.pwned && !document.querySelector('main script, main iframe, #map img, #runs img, #config img')"), "markup got through");
        need((await page.run("document.body.innerText")).includes("<img src=x onerror=pwned=1>"), "the hostile text is not shown as text");
        need(await page.run("sweep.runs.filter((r) => r.state === 'unreadable').length") === 1, "the broken run.json is not told");
        return page;
    },
    async many(browser) {
        const page = await browser.open(url);
        await page.until("chart");
        const took = await page.run("(() => { const t = performance.now(); sweep = readSweep(document.getElementById('data').textContent); showAll(); return performance.now() - t; })()");
        need(await page.run("sweep.runs.length === 1001 && sweep.runs.every((r) => r.state === 'done')"), "runs are missing");
        need(await page.run("document.querySelectorAll('.squares a').length === 1001 && document.querySelectorAll('#runs tbody tr').length < 100"), "not readable at once");
        console.log(`1001 runs drawn in ${took.toFixed(0)} ms`);
        need(took < 2000, "drawing takes too long");
        return page;
    },
};

const browser = await launch(process.env.FGSF_CHROMIUM ?? "chromium");
try {
    const page = await steps[step](browser);
    need(page.errors.length === 0, `console: ${page.errors.join("; ")}`);
    if (shots) await page.shot(shots);
} catch (error) {
    console.log(`page, ${step}: ${error.message}`);
    process.exitCode = 1;
} finally {
    await browser.close();
}
