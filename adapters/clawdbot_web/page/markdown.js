// Markdown to elements, for the part of it that models write. Nothing in a text can become an element that is not made here.
const FENCE = /^\s*(`{3,}|~{3,})\s*([\w+#.-]*)\s*$/;
const ITEM = /^\s*(?:[-*+]|(\d{1,9})[.)])\s+(.*)$/;
const INLINE = /(`+)(.+?)\1|\*\*(.+?)\*\*|(?<![\w*])\*(?!\s)(.+?)(?<!\s)\*(?!\w)|(?<!\w)_(?!\s)(.+?)(?<!\s)_(?!\w)|\[([^\]]+)\]\((https?:\/\/[^\s)]+)\)/s;

export function markdown(text) {
  const whole = document.createElement("div");
  const lines = text.split("\n");
  while (lines.length) whole.append(...block(lines));
  return whole;
}

function block(lines) {
  const line = lines.shift();
  const fence = FENCE.exec(line);
  if (fence) return [code(lines, fence[1])];
  const heading = /^(#{1,6})\s+(.*)$/.exec(line);
  if (heading) return [tag("p", tag("strong", ...inline(heading[2])))];
  if (ITEM.test(line)) return [list(line, lines)];
  if (/^\s*>/.test(line)) return [quote(line, lines)];
  if (!line.trim()) return [];
  const said = [line];
  while (lines.length && lines[0].trim() && !FENCE.test(lines[0]) && !ITEM.test(lines[0])) said.push(lines.shift());
  return [tag("p", ...inline(said.join("\n")))];
}

function code(lines, fence) {
  const written = [];
  while (lines.length) {
    const line = lines.shift();
    if (line.trim().startsWith(fence) && !line.trim().slice(fence.length).trim()) break;
    written.push(line);
  }
  return tag("pre", tag("code", written.join("\n")));
}

function list(first, lines) {
  const numbered = ITEM.exec(first)[1];
  const made = tag(numbered ? "ol" : "ul");
  if (numbered) made.setAttribute("start", numbered);
  for (let line = first; line !== undefined; line = lines.length && ITEM.test(lines[0]) ? lines.shift() : undefined) {
    const item = [ITEM.exec(line)[2]];
    while (lines.length && /^\s{2,}\S/.test(lines[0]) && !ITEM.test(lines[0])) item.push(lines.shift().trim());
    made.append(tag("li", ...inline(item.join("\n"))));
  }
  return made;
}

function quote(first, lines) {
  const said = [first];
  while (lines.length && /^\s*>/.test(lines[0])) said.push(lines.shift());
  const inner = markdown(said.map((line) => line.replace(/^\s*>\s?/, "")).join("\n"));
  return tag("blockquote", ...inner.childNodes);
}

function inline(text) {
  const made = [];
  for (let found; (found = INLINE.exec(text)); text = text.slice(found.index + found[0].length)) {
    const [, , mono, bold, slanted, also, label, url] = found;
    made.push(...broken(text.slice(0, found.index)));
    if (mono !== undefined) made.push(tag("code", mono));
    else if (bold !== undefined) made.push(tag("strong", ...inline(bold)));
    else if (label === undefined) made.push(tag("em", ...inline(slanted ?? also)));
    else made.push(link(label, url));
  }
  return [...made, ...broken(text)];
}

function link(label, url) {
  const made = tag("a", label);
  for (const [name, value] of [["href", url], ["rel", "noreferrer noopener"], ["target", "_blank"]]) made.setAttribute(name, value);
  return made;
}

function broken(text) {
  return text.split("\n").flatMap((line, number) => (number ? [document.createElement("br"), line] : [line]));
}

function tag(name, ...children) {
  const made = document.createElement(name);
  made.append(...children);
  return made;
}
