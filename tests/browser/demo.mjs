// demo.mjs INDEX_HTML [SHOTS]: trains in Chromium, from a file, without a network, and fails with a reason.
import { availableParallelism, loadavg } from "node:os";
import { pathToFileURL } from "node:url";
import { launch } from "./chromium.mjs";

const [file, shots] = process.argv.slice(2);
const need = (truth, what) => { if (!truth) throw new Error(what); };
const busy = () => Math.max(1, loadavg()[0] / availableParallelism()); // what others leave of the machine
const browser = await launch(process.env.FGSF_CHROMIUM ?? "chromium");

// Opens the page and returns it with the time from its first byte until both sides show their values.
async function load(options) {
    const page = await browser.open(pathToFileURL(file).href, options);
    await page.until("sides.every((s) => s.q)", 60);
    return [page, await page.run("Math.max(...performance.getEntriesByName('shown').map((m) => m.startTime))")];
}

try {
    const loads = [];
    for (let i = 0; i < 3; i++) { // the first one also starts the browser
        const [page, time] = await load({ height: 1000 });
        loads.push(Math.round(time));
        await page.close();
    }
    need(Math.min(...loads) < 1000 * busy(), `takes more than a second to load: ${loads} ms`);

    const begun = Date.now();
    const [page] = await load({ height: 1000 });

    // A weight that is dragged turns arrows at once, while nothing is learned for it.
    await page.until("sides.every((s) => s.progress?.step > 2000)", 120);
    const arrows = "sides.map((s) => Array.from({ length: s.q.length / 4 }, (_, i) => { const own = s.q.subarray(4 * i, 4 * i + 4); return own.indexOf(Math.max(...own)); }).join(''))";
    await page.run("document.getElementById('play').click()");
    await new Promise((resolve) => setTimeout(resolve, 300));
    const before = await page.run(arrows), steps = await page.run("sides.map((s) => s.progress.step)");
    const turned = Date.now();
    await page.run("sliders.forEach(({ range }, i) => { range.value = i === 3 ? 2 : -1; range.oninput(); })");
    await page.until(`JSON.stringify(${arrows}) !== ${JSON.stringify(JSON.stringify(before))}`, 5);
    const answered = Date.now() - turned;
    need(String(await page.run("sides.map((s) => s.progress.step)")) === String(steps), "it trained while it was paused");
    await page.run("setWeights(state.tasks[0], true)");
    await page.run("document.getElementById('play').click()");

    await page.until("sides.every((s) => s.done && s.judged)", 400);
    const trained = Date.now() - begun;
    const judged = await page.run("sides.map((s) => s.judged)");
    const rewards = await page.run("sides.map((s) => s.progress.reward)");
    console.log(`shown after ${loads} ms, arrows after ${answered} ms, trained after ${(trained / 1000).toFixed(1)} s; ` +
        `reward ${rewards.join(" and ")}; greedy ${judged.map((j) => `${j.worth}${j.goal ? " with goal" : ""}`).join(" and ")}`);
    need(trained < 60000 * busy(), "training takes more than a minute");
    need(await page.run("document.getElementById('error').textContent") === "", "an error is shown");
    need(judged[judged[1].worth >= judged[0].worth ? 1 : 0].goal, "the better side does not reach the goal");
    if (shots) await page.shot(shots);

    // Every gradient that the library has can be chosen by its name.
    const kinds = await page.run("[...document.querySelectorAll('#left select option')].map((o) => o.value)");
    need(kinds.includes("semi") && kinds.includes("full") && kinds.includes("mix"), `gradients: ${kinds}`);
    for (const kind of kinds) {
        await page.run(`(() => { const select = document.querySelector('#left select'); select.value = '${kind}'; select.onchange(); })()`);
        await page.until("sides[0].progress?.step > 100 || document.getElementById('error').textContent", 60);
        need(await page.run("document.getElementById('error').textContent") === "", `${kind}: ${await page.run("document.getElementById('error').textContent")}`);
    }

    // A map without a goal is refused with the library's own words; a new wall starts again.
    await page.run("state.map[0][8] = '.'; startAll()");
    await page.until("document.getElementById('error').textContent.includes('goal')", 10);
    await page.run("state.map[0][8] = 'G'; state.map[2][0] = 'X'; startAll()");
    await page.until("sides.every((s) => s.q?.length === 4 * state.map.flat().filter((t) => t !== 'X').length)", 20);
    need(page.errors.length === 0, `console: ${page.errors.join("; ")}`);
    await page.close();
    const [phone] = await load({ width: 390, height: 844, phone: true, dark: true });
    need(await phone.run("document.documentElement.scrollWidth <= 390"), "too wide for a phone");
    need(phone.errors.length === 0, `console on the phone: ${phone.errors.join("; ")}`);
    if (shots) await phone.shot(shots.replace(".png", "-phone.png"));
} catch (error) {
    console.log(`demo: ${error.message}`);
    process.exitCode = 1;
} finally {
    await browser.close();
}
