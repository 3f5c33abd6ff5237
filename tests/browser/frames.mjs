// What both pages are held to with ten thousand rows.
import assert from "node:assert/strict";

// From the top of a table to its end in sixty frames: what a frame takes, and how many rows there ever are.
export const smooth = async (tab, table) => {
  const [slowest, median, most] = await tab.evaluate(async (table) => {
    const box = document.getElementById(table), times = [];
    let most = 0, before = performance.now();
    for (let step = 1; step <= 60; step++) {
      box.scrollTop = step / 60 * box.scrollHeight;
      await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
      const now = performance.now();
      times.push((now - before) / 2);
      before = now;
      most = Math.max(most, box.querySelectorAll(".row").length);
    }
    times.sort((a, b) => a - b);
    return [times.at(-1), times[30], most];
  }, table);
  assert.ok(most < 120, `${most} rows`);
  assert.ok(median < 100, `${median} ms a frame`);
  return `a frame of scrolling ${median.toFixed(1)} ms (slowest ${slowest.toFixed(1)}), at most ${most} rows at a time`;
};
