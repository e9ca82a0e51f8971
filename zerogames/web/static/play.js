// Playing any game against an opponent of the server, or against a person at the same screen.

import {choice, download, get, labelled, make, post, store, stored} from "./api.js";
import {Board} from "./board.js";

const PERSON = "person";
const clockText = seconds => {
  const whole = Math.max(0, Math.ceil(seconds));
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")}`;
};

export class PlayPage {
  constructor(place) {
    this.place = place;
    this.run = 0;
    this.start();
  }

  close() {
    this.run += 1;
    clearInterval(this.ticking);
    this.thinking?.abort();
  }

  async start() {
    this.board = new Board(move => this.play(move));
    this.status = make("p", {className: "status", role: "status"});
    this.error = make("p", {className: "error", role: "alert"});
    this.note = make("p", {className: "note"});
    this.clocks = make("div", {className: "clocks"});
    this.moves = make("div", {className: "moves", tabIndex: 0, role: "log", ariaLabel: "Moves"});
    this.advice = make("div", {className: "scroll"});
    this.buttons = make("div", {className: "buttons"});
    this.setup = make("div");
    const game = make("section", {className: "card", ariaLabel: "The game"},
      this.status, this.error, this.note, this.clocks, this.buttons, this.advice, this.moves);
    const side = make("div", {className: "side"}, game,
      make("details", {className: "card", open: false}, make("summary", {}, "New game: another game, opponent, level"), this.setup));
    this.details = side.querySelector("details");
    this.place.append(make("div", {className: "table"}, this.board.element, side));
    try {
      const {games, levels, first} = await get("games");
      Object.assign(this, {games, levels});
      this.wish = {opponent: "", level: 5, side: "first", clock: "none", start: "", ...stored("wish", {})};
      const kept = stored("game", null);
      let lost = null;
      if (kept) {
        try {
          await this.resume(kept);
          return;
        } catch (error) {
          lost = error;
        }
      }
      this.wish.game = (lost ? null : this.wish.game) ?? this.ready(first);
      this.wish.start = "";
      await this.choose(this.wish.game);
      await this.newGame();
      if (lost) this.error.textContent = `The game that was kept cannot go on: ${lost.message}`;
    } catch (error) {
      this.fail(error);
    }
  }

  // A game in a variant for which there is a net, unless another was named.
  ready(identity) {
    const game = this.games.find(one => one.name === identity);
    return game?.variants.length && !game.variants.includes(identity) ? game.variants.at(-1) : identity;
  }

  fail(error) {
    if (error.name === "AbortError") return;
    this.error.textContent = error.message;
  }

  // The form for a new game, for one identity.
  async choose(identity) {
    this.choices = await post("choices", {game: identity});
    this.wish.game = this.choices.game;
    const {sides, opponents} = this.choices;
    const known = opponents.map(one => one.key);
    if (![...known, PERSON].includes(this.wish.opponent)) this.wish.opponent = known[0];
    const name = this.wish.game.split(":")[0];
    const game = this.games.find(one => one.name === name);
    const given = new Map((this.wish.game.split(":").slice(1).join(":") || "").split(",").filter(Boolean).map(part => {
      const at = part.indexOf("=");
      return [part.slice(0, at), part.slice(at + 1)];
    }));
    const fields = [labelled("Game", choice(this.games.map(one => [one.name, one.title]), name,
      value => this.rechoose(this.ready(value))))];
    if (game.variants.length) {
      const variants = [...new Set([name, ...game.variants, this.wish.game])];
      fields.push(labelled("Variant", choice(variants.map(one => [one, one]), this.wish.game,
        value => this.rechoose(value)), "those with a net of their own, and your choice below"));
    }
    const options = game.options.map(option => {
      const value = given.get(option.name) ?? option.default;
      const set = text => {
        given.set(option.name, text);
        const rest = game.options.map(one => [one.name, given.get(one.name) ?? one.default, one.default]);
        const parts = rest.filter(([, now, normal]) => now !== normal).map(([key, now]) => `${key}=${now}`);
        this.rechoose(parts.length ? `${name}:${parts.join(",")}` : name);
      };
      const listed = option.kind === "bool" ? ["true", "false"] : option.choices;
      const control = listed.length
        ? choice(listed.map(one => [one, one]), value, set)
        : make("input", {value, onchange: event => set(event.target.value.trim())});
      return labelled(option.name, control, option.about);
    });
    if (options.length) fields.push(make("details", {}, make("summary", {}, "Options of the game"), ...options));
    const set = key => value => { this.wish[key] = value; };
    const level = make("small", {});
    const explain = () => { level.textContent = this.levels[this.wish.level - 1].about; };
    explain();
    const levels = labelled("Level", choice(this.levels.map((one, i) => [String(i + 1), `${i + 1} ${one.name}`]),
      String(this.wish.level), value => { this.wish.level = Number(value); explain(); }));
    levels.append(level);
    fields.push(
      labelled("Opponent", choice([...opponents.map(one => [one.key, one.title]), [PERSON, "a person at this screen"]],
        this.wish.opponent, set("opponent"))),
      levels,
      labelled("You play", choice([["first", `${sides[0]} (first)`], ["second", `${sides[1]} (second)`], ["random", "either"]],
        this.wish.side, set("side"))),
      labelled("Clock", choice([["none", "none"], ["1+1", "1 minute + 1 s"], ["3+2", "3 minutes + 2 s"], ["5+5", "5 minutes + 5 s"], ["15+10", "15 minutes + 10 s"], ["60+30", "60 minutes + 30 s"]],
        this.wish.clock, set("clock"))),
      labelled("Position", make("input", {value: this.wish.start, placeholder: "the usual start", onchange: event => { this.wish.start = event.target.value.trim(); }}),
        "as the game writes positions, such as a FEN"),
      make("button", {className: "main", onclick: () => this.newGame()}, "Start"),
    );
    this.setup.replaceChildren(...fields);
  }

  async rechoose(identity) {
    this.error.textContent = "";
    try {
      await this.choose(identity);
    } catch (error) {
      this.fail(error);
      await this.choose(this.wish.game);
    }
  }

  async newGame() {
    const {game, opponent, level, side, clock, start} = this.wish;
    const person = side === "random" ? Math.floor(2 * Math.random()) : ["first", "second"].indexOf(side);
    const [minutes, increment] = clock === "none" ? [0, 0] : clock.split("+").map(Number);
    store("wish", this.wish);
    await this.begin({
      game, start, actions: [], opponent, level, person,
      view: person, resigned: null, flagged: null,
      clock: minutes ? {left: [60 * minutes, 60 * minutes], increment} : null,
    }).catch(error => this.fail(error));
  }

  async resume(kept) {
    await this.choose(kept.game);
    await this.begin(kept);
    this.details.open = false;
  }

  async begin(state) {
    this.run += 1;
    this.thinking?.abort();
    this.state = state;
    this.error.textContent = "";
    this.note.textContent = "";
    this.advice.replaceChildren();
    this.since = performance.now();
    await this.refresh();
    this.details.open = false;
    clearInterval(this.ticking);
    if (state.clock) this.ticking = setInterval(() => this.tick(), 200);
    this.goOn();
  }

  question(more = {}) {
    const {game, start, actions, view} = this.state;
    return {game, start, actions, view, ...more};
  }

  async refresh() {
    const run = this.run;
    const position = await post("position", this.question());
    if (run === this.run) this.show(position);
  }

  get result() {
    const {resigned, flagged} = this.state;
    const lost = resigned ?? flagged;
    if (lost !== null) return lost === 0 ? -1 : 1;
    return this.position.result;
  }

  isPersons(player) {
    return this.state.opponent === PERSON || player === this.state.person;
  }

  show(position) {
    this.position = position;
    store("game", this.state);
    const over = this.result !== null;
    const mine = !over && this.isPersons(position.to_play);
    this.board.show(position, mine);
    this.status.textContent = over ? this.outcome() : mine
      ? `${position.sides[position.to_play]} to move${this.state.opponent === PERSON ? "" : ": your turn"}`
      : `${position.sides[position.to_play]} thinks`;
    this.listMoves();
    this.showClock();
    const button = (text, call, enabled = true) => make("button", {onclick: call, disabled: !enabled}, text);
    const form = choice(this.choices.forms.map(one => [one, one]), this.choices.forms[0], () => {});
    form.ariaLabel = "Format of the file";
    this.buttons.replaceChildren(
      button("Take back", () => this.takeBack(), this.state.actions.length > 0 || this.state.resigned !== null),
      button("Hint", () => this.hint(), mine),
      button("Turn the board", () => this.turn()),
      button("Resign", () => this.resign(), !over),
      button("Analyse", () => {
        const {game, start, actions} = this.state;
        store("handed", {game, start, actions, ply: actions.length});
        location.hash = "analyse";
      }),
      make("span", {className: "buttons"}, button("Save as", () => this.save(form.value)), form),
    );
  }

  outcome() {
    const {sides, reason} = this.position;
    const {resigned, flagged, opponent, person} = this.state;
    const why = resigned !== null ? "resignation" : flagged !== null ? "time" : reason;
    if (this.result === 0) return `A draw (${why}).`;
    const winner = this.result > 0 ? 0 : 1;
    const who = opponent === PERSON ? `${sides[winner]} wins` : winner === person ? "You win" : "You lose";
    return `${who} (${why}).`;
  }

  listMoves() {
    const {moves, movers} = this.position;
    const rows = [];
    let cell = null;
    let before = null;
    moves.forEach((text, ply) => {
      const mover = movers[ply];
      if (mover === before) {
        cell.append(", ", make("span", {className: ply === moves.length - 1 ? "last" : ""}, text));
      } else {
        if (mover === 0 || before === null) {
          rows.push(make("span", {className: "number"}, `${rows.filter(row => row.className === "number").length + 1}.`));
          if (mover === 1) rows.push(make("span", {}, "…"));
        }
        cell = make("span", {}, make("span", {className: ply === moves.length - 1 ? "last" : ""}, text));
        rows.push(cell);
      }
      before = mover;
    });
    this.moves.replaceChildren(...rows);
    this.moves.scrollTop = this.moves.scrollHeight;
  }

  // Seconds left to a player, with the move that is being thought of.
  left(player) {
    const {clock} = this.state;
    const runs = this.result === null && this.position.to_play === player && this.state.actions.length > 0;
    return clock.left[player] - (runs ? (performance.now() - this.since) / 1000 : 0);
  }

  showClock() {
    const {clock} = this.state;
    this.clocks.replaceChildren(...(clock ? [0, 1].map(player => make("span", {
      className: this.result === null && this.position.to_play === player ? "runs" : "",
    }, `${this.position.sides[player]} ${clockText(this.left(player))}`)) : []));
  }

  tick() {
    if (!this.position || this.result !== null) return;
    const player = this.position.to_play;
    if (this.left(player) <= 0) {
      this.run += 1;
      this.thinking?.abort();
      this.state.clock.left[player] = 0;
      this.state.flagged = player;
      this.show(this.position);
    }
    this.showClock();
  }

  // Stops the clock of who has moved and starts the other's.
  press(player) {
    const {clock} = this.state;
    if (clock) clock.left[player] = this.left(player) + (this.state.actions.length ? clock.increment : 0);
    this.since = performance.now();
  }

  async play(move) {
    this.error.textContent = "";
    this.advice.replaceChildren();
    this.press(this.position.to_play);
    this.state.actions = [...this.state.actions, move.action];
    try {
      await this.refresh();
      this.goOn();
    } catch (error) {
      this.fail(error);
      this.state.actions = this.state.actions.slice(0, -1);
      this.show(this.position);
    }
  }

  // Lets the opponent move until it is the person's turn.
  async goOn() {
    const run = this.run;
    while (run === this.run && this.result === null && !this.isPersons(this.position.to_play)) {
      this.thinking = new AbortController();
      try {
        const {opponent, level} = this.state;
        const answer = await post("move", this.question({opponent, level}), this.thinking.signal);
        if (run !== this.run) return;
        this.press(this.position.to_play);
        this.state.actions = [...this.state.actions, answer.action];
        this.show(answer.position);
        this.note.textContent = `${answer.text} after ${answer.nodes.toLocaleString("en")} nodes; the opponent expects ${Math.round(100 * answer.score)} % of the points.`;
      } catch (error) {
        if (run !== this.run) return;
        this.fail(error);
        this.status.textContent = "The opponent did not answer.";
        this.buttons.prepend(make("button", {className: "main", onclick: () => { this.error.textContent = ""; this.show(this.position); this.goOn(); }}, "Ask again"));
        return;
      }
    }
  }

  async takeBack() {
    this.run += 1;
    this.thinking?.abort();
    const state = this.state;
    const wasOver = state.resigned !== null || state.flagged !== null;
    state.resigned = state.flagged = null;
    if (!wasOver || !this.isPersons(this.position.to_play)) {
      const movers = this.position.movers;
      let ply = state.actions.length - 1;
      while (ply > 0 && !this.isPersons(movers[ply])) ply -= 1;
      state.actions = state.actions.slice(0, Math.max(0, ply));
    }
    this.note.textContent = "";
    this.advice.replaceChildren();
    this.since = performance.now();
    await this.refresh().then(() => this.goOn(), error => this.fail(error));
  }

  async turn() {
    this.state.view = 1 - this.state.view;
    await this.refresh().catch(error => this.fail(error));
  }

  resign() {
    this.run += 1;
    this.thinking?.abort();
    this.state.resigned = this.state.opponent === PERSON ? this.position.to_play : this.state.person;
    this.show(this.position);
  }

  async hint() {
    const run = this.run;
    const ply = this.state.actions.length;
    this.error.textContent = "";
    this.note.textContent = "Thinking of a hint.";
    const opponent = this.state.opponent === PERSON ? this.choices.opponents[0].key : this.state.opponent;
    try {
      const level = Math.max(7, this.state.level);
      const found = await post("hint", this.question({opponent, level}));
      if (run !== this.run || ply !== this.state.actions.length) return;
      this.note.textContent = `${found.nodes.toLocaleString("en")} nodes; you may expect ${Math.round(100 * found.score)} % of the points.`;
      const percent = value => value === null ? "" : `${(100 * value).toFixed(1)} %`;
      const head = make("tr", {}, ...["move", "policy", "search", "value"].map(text => make("th", {}, text)));
      const rows = found.moves.map(move => make("tr", {},
        ...[move.text, percent(move.policy), percent(move.visits), percent(move.score)].map(text => make("td", {}, text))));
      this.advice.replaceChildren(make("table", {className: "rows"}, head, ...rows));
      const cells = new Map(this.position.legal.map(move => [move.action, move.cells]));
      this.board.mark(found.moves.slice(0, 3).filter((move, rank) => rank === 0 || move.visits > 0.1)
        .map(move => ({cells: cells.get(move.action) ?? [], weight: Math.max(0.2, move.visits)})));
    } catch (error) {
      this.note.textContent = "";
      this.fail(error);
    }
  }

  async save(form) {
    const {person, opponent, resigned} = this.state;
    const name = this.choices.opponents.find(one => one.key === opponent)?.title ?? "a person";
    const names = ["you", name];
    try {
      const file = await post("save", this.question({form, resigned, names: person === 0 ? names : names.reverse()}));
      download(file.name, file.text);
    } catch (error) {
      this.fail(error);
    }
  }
}
