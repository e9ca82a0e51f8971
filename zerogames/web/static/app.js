// The frame of all pages: which one the address names, and whether the server is there.

import {make, watch} from "./api.js";
import {AnalysePage} from "./analyse.js";
import {PlayPage} from "./play.js";
import {RunsPage} from "./runs.js";

const pages = {play: ["Play", PlayPage], analyse: ["Analyse", AnalysePage], runs: ["Runs", RunsPage]};
let current = null;

function open() {
  const name = location.hash.slice(1).split("/")[0];
  const [known, [title, Page]] = Object.entries(pages).find(([key]) => key === name) ?? Object.entries(pages)[0];
  current?.close();
  const place = document.getElementById("page");
  place.replaceChildren();
  current = new Page(place);
  document.title = `${title} · zerogames`;
  const links = Object.entries(pages).map(([key, [label]]) => {
    const link = make("a", {href: `#${key}`}, label);
    if (key === known) link.setAttribute("aria-current", "page");
    return link;
  });
  document.getElementById("pages").replaceChildren(...links);
}

addEventListener("hashchange", open);
open();
watch();
