// Elements are made here and nowhere from markup: whatever a model or a person wrote stays text.
const SVG = "http://www.w3.org/2000/svg";

function build(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

export function element(name, attributes, ...children) {
  return build(document.createElement(name), attributes, children);
}

export function shape(name, attributes, ...children) {
  return build(document.createElementNS(SVG, name), attributes, children);
}

export function fill(parent, children) {
  parent.replaceChildren(...children);
}

// 0.0123 → "12 ms", 3.4 → "3.4 s".
export function seconds(value) {
  if (value === null) return "–";
  if (value === 0) return "0 s";
  if (value < 0.0095) return `${(value * 1000).toFixed(1)} ms`;
  if (value < 1) return `${Math.round(value * 1000)} ms`;
  return value < 100 ? `${value.toFixed(1)} s` : `${Math.round(value)} s`;
}
