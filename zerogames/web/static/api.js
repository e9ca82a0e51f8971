// Questions to the server. Every path is relative: the page's address holds the secret.

const banner = () => document.getElementById("connection");
let session = null;
let lost = false;

export class Failure extends Error {}

function say(text, good = false) {
  const place = banner();
  place.textContent = text;
  place.hidden = !text;
  place.classList.toggle("good", good);
}

function isBack() {
  if (!lost) return;
  lost = false;
  say("Connected again. The server was away; the page goes on where it was.", true);
  setTimeout(() => { if (!lost) say(""); }, 6000);
}

function isLost() {
  if (lost) return;
  lost = true;
  say("The server does not answer. Start `zerogames web` again; the page waits for it.");
  retry();
}

async function retry() {
  while (lost) {
    await new Promise(done => setTimeout(done, 1500));
    try {
      const answer = await fetch("api/hello");
      if (answer.status === 403) {
        say("The server has a new address; open the one that it printed. Your game is kept.");
      } else if (answer.ok) {
        isBack();
      }
    } catch { /* still away */ }
  }
}

// Looks whether the server is there, but only while somebody can see the page.
export async function watch() {
  const look = async () => {
    if (document.hidden || lost) return;
    try {
      const found = (await (await fetch("api/hello")).json()).session;
      if (session && found && session !== found) {
        lost = true;
        isBack();
      }
      session = found;
    } catch { isLost(); }
  };
  look();
  setInterval(look, 5000);
}

async function answerOf(response) {
  let body;
  try { body = await response.json(); } catch { body = {}; }
  if (!response.ok) throw new Failure(body.error || `the server answers ${response.status}`);
  return body;
}

export async function get(name) {
  return answerOf(await fetch(`api/${name}`));
}

const asJson = (question, signal) => ({
  method: "POST",
  headers: {"content-type": "application/json"},
  body: JSON.stringify(question),
  signal,
});

export async function post(name, question, signal) {
  let response;
  try {
    response = await fetch(`api/${name}`, asJson(question, signal));
  } catch (error) {
    if (error.name === "AbortError") throw error;
    isLost();
    throw new Failure("The server does not answer.");
  }
  return answerOf(response);
}

// Server-sent events as the answer to a question; ends with the search or when `signal` aborts.
export async function* events(name, question, signal) {
  let response;
  try {
    response = await fetch(`api/${name}`, asJson(question, signal));
  } catch (error) {
    if (error.name === "AbortError") return;
    isLost();
    throw new Failure("The server does not answer.");
  }
  if (!response.ok) await answerOf(response);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  try {
    for (;;) {
      const {value, done} = await reader.read();
      if (done) return;
      text += value;
      const parts = text.split("\n\n");
      text = parts.pop();
      for (const part of parts) {
        if (part.startsWith("data: ")) yield JSON.parse(part.slice(6));
      }
    }
  } catch (error) {
    if (error.name !== "AbortError") isLost();
  }
}

// Text as a file in the browser's downloads.
export function download(name, text) {
  const url = URL.createObjectURL(new Blob([text]));
  make("a", {href: url, download: name}).click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

// An element with attributes and children; data is only ever set as text, never as markup.
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name in element && name !== "list") element[name] = value;
    else element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

export function makeSvg(tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

export function labelled(label, control, about = "") {
  control.id ||= `field-${label.replace(/\W+/g, "-").toLowerCase()}`;
  const parts = [make("label", {htmlFor: control.id}, label), control];
  if (about) parts.push(make("small", {}, about));
  return make("div", {className: "field"}, ...parts);
}

export function choice(values, chosen, onchange) {
  const select = make("select", {onchange: () => onchange(select.value)});
  for (const [value, title] of values) {
    select.append(make("option", {value, selected: value === chosen}, title));
  }
  return select;
}

export function stored(name, fallback) {
  try { return JSON.parse(localStorage.getItem(`zerogames.${name}`)) ?? fallback; }
  catch { return fallback; }
}

export function store(name, value) {
  try { localStorage.setItem(`zerogames.${name}`, JSON.stringify(value)); } catch { /* full */ }
}
