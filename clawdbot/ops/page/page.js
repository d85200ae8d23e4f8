// The page: news come as server-sent events, text goes to the screen as text alone, never as markup.
import { chain, legend, words } from "/charts.js";
import { element, fill, seconds } from "/dom.js";

const KEPT = 200;
const byId = (id) => document.getElementById(id);
let answers = [];

function drawAnswers() {
  if (!answers.length) return;
  fill(byId("chain"), chain(answers, byId("whole").checked));
  fill(byId("words"), [words(answers)]);
}

function drawNow(now) {
  const status = byId("status");
  status.textContent = now.reasons.length ? now.reasons.join(" ") : "ready";
  status.className = now.reasons.length ? "chip bad" : "chip good";
  facts(byId("now"), now.facts);
  facts(byId("engine"), now.engine);
  fill(byId("platforms"), [platforms(now.platforms)]);
}

function facts(list, pairs) {
  fill(list, pairs.flatMap(([name, told]) => [element("dt", {}, name), element("dd", {}, told)]));
}

function platforms(rows) {
  const heads = ["", "state", "calls", "429s", "to wait", "whole bot", "places"];
  const head = element("tr", {}, ...heads.map((name) => element("th", { scope: "col" }, name)));
  const body = rows.map((row) =>
    element("tr", {},
      element("th", { scope: "row" }, row.name),
      ...[row.state, row.calls, row.limited, seconds(row.waited), row.rates, row.places]
        .map((told) => element("td", {}, String(told)))));
  return element("table", {}, element("thead", {}, head), element("tbody", {}, ...body));
}

function listen() {
  const news = new EventSource("/look");
  news.addEventListener("answers", (event) => {
    const told = JSON.parse(event.data);
    answers = (told.all ? told.answers : answers.concat(told.answers)).slice(-KEPT);
    drawAnswers();
  });
  news.addEventListener("now", (event) => drawNow(JSON.parse(event.data)));
  news.onerror = () => {
    byId("status").textContent = "The connection is lost; trying again …";
    byId("status").className = "chip bad";
    // After a restart the cookie of the last run is worth nothing: the page itself brings a new one.
    if (news.readyState === EventSource.CLOSED) setTimeout(() => location.reload(), 3000);
  };
}

fill(byId("legend"), legend());
byId("whole").addEventListener("change", drawAnswers);
listen();
