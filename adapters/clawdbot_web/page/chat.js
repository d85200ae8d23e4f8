// The chat: each question with its answers below it. What comes from the bot is shown as text or by markdown.js alone.
import { markdown } from "/web/markdown.js";

const LABELS = { stop: "Stop", continue: "Continue", regenerate: "Regenerate" };
const section = document.getElementById("chat");
const log = made("div", { class: "log", role: "log", "aria-label": "Conversation", tabindex: "0" });
const box = made("textarea", { id: "say", rows: "2", placeholder: "Ask something; Shift+Enter begins a line", "aria-label": "Your message", maxlength: "100000" });
const send = made("button", {}, "Send");
const trouble = made("p", { class: "trouble", role: "alert" });
const form = made("form", { class: "say" }, box, send);
const groups = new Map();
const posts = new Map();

function made(name, attributes, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

async function post(path, told) {
  trouble.textContent = "";
  try {
    const answer = await fetch(path, { method: "POST", body: JSON.stringify(told), headers: { "Content-Type": "application/json" } });
    if (!answer.ok) trouble.textContent = await answer.text();
    return answer.ok;
  } catch {
    trouble.textContent = "The bot cannot be reached.";
    return false;
  }
}

function groupOf(question) {
  if (!groups.has(question)) {
    groups.set(question, made("div", { class: "group" }));
    log.append(groups.get(question));
  }
  return groups.get(question);
}

function show(note) {
  const body = note.state === "asked" ? made("p", { class: "mine" }, note.text) : made("div", { class: "theirs" }, ...answered(note));
  if (posts.has(note.ref)) posts.get(note.ref).replaceWith(body);
  else if (note.state === "asked") groupOf(note.question).prepend(body);
  else groupOf(note.question).append(body);
  posts.set(note.ref, body);
}

function answered(note) {
  const parts = [note.state === "waiting" ? made("p", { class: "muted" }, note.text) : markdown(note.text)];
  note.files.forEach((name, number) => {
    const url = `/web/files/${encodeURIComponent(note.ref)}/${number}`;
    parts.push(name.endsWith(".png") ? made("img", { src: url, alt: name }) : made("a", { href: url, download: name }, name));
  });
  if (note.footnote) parts.push(made("p", { class: "muted" }, note.footnote));
  if (note.control) {
    const button = made("button", { class: "quiet", type: "button" }, LABELS[note.control]);
    button.addEventListener("click", () => post("/web/press", { ref: note.ref, control: note.control }));
    parts.push(button);
  }
  return parts;
}

// Long enough to be unlike any other: the bot answers one that is sent again once. Not randomUUID, which plain HTTP lacks.
function newRef() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

let pending = null;
async function say() {
  const text = box.value.trim();
  if (!text) return;
  if (pending?.text !== text) pending = { ref: newRef(), text };
  if (await post("/web/say", pending)) {
    pending = null;
    box.value = "";
  }
}

form.addEventListener("submit", (event) => { event.preventDefault(); say(); });
box.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) { event.preventDefault(); say(); }
});

document.head.append(made("link", { rel: "stylesheet", href: "/web/chat.css" }));
section.append(log, trouble, form);
section.hidden = false;
new EventSource("/web/events").addEventListener("notes", (event) => {
  const low = log.scrollHeight - log.scrollTop - log.clientHeight < 60;
  JSON.parse(event.data).forEach(show);
  if (low) log.scrollTop = log.scrollHeight;
});
