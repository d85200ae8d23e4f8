// The two pictures: a bar of stages for each of the last answers, and first words over time.
import { element, seconds, shape } from "/dom.js";

const STAGES = ["admitted", "queued", "prefill", "first token", "first visible", "complete"];
const MEANING = {
  admitted: "until the engine was asked",
  queued: "until the engine had it in its queue",
  prefill: "until the prompt began to be read",
  "first token": "until the first token",
  "first visible": "until the first text on the screen",
  complete: "until the whole answer on the screen",
};
const BARS = 12;
const WIDTH = 640, HEIGHT = 220, LEFT = 48, RIGHT = 8, TOP = 8, BOTTOM = 24;

export function legend() {
  return STAGES.map((name, number) => {
    const dot = shape("svg", { viewBox: "0 0 10 10", "aria-hidden": "true" }, shape("rect", { width: 10, height: 10, rx: 2, class: `s${number}` }));
    return element("li", { title: MEANING[name] }, dot, name);
  });
}

export function chain(answers, whole) {
  const shown = answers.slice(-BARS).reverse();
  const stagesOf = (answer) => answer.stages.filter(([name]) => whole || name !== "complete");
  const sum = (stages) => stages.reduce((total, [, spent]) => total + spent, 0);
  const longest = Math.max(...shown.map((answer) => sum(stagesOf(answer))), 1e-6);
  return shown.map((answer) => {
    const stages = stagesOf(answer);
    const when = new Date(answer.at * 1000).toLocaleTimeString([], { hourCycle: "h23" });
    const told = stages.map(([name, spent]) => `${name} ${seconds(spent)}`).join(", ");
    return element("li", { title: told },
      element("span", { class: "muted" }, `${when} ${answer.platform}`),
      bar(stages, longest, told || answer.state),
      element("b", {}, stages.length ? seconds(sum(stages)) : answer.state));
  });
}

function bar(stages, longest, told) {
  const drawn = shape("svg", { viewBox: "0 0 1000 10", preserveAspectRatio: "none", role: "img", "aria-label": told });
  let x = 0;
  for (const [name, spent] of stages) {
    const width = (spent / longest) * 1000;
    drawn.append(shape("rect", { x, y: 0, width, height: 10, class: `s${STAGES.indexOf(name)}` }));
    x += width;
  }
  return drawn;
}

export function words(answers) {
  const series = [["ttft", "first token", "s3"], ["visible", "first visible", "s4"]];
  const points = series.flatMap(([field]) => answers.map((answer) => answer[field])).filter((value) => value > 0);
  if (!points.length) return element("p", { class: "muted" }, "No first words yet.");
  const marks = scale(Math.min(...points), Math.max(...points));
  const low = Math.log10(marks[0]), high = Math.log10(marks.at(-1));
  const from = answers[0].at, to = Math.max(answers.at(-1).at, from + 1);
  const x = (at) => LEFT + 6 + ((at - from) / (to - from)) * (WIDTH - LEFT - RIGHT - 12);
  const y = (value) => TOP + ((high - Math.log10(value)) / (high - low)) * (HEIGHT - TOP - BOTTOM);
  const told = series.map(([field, name]) => `${name} ${seconds(median(answers.map((answer) => answer[field])))}`).join(", ");
  const plot = shape("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "plot", role: "img", "aria-label": `Medians: ${told}` });
  for (const mark of marks) {
    const at = y(mark);
    plot.append(shape("line", { x1: LEFT, x2: WIDTH - RIGHT, y1: at, y2: at }), shape("text", { x: LEFT - 6, y: at + 4, class: "end" }, seconds(mark)));
  }
  const time = (at) => new Date(at * 1000).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
  plot.append(shape("text", { x: LEFT, y: HEIGHT - 6 }, time(from)), shape("text", { x: WIDTH - RIGHT, y: HEIGHT - 6, class: "end" }, time(to)));
  for (const [field, , color] of series)
    for (const answer of answers)
      if (answer[field] > 0) plot.append(shape("circle", { cx: x(answer.at), cy: y(answer[field]), r: 3.5, class: color }));
  const names = series.map(([field, name, color]) => element("li", {},
    shape("svg", { viewBox: "0 0 10 10", "aria-hidden": "true" }, shape("circle", { cx: 5, cy: 5, r: 4, class: color })),
    `${name}, median ${seconds(median(answers.map((answer) => answer[field])))}`));
  return element("div", {}, element("ul", { class: "legend" }, ...names), plot);
}

// The round numbers (1, 2, 5, 10, …) that lie around two.
function scale(least, most) {
  const marks = [];
  for (let power = Math.floor(Math.log10(least)); ; power++)
    for (const factor of [1, 2, 5]) {
      const mark = factor * 10 ** power;
      if (mark <= least) marks.length = 0;
      marks.push(mark);
      if (mark >= most && marks.length > 1) return marks;
    }
}

function median(values) {
  const known = values.filter((value) => value !== null).sort((a, b) => a - b);
  if (!known.length) return null;
  const middle = Math.floor(known.length / 2);
  return known.length % 2 ? known[middle] : (known[middle - 1] + known[middle]) / 2;
}
