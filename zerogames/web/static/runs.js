// Training runs: a diagnosis in words, curves, the newest games, and the net at every step.

import {choice, get, labelled, make, post, store, stored} from "./api.js";
import {Board} from "./board.js";
import {chart, short} from "./chart.js";

const percent = value => `${Math.round(100 * value)} %`;
const REFRESH_MS = 10000;

export class RunsPage {
  constructor(place) {
    this.closed = false;
    this.error = make("p", {className: "error", role: "alert"});
    this.head = make("div", {className: "card"});
    this.findings = make("ul", {className: "findings"});
    this.curves = make("div", {className: "curves"});
    this.board = new Board(() => {});
    this.caption = make("p", {className: "status", role: "status"});
    this.thoughts = make("div", {className: "scroll"});
    this.history = make("div");
    this.controls = make("div");
    place.append(make("div", {className: "side"}, this.error, this.head,
      make("section", {className: "card", ariaLabel: "Diagnosis"}, make("h2", {}, "Does it learn?"), this.findings), this.curves,
      make("div", {className: "table"}, this.board.element,
        make("div", {className: "side"}, make("section", {className: "card", ariaLabel: "Games"}, make("h2", {}, "Newest games, and what the net thought"), this.controls, this.caption, this.thoughts, this.history)))));
    this.begin();
    this.timer = setInterval(() => { if (!document.hidden && this.run) this.load(true); }, REFRESH_MS);
  }

  close() {
    this.closed = true;
    clearInterval(this.timer);
    clearInterval(this.replaying);
  }

  async begin() {
    try {
      const {runs, folder} = await get("runs");
      if (!runs.length) {
        this.head.append(make("p", {}, `There are no runs in ${folder}. Start one with: zerogames train --game connect4`));
        return;
      }
      this.run = runs.some(one => one.run === stored("run", "")) ? stored("run", "") : runs[0].run;
      const title = one => [one.run, `${one.run} (${one.kind}, ${one.game})`];
      this.head.append(
        labelled("Run", choice(runs.map(title), this.run, value => { this.run = value; store("run", value); this.load(); })),
        labelled("Compare with", choice([["", "none"], ...runs.map(title)], "", value => { this.other = value; this.load(); })));
      await this.load();
    } catch (error) {
      this.error.textContent = error.message;
    }
  }

  async load(again = false) {
    const run = this.run;
    try {
      const data = await post("run", {run});
      const other = this.other && this.other !== run ? await post("run", {run: this.other}) : null;
      if (this.closed || run !== this.run) return;
      this.error.textContent = "";
      this.data = data;
      this.showFindings();
      this.showCurves(other);
      if (!again || !this.game) this.showGames();
    } catch (error) {
      this.error.textContent = error.message;
    }
  }

  showFindings() {
    const signs = {good: "✓", watch: "!", bad: "✗"};
    this.findings.replaceChildren(
      ...this.data.findings.map(({level, text}) => make("li", {className: level}, `${signs[level]} ${text}`)),
      ...this.data.problems.map(text => make("li", {className: "bad"}, `✗ ${text}`)));
  }

  showCurves(other) {
    const runs = [this.data, other].filter(Boolean);
    const points = (lines, key) => lines.filter(line => line[key] !== null && line.step !== null).map(line => [line.step, line[key]]);
    const name = (run, text) => runs.length > 1 ? `${run.run}: ${text}` : text;
    const curve = (title, keys, format = short) => chart({
      title, xLabel: "step", format,
      series: runs.flatMap(run => keys.map(([key, text]) => ({name: name(run, text), points: points(run.metrics, key)}))).filter(one => one.points.length),
    });
    const elo = chart({
      title: "Elo with 95 % interval", xLabel: "step",
      series: runs.map(run => ({name: run.run, points: points(run.ratings, "elo"),
        band: run.ratings.filter(line => line.low !== null && line.high !== null).map(line => [line.step, line.low, line.high])})).filter(one => one.points.length),
    });
    const charts = [elo,
      curve("Loss", [["loss", "total"], ["policy_loss", "policy"], ["value_loss", "value"], ["validation_loss", "total, unseen games"]]),
      curve("Policy accuracy", [["policy_accuracy", "training"], ["validation_policy_accuracy", "unseen games"]], percent),
      curve("Games per hour", [["games_per_h", "games"]])];
    this.curves.replaceChildren(...charts.map(one => make("div", {className: "card"}, one)));
  }

  showGames() {
    const {games, steps} = this.data;
    clearInterval(this.replaying);
    this.answers = new Map();
    this.game = games[0] ?? {start: "", actions: [], values: [], result: null};
    this.step = steps.at(-1);
    const ending = one => one.result === null ? "" : one.result === 0 ? ", draw" : one.result > 0 ? ", first won" : ", second won";
    const which = choice(games.map((one, i) => [String(i), `${i + 1}: ${one.actions.length} plies${ending(one)}`]), "0", value => {
      this.game = games[Number(value)];
      this.ply = 0;
      this.answers.clear();
      this.plies.max = this.game.actions.length;
      this.show();
    });
    this.plies = make("input", {type: "range", min: 0, max: this.game.actions.length, value: 0, oninput: () => { this.ply = Number(this.plies.value); this.show(); }});
    const slider = make("input", {type: "range", min: 0, max: Math.max(0, steps.length - 1), value: steps.length - 1, disabled: !steps.length, oninput: () => {
      this.step = steps[Number(slider.value)];
      this.showThought();
    }});
    slider.id = "checkpoint";
    const play = make("button", {onclick: () => {
      clearInterval(this.replaying);
      this.replaying = setInterval(() => {
        if (document.hidden) return;
        if (this.ply >= this.game.actions.length) clearInterval(this.replaying);
        else { this.ply += 1; this.show(); }
      }, 900);
    }}, "Replay");
    this.controls.replaceChildren(labelled("Game", which), labelled("Ply", this.plies), labelled("Checkpoint", slider),
      make("div", {className: "buttons"}, play,
        make("button", {onclick: () => this.think(steps)}, "This position at every step"),
        make("button", {onclick: () => {
          store("handed", {game: this.data.game, start: this.game.start, actions: this.game.actions, ply: this.ply});
          location.hash = "analyse";
        }}, "Analyse")));
    this.ply = 0;
    this.show();
  }

  question() {
    return {game: this.data.game, start: this.game.start, actions: this.game.actions.slice(0, this.ply)};
  }

  async show() {
    const ply = this.ply;
    this.plies.value = ply;
    this.history.replaceChildren();
    try {
      const position = await post("position", this.question());
      if (ply !== this.ply || this.closed) return;
      this.position = position;
      this.board.show(position, false);
      await this.showThought();
    } catch (error) {
      this.error.textContent = error.message;
    }
  }

  async thoughtAt(step) {
    const key = `${this.run} ${step} ${this.game.start} ${this.game.actions.slice(0, this.ply)}`;
    if (!this.answers.has(key)) this.answers.set(key, await post("checkpoint", {...this.question(), run: this.run, step}));
    return this.answers.get(key);
  }

  async showThought() {
    const {ply, step} = this;
    const {position} = this;
    const value = this.game.values?.[ply];
    const played = value === null || value === undefined ? "" : `; when it was played, the search gave ${value.toFixed(2)} to the side to move`;
    this.thoughts.replaceChildren();
    this.board.mark([]);
    if (position.result !== null || step === undefined) {
      this.caption.textContent = position.result !== null ? `The game is over (${position.reason}).` : "This run kept no nets of single steps.";
      return;
    }
    try {
      const found = await this.thoughtAt(step);
      if (ply !== this.ply || step !== this.step) return;
      const [win, draw, loss] = found.wdl;
      this.caption.textContent = `Step ${step.toLocaleString("en")}: ${position.sides[position.to_play]} to move wins ${percent(win)}, draws ${percent(draw)}, loses ${percent(loss)}${played}.`;
      const head = make("tr", {}, make("th", {}, "move"), make("th", {}, "policy"));
      this.thoughts.replaceChildren(make("table", {className: "rows"}, head,
        ...found.moves.slice(0, 5).map(move => make("tr", {}, make("td", {}, move.text), make("td", {}, percent(move.prior))))));
      const cells = new Map(position.legal.map(move => [move.action, move.cells]));
      this.board.mark(found.moves.filter(move => move.prior > 0.03).reverse().map(move => {
        const places = cells.get(move.action) ?? [];
        return {cells: places, weight: Math.sqrt(move.prior), text: places.length === 1 ? String(Math.round(100 * move.prior)) : ""};
      }));
    } catch (error) {
      this.caption.textContent = error.message;
    }
  }

  // The value of the position at all kept steps, as a curve.
  async think(steps) {
    const ply = this.ply;
    const points = [];
    try {
      for (const step of steps) {
        const {wdl} = await this.thoughtAt(step);
        if (ply !== this.ply || this.closed) return;
        points.push([step, wdl[0] + wdl[1] / 2]);
        this.history.replaceChildren(chart({title: "Points that the side to move may expect", xLabel: "step", format: percent, range: [0, 1], series: [{name: "points", points: [...points]}]}));
      }
    } catch (error) {
      this.caption.textContent = error.message;
    }
  }
}
