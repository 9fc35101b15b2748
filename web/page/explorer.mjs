// The batch size explorer: memory against batch or sequence, each point a run on paper of its own;
// and the walk along it into the cliff.
import { curveHeight, curveMarkup, groupsOf } from './curve.mjs';
import { searchOf, sized, withoutCard } from './question.mjs';
import { show } from './svg.mjs';
import { cardTitle, escaped, gb, grouped } from './units.mjs';
import { reason } from './verdict.mjs';

const POINTS = 40;
const LONGEST = 131072;
const PACE = 320; // ms between two steps of the walk
const byId = (id) => document.getElementById(id);

export class Explorer {
  axis = 'batch';
  #background;
  #cards;
  #changed;
  #question;
  #model;
  #points = new Map();
  #sizes = [];
  #largest = new Map();
  #chosen;
  #walk = { at: undefined, timer: undefined };

  /** `changed` is called where the axis, or by a button the question, is another. */
  constructor(background, cards, changed) {
    this.#background = background;
    this.#cards = cards;
    this.#changed = changed;
    byId('play').addEventListener('click', () => this.#toggle());
    byId('step').addEventListener('click', () => this.#step());
    byId('use-size').addEventListener('click', () => changed({ size: this.#walk.at }));
    for (const radio of document.querySelectorAll('input[name="axis"]')) {
      radio.addEventListener('change', () => {
        this.axis = radio.value;
        changed({ axis: radio.value });
      });
    }
  }

  /** What to ask about the question, whose answer is known; the list is done as answers come. */
  jobs(question, answer) {
    this.#stop();
    this.#question = question;
    this.#chosen = { name: answer.gpu.name, vram: answer.vram, title: answer.gpu.title, label: answer.gpu.name ? cardTitle(answer.gpu.title) : '' };
    this.#points = new Map();
    this.#sizes = [];
    this.#largest = new Map();
    this.#walk.at = undefined;
    for (const radio of document.querySelectorAll('input[name="axis"]')) radio.checked = radio.value === this.axis;
    byId('walk-says').className = '';
    byId('walk-says').textContent = 'Animate walks up the curve, run by run, to the first that does not fit.';
    byId('explorer-wait').hidden = false;
    const given = Number(this.axis === 'batch' ? answer.asked.batch : answer.asked.seq);
    return [{
      flags: searchOf(question, this.axis),
      done: (text) => this.#plan(JSON.parse(text), given),
      failed: (message) => this.#refused(message),
    }];
  }

  #refused(message) {
    byId('explorer-wait').hidden = true;
    byId('curve').replaceChildren();
    byId('largest').replaceChildren();
    byId('walk-says').textContent = message;
    for (const id of ['play', 'step', 'use-size']) byId(id).disabled = true;
  }

  /** The largest is known: sizes around it, and then every card. */
  #plan(found, given) {
    const largest = found[`max_${this.axis}`];
    const unit = this.axis === 'batch' ? 1 : 128;
    const least = this.axis === 'batch' ? 8 : 2048;
    const most = this.axis === 'batch' ? 4096 : LONGEST;
    const top = Math.min(most, Math.max(least, Math.ceil(largest * 1.25), Math.ceil(given * 1.25)));
    const step = Math.max(unit, Math.ceil(top / POINTS / unit) * unit);
    const sizes = new Set([unit, given]);
    for (let size = step; size <= top; size += step) sizes.add(size);
    if (largest > 0) sizes.add(largest).add(largest + (this.axis === 'batch' ? 1 : found.search_step ?? 1));
    this.#sizes = [...sizes].filter((size) => size > 0 && size <= most).sort((a, b) => a - b);
    if (this.#chosen.name) this.#largest.set(this.#chosen.name, found);
    // Every fourth first: the whole curve is there soon, and then more of it.
    const order = [0, 2, 1, 3].flatMap((from) => this.#sizes.filter((_, i) => i % 4 === from));
    for (const size of order) {
      this.#background.add({
        kind: 'estimate',
        flags: sized(this.#question, this.axis, size),
        done: (text) => this.#point(size, JSON.parse(text)),
        failed: () => this.#point(size, undefined),
      });
    }
    this.#background.add({
      flags: withoutCard(searchOf(this.#question, this.axis)),
      done: (text) => this.#everyCard(JSON.parse(text)),
    });
    for (const id of ['play', 'step']) byId(id).disabled = false;
    this.#table();
  }

  #point(size, answer) {
    if (!answer) this.#sizes = this.#sizes.filter((other) => other !== size);
    else this.#points.set(size, { size, answer });
    byId('explorer-wait').hidden = this.#points.size > 1;
    if (this.#points.size >= Math.min(10, this.#sizes.length)) this.draw();
  }

  #everyCard(found) {
    for (const card of found.cards ?? []) this.#largest.set(card.gpu.name, card);
    this.#table();
    this.draw();
  }

  /** The curve without the page around it, for exports. */
  picture(width) {
    return curveMarkup(this.#state(), width);
  }

  get points() {
    return this.#sizes.map((size) => this.#points.get(size)).filter(Boolean);
  }

  #state() {
    return {
      points: this.points, groups: groupsOf(this.#cards), chosen: this.#chosen, largest: this.#largest,
      axis: this.axis, at: this.#walk.at, end: this.#walk.end,
    };
  }

  draw() {
    if (this.points.length < 2) return;
    const target = byId('curve');
    const width = target.parentElement.clientWidth;
    target.setAttribute('viewBox', `0 0 ${width} ${curveHeight}`);
    show(target, this.picture(width));
    const { points } = this;
    target.setAttribute('aria-label', `Memory in GB by ${this.axis === 'batch' ? 'batch size' : 'sequence length'}: ${[points[0], points.at(-1)].map(({ size, answer }) => `${gb(answer.total)} at ${size}`).join(' to ')}. The table has the largest of each card.`);
  }

  /** The largest of each card. */
  #table() {
    const rows = groupsOf(this.#cards).map(({ size, cards }) => {
      const known = cards.map(({ name }) => this.#largest.get(name)).filter(Boolean);
      const names = cards.map(({ title }) => cardTitle(title));
      return { size, names: [...new Set(names)].join(', '), mine: cards.some(({ name }) => name === this.#chosen.name), known };
    });
    const cell = (known, key) => {
      if (!known.length) return '…';
      const all = known.map((card) => card[key]);
      const [low, high] = [Math.min(...all), Math.max(...all)];
      if (high === 0) return 'OOM';
      return low === high ? grouped(high) : `${grouped(low)} – ${grouped(high)}`;
    };
    byId('largest').innerHTML = rows.map(({ size, names, mine, known }) => `<tr${mine ? ' class="mine"' : ''}><th scope="row">${size} GiB</th><td>${escaped(names)}</td><td>${cell(known, 'largest_surely')}</td><td>${cell(known, 'largest')}</td></tr>`).join('');
    byId('largest-what').textContent = this.axis === 'batch' ? 'batch' : 'sequence';
  }

  #toggle() {
    if (this.#walk.timer) this.#stop();
    else this.#play();
  }

  #play() {
    byId('play').textContent = 'Pause';
    byId('play').setAttribute('aria-pressed', 'true');
    if (this.#walk.end) this.#walk.at = undefined;
    this.#step(true);
    this.#walk.timer = setInterval(() => this.#step(true), PACE);
  }

  #stop() {
    clearInterval(this.#walk.timer);
    this.#walk.timer = undefined;
    byId('play').textContent = 'Animate';
    byId('play').setAttribute('aria-pressed', 'false');
  }

  /** On to the next size; where it does not fit the walk ends. */
  #step(playing = false) {
    if (!playing) this.#stop();
    const { points } = this;
    const next = this.#walk.end ? points[0] : points.find(({ size }) => size > (this.#walk.at ?? 0));
    if (!next) {
      this.#stop();
      return;
    }
    this.#walk.at = next.size;
    this.#walk.end = !next.answer.fits;
    const what = this.axis === 'batch' ? `Batch ${next.size}` : `${grouped(next.size)} tokens`;
    byId('walk-says').textContent = `${what}: ${next.answer.verdict}, ${gb(next.answer.total)} GB; ${reason(next.answer)}`;
    byId('walk-says').className = this.#walk.end ? 'oom' : next.answer.verdict.toLowerCase();
    byId('use-size').disabled = false;
    byId('use-size').textContent = `Use ${what.toLowerCase()}`;
    if (this.#walk.end) this.#stop();
    this.draw();
  }
}
