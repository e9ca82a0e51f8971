// Analysis: positions and games, a tree of moves, searches that run while you look.

import {choice, download, events, get, labelled, make, makeSvg, post, store, stored} from "./api.js";
import {Board} from "./board.js";
import {chart} from "./chart.js";

const percent = value => value === null || value === undefined ? "" : `${(100 * value).toFixed(1)} %`;

// One search of the shown position: bar, moves, lines.
class SearchPanel {
  constructor(page, opponents, chosen) {
    this.page = page;
    this.found = null;
    this.bar = make("div", {className: "bar"});
    this.line = make("p", {className: "note"});
    this.rows = make("div", {className: "scroll"});
    this.select = choice(opponents.map(one => [one.key, one.title]), chosen, () => { page.remember(); this.start(); });
    this.select.ariaLabel = "Net that searches";
    this.element = make("div", {}, this.select, this.bar, this.line, this.rows);
  }

  stop() {
    this.run?.abort();
    this.run = null;
  }

  async start() {
    this.stop();
    this.found = null;
    this.page.mark();
    const {position} = this.page;
    if (!this.page.searches || document.hidden || !position || position.result !== null) {
      this.bar.replaceChildren();
      this.rows.replaceChildren();
      this.line.textContent = position?.result != null ? "The game is over here." : "";
      return;
    }
    const run = this.run = new AbortController();
    this.line.textContent = "Starting.";
    try {
      for await (const found of events("search", {...this.page.question(), opponent: this.select.value}, run.signal)) {
        if (run !== this.run) return;
        if (found.error) {
          this.line.textContent = found.error;
          return;
        }
        this.found = found;
        this.show();
      }
      if (run === this.run && !this.found?.done) this.line.textContent = "Another page searches with this net now.";
    } catch (error) {
      if (run === this.run) this.line.textContent = error.message;
    }
  }

  show() {
    const {nodes, speed, depth, value, wdl, moves, done} = this.found;
    const {position} = this.page;
    const [win, draw, loss] = wdl ?? [(1 + value) / 2, 0, (1 - value) / 2];
    const first = position.to_play === 0 ? [win, draw, loss] : [loss, draw, win];
    this.bar.replaceChildren(wdlBar(first, position.sides));
    this.line.textContent = `${position.sides[0]} wins ${percent(first[0])}, draw ${percent(first[1])}, ${position.sides[1]} wins ${percent(first[2])} · ${nodes.toLocaleString("en")} nodes${speed ? `, ${speed.toLocaleString("en")} a second` : ""}${depth ? `, depth ${depth}` : ""}${done ? ", done" : ""}`;
    const total = moves.reduce((sum, move) => sum + move.visits, 0) || 1;
    const head = make("tr", {}, ...["move", "N", "P", "Q", "±", "line"].map(text => make("th", {}, text)));
    const rows = moves.slice(0, 8).map(move => {
      // The standard error of the mean, as if evaluations were independent: win and loss are +1 and -1.
      const spread = move.visits ? Math.sqrt(Math.max(0, 1 - (move.draw ?? 0) - move.value ** 2) / move.visits) : null;
      const value = move.mate ? `mate ${move.mate}` : move.value === null ? "" : move.value.toFixed(3);
      const row = make("tr", {tabIndex: 0},
        ...[move.line[0], `${move.visits.toLocaleString("en")} (${Math.round(100 * move.visits / total)} %)`, percent(move.prior), value,
          spread === null ? "" : spread.toFixed(3), move.line.slice(1).join(" ")].map(text => make("td", {}, text)));
      row.addEventListener("mouseenter", () => this.page.mark(move.action));
      row.addEventListener("mouseleave", () => this.page.mark());
      row.addEventListener("focus", () => this.page.mark(move.action));
      row.addEventListener("blur", () => this.page.mark());
      row.addEventListener("click", () => this.page.play(move.action));
      return row;
    });
    if (!this.rows.matches(":hover")) this.rows.replaceChildren(make("table", {className: "rows lines"}, head, ...rows));
    this.page.mark();
  }
}

// White, grey and black shares of win, draw and loss.
function wdlBar([win, draw, loss], sides) {
  const svg = makeSvg("svg", {viewBox: "0 0 100 10", preserveAspectRatio: "none", role: "img",
    "aria-label": `${sides[0]} wins ${percent(win)}, draw ${percent(draw)}, ${sides[1]} wins ${percent(loss)}`});
  let at = 0;
  for (const [share, fill] of [[win, "#f4f4f4"], [draw, "#9aa3ae"], [loss, "#1c1c1c"]]) {
    svg.append(makeSvg("rect", {x: at, y: 0, width: Math.max(0, 100 * share), height: 10, fill}));
    at += 100 * share;
  }
  return svg;
}

export class AnalysePage {
  constructor(place) {
    this.searches = true;
    this.panels = [];
    this.root = {children: [], parent: null};
    this.node = this.root;
    this.begin(place);
    this.onkey = event => this.key(event);
    this.onhide = () => this.restart();
    addEventListener("keydown", this.onkey);
    document.addEventListener("visibilitychange", this.onhide);
  }

  close() {
    removeEventListener("keydown", this.onkey);
    document.removeEventListener("visibilitychange", this.onhide);
    this.panels.forEach(panel => panel.stop());
    this.reviewing?.abort();
  }

  async begin(place) {
    this.board = new Board(move => this.play(move.action));
    this.error = make("p", {className: "error", role: "alert"});
    this.status = make("p", {className: "note", role: "status"});
    this.tree = make("div", {className: "tree", tabIndex: 0, role: "log", ariaLabel: "Moves and variations"});
    this.searching = make("section", {className: "card", ariaLabel: "Search"});
    this.graph = make("div");
    this.text = make("textarea", {ariaLabel: "Position or game", spellcheck: false, placeholder: "Paste a position (FEN, SFEN) or a game (PGN, SGF, CSA)"});
    this.file = make("input", {type: "file", ariaLabel: "File with games", onchange: () => this.openFile()});
    this.gameBox = make("div");
    this.list = make("div", {className: "scroll"});
    const step = (text, label, call) => make("button", {onclick: call, ariaLabel: label, title: label}, text);
    const steps = make("div", {className: "buttons"},
      step("|◀", "To the start", () => this.go(this.root)),
      step("◀", "One move back", () => this.go(this.node.parent ?? this.node)),
      step("▶", "One move on", () => this.go(this.node.children[0] ?? this.node)),
      step("▶|", "To the end", () => { let node = this.node; while (node.children.length) node = node.children[0]; this.go(node); }),
      step("Turn", "Turn the board", () => { this.view = 1 - this.view; this.show(); }));
    this.heat = stored("heat", "visits");
    const heat = choice([["visits", "visits"], ["prior", "policy"], ["none", "nothing"]], this.heat, value => { this.heat = value; store("heat", value); this.mark(); });
    this.board.element.append(steps, labelled("On the board", heat));
    const side = make("div", {className: "side"}, this.searching,
      make("section", {className: "card", ariaLabel: "Game"}, this.status, this.error, this.tree, this.graph),
      make("details", {className: "card", open: true}, make("summary", {}, "Open a position or a game"), this.gameBox, this.text,
        make("div", {className: "buttons"}, make("button", {className: "main", onclick: () => this.read(this.text.value)}, "Open"), this.file), this.list));
    place.append(make("div", {className: "table"}, this.board.element, side));
    try {
      const {games, first} = await get("games");
      this.games = games;
      const kept = stored("analysis", null);
      const handed = stored("handed", null);
      store("handed", null);
      await this.setGame(handed?.game ?? kept?.game ?? first);
      const line = handed ?? kept;
      await this.load(line && line.game === this.game ? line : {start: "", actions: []}).catch(async error => {
        await this.load({start: "", actions: []});
        this.error.textContent = error.message;
      });
    } catch (error) {
      this.error.textContent = error.message;
    }
  }

  async setGame(identity) {
    this.choices = await post("choices", {game: identity});
    this.game = this.choices.game;
    const variants = [...new Set(this.games.flatMap(one => [one.name, ...one.variants]).concat(this.game))];
    this.gameBox.replaceChildren(labelled("Game", choice(variants.map(one => [one, one]), this.game, async value => {
      try {
        await this.setGame(value);
        await this.load({start: "", actions: []});
      } catch (error) { this.error.textContent = error.message; }
    })));
    this.panels.forEach(panel => panel.stop());
    const {opponents} = this.choices;
    const wished = stored("analysts", {})[this.game] ?? [opponents[0].key];
    this.panels = wished.filter(key => opponents.some(one => one.key === key)).map(key => new SearchPanel(this, opponents, key));
    if (!this.panels.length) this.panels = [new SearchPanel(this, opponents, opponents[0].key)];
    this.showPanels();
  }

  remember() {
    store("analysts", {...stored("analysts", {}), [this.game]: this.panels.map(panel => panel.select.value)});
  }

  showPanels() {
    const two = this.panels.length > 1;
    const toggle = make("button", {onclick: () => { this.searches = !this.searches; toggle.textContent = this.searches ? "Stop" : "Search"; this.restart(); }}, this.searches ? "Stop" : "Search");
    const second = make("button", {onclick: () => {
      if (two) this.panels.pop().stop();
      else this.panels.push(new SearchPanel(this, this.choices.opponents, this.choices.opponents.at(-1).key));
      this.remember();
      this.showPanels();
      this.restart();
    }}, two ? "One net" : "Compare two nets");
    this.searching.replaceChildren(make("div", {className: "buttons"}, toggle, second,
      make("button", {onclick: () => this.review()}, "Review the game")), ...this.panels.map(panel => panel.element));
  }

  restart() {
    this.panels.forEach(panel => panel.start());
  }

  async openFile() {
    const [file] = this.file.files;
    if (!file) return;
    if (file.size > 11_000_000) {
      this.error.textContent = "That is too large: 11 MB is the most.";
      return;
    }
    await this.read(await file.text());
  }

  async read(text) {
    this.error.textContent = "";
    try {
      const {games} = await post("read", {game: this.game, text});
      this.list.replaceChildren(...(games.length > 1 ? [choice(games.map((one, i) => [String(i), `${i + 1}. ${one.title}`]), "0",
        value => this.open(games[Number(value)]))] : []));
      await this.open(games[0]);
    } catch (error) {
      this.error.textContent = error.message;
    }
  }

  async open(game) {
    try {
      if (game.game && game.game !== this.game) await this.setGame(game.game);
      await this.load(game);
    } catch (error) {
      this.error.textContent = error.message;
    }
  }

  // A line becomes the main line of a new tree.
  async load({start, actions, comments = {}, ply = null}) {
    const position = await post("position", {game: this.game, start, actions});
    this.start = start;
    this.view = this.view ?? 0;
    this.scores = null;
    this.graph.replaceChildren();
    this.root = {children: [], parent: null, ply: 0};
    let node = this.root;
    actions.forEach((action, index) => {
      const child = {action, text: position.moves[index], mover: position.movers[index], comment: comments[index] ?? "", children: [], parent: node, ply: index + 1};
      node.children.push(child);
      node = child;
    });
    let at = this.root;
    while (at.children.length && at.ply < (ply ?? 0)) at = at.children[0];
    await this.go(at);
  }

  actionsTo(node) {
    const actions = [];
    for (let at = node; at.parent; at = at.parent) actions.unshift(at.action);
    return actions;
  }

  question() {
    return {game: this.game, start: this.start, actions: this.actionsTo(this.node), view: this.view};
  }

  async go(node) {
    this.node = node;
    await this.show();
  }

  async show() {
    const node = this.node;
    try {
      const position = await post("position", this.question());
      if (node !== this.node) return;
      this.position = position;
      this.board.show(position, position.result === null);
      const kept = {game: this.game, start: this.start, actions: this.mainLine().map(one => one.action), ply: node.ply};
      store("analysis", kept);
      this.status.textContent = position.result === null ? position.position : `${position.position} · the game is over: ${position.reason}`;
      this.drawTree();
      this.drawGraph();
      this.restart();
    } catch (error) {
      this.error.textContent = error.message;
    }
  }

  async play(action) {
    let child = this.node.children.find(one => one.action === action);
    if (!child) {
      const move = this.position.legal.find(one => one.action === action);
      if (!move) return;
      child = {action, text: move.text, mover: this.position.to_play, comment: "", children: [], parent: this.node, ply: this.node.ply + 1};
      this.node.children.push(child);
    }
    await this.go(child);
  }

  mainLine() {
    const found = [];
    for (let node = this.root; node.children.length;) found.push(node = node.children[0]);
    return found;
  }

  drawTree() {
    const parts = [];
    const add = (node, first) => {
      const number = Math.floor((node.ply + 1) / 2);
      if (node.mover === 0 && node.ply % 2) parts.push(`${number}. `);
      else if (first) parts.push(`${number}… `);
      const loss = this.scores && node === this.mainLine()[node.ply - 1] ? this.loss(node.ply) : 0;
      const sign = loss > 0.3 ? "??" : loss > 0.15 ? "?" : "";
      parts.push(make("button", {className: `move${node === this.node ? " now" : ""}${sign ? " worst" : ""}`, onclick: () => this.go(node)}, node.text + sign), " ");
      if (node.comment) parts.push(make("span", {className: "note"}, `${node.comment} `));
    };
    const walk = (node, first) => {
      while (node.children.length) {
        const [main, ...others] = node.children;
        add(main, first);
        first = others.length > 0;
        for (const other of others) {
          parts.push("( ");
          add(other, true);
          walk(other, false);
          parts.push(") ");
        }
        node = main;
      }
    };
    walk(this.root, true);
    this.tree.replaceChildren(...(parts.length ? parts : [make("span", {className: "note"}, "Make moves on the board; other moves become variations.")]));
    this.tree.querySelector(".now")?.scrollIntoView({block: "nearest"});
  }

  // Discs or arrows for the moves of the first net; with an action, its line alone.
  mark(action = null) {
    const found = this.panels[0]?.found;
    if (!found || !this.position) return this.board.mark([]);
    const cells = new Map(this.position.legal.map(move => [move.action, move.cells]));
    const shown = action === null ? found.moves : found.moves.filter(move => move.action === action);
    if (this.heat === "none" && action === null) return this.board.mark([]);
    const key = this.heat === "prior" && found.moves[0]?.prior !== null ? "prior" : "visits";
    const total = found.moves.reduce((sum, move) => sum + move[key], 0) || 1;
    const marks = shown.map(move => ({cells: cells.get(move.action) ?? [], share: move[key] / total, value: move.value}))
      .filter(one => one.share > 0.02 || action !== null)
      .sort((a, b) => b.share - a.share).slice(0, 12).reverse()
      .map(one => ({cells: one.cells, weight: Math.sqrt(one.share), text: one.cells.length === 1 ? String(Math.round(100 * one.share)) : ""}));
    return this.board.mark(marks);
  }

  // What the move before `ply` cost its player, in expected points.
  loss(ply) {
    const [before, after] = [this.scores?.[ply - 1], this.scores?.[ply]];
    if (!before || !after) return 0;
    const mover = this.mainLine()[ply - 1]?.mover;
    return mover === 0 ? before.score - after.score : after.score - before.score;
  }

  async review() {
    this.reviewing?.abort();
    const run = this.reviewing = new AbortController();
    this.searches = false;
    this.showPanels();
    this.restart();
    const actions = this.mainLine().map(node => node.action);
    this.scores = [];
    try {
      const question = {game: this.game, start: this.start, actions, opponent: this.panels[0].select.value, nodes: 100};
      for await (const found of events("review", question, run.signal)) {
        if (run !== this.reviewing) return;
        if (found.error) throw new Error(found.error);
        if (found.done) break;
        this.scores[found.ply] = found;
        this.drawGraph();
      }
      this.drawTree();
    } catch (error) {
      this.error.textContent = error.message;
    }
  }

  drawGraph() {
    if (!this.scores?.length) return;
    const main = this.mainLine();
    const known = this.scores.filter(Boolean);
    const losses = known.slice(1).map(one => [one.ply, this.loss(one.ply)]).filter(([, loss]) => loss > 0.1);
    const worst = losses.sort((a, b) => b[1] - a[1]).slice(0, 5);
    const said = worst.map(([ply, loss]) => `${main[ply - 1].text} (move ${Math.ceil(ply / 2)}) cost ${Math.round(100 * loss)} %; best was ${this.scores[ply - 1].best}`);
    this.graph.replaceChildren(chart({
      title: `Points that ${this.position.sides[0]} may expect`,
      series: [{name: "points", points: known.map(one => [one.ply, one.score])}],
      xLabel: "ply", format: value => `${Math.round(100 * value)} %`, range: [0, 1], now: this.node.ply,
      marks: worst.map(([ply], i) => [ply, this.scores[ply].score, said[i]]),
      onpick: at => {
        const ply = Math.max(0, Math.min(main.length, Math.round(at)));
        this.go(ply ? main[ply - 1] : this.root);
      },
    }), ...said.map(text => make("p", {className: "note"}, text)));
  }

  key(event) {
    if (event.target.matches?.("textarea, input, select, .cell")) return;
    const to = {ArrowLeft: this.node.parent, ArrowRight: this.node.children[0], Home: this.root}[event.key];
    if (to) {
      event.preventDefault();
      this.go(to);
    }
  }
}
