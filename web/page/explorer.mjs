// The batch size explorer: memory against batch or sequence, each point a run on paper of its own;
// and the walk along it into the cliff.
import { curveHeight, curveMarkup, groupsOf, legendMarkup } from './curve.mjs';
import { searchOf, sized, withoutCard } from './question.mjs';
import { jsonKey, named } from './runtimes.mjs';
import { show } from './svg.mjs';
import { cardTitle, escaped, gb, grouped } from './units.mjs';
import { reason } from './verdict.mjs';

const POINTS = 40;
/** How far the curve goes at least and at most, and in steps of what at the finest. */
const COUNTS = { least: 8, most: 4096, unit: 1 };
const TOKENS = { least: 2048, most: 131072, unit: 128 };
const PACE = 320; // ms between two steps of the walk
const byId = (id) => document.getElementById(id);

export class Explorer {
  #shown; // the question whose axes are shown
  #wanted; // the axis that was chosen, under whichever runtime
  #axis;
  #background;
  #cards;
  #runtimes;
  #changed;
  #question;
  #model;
  #points = new Map();
  #sizes = [];
  #largest = new Map();
  #chosen;
  #walk = { at: undefined, end: false, timer: undefined };
  #use; // the size that the button would set: of the walk, the last that fits
  #someFit = false;
  #undrawn = byId('curve').getAttribute('aria-label');

  /** `changed` is called where the axis, or by a button the question, is another. */
  constructor(background, { cards, runtimes }, changed) {
    this.#background = background;
    this.#cards = cards;
    this.#runtimes = runtimes;
    this.#changed = changed;
    byId('play').addEventListener('click', () => this.#toggle());
    byId('step').addEventListener('click', () => this.#step());
    byId('use-size').addEventListener('click', () => changed({ size: this.#use }));
    byId('axes').addEventListener('change', ({ target }) => {
      this.show(this.#shown, target.value);
      changed({ axis: target.value });
    });
  }

  /** By its flag: what the curve is against. */
  get axis() {
    return this.#axis.name;
  }

  /** Shows the question's axes: the one that is wanted, or, under a runtime without it, the first. */
  show(question, wanted = this.#wanted) {
    const { axes } = this.#runtimes.of(question);
    this.#shown = question;
    this.#wanted = wanted;
    this.#axis = axes.find(({ name }) => name === wanted) ?? axes[0];
    const radio = ({ name, short }) => `<label><input type="radio" name="axis" value="${escaped(name)}"><span>${escaped(short)}</span></label>`;
    const markup = axes.map(radio).join('');
    if (byId('axes').dataset.markup !== markup) {
      byId('axes').dataset.markup = markup;
      byId('axes').innerHTML = `<legend class="unseen">Against</legend>${markup}`;
    }
    byId('explorer-title').textContent = `${axes[0].label} size explorer`;
    for (const one of byId('axes').querySelectorAll('input')) one.checked = one.value === this.axis;
  }

  /** What to ask about the question, whose answer is known; the list is done as answers come. */
  jobs(question, answer) {
    this.#forget();
    this.#question = question;
    this.#chosen = { name: answer.gpu.name, vram: answer.vram, title: answer.gpu.title, label: answer.gpu.name ? cardTitle(answer.gpu.title) : '' };
    this.#says('Animate walks up the curve, run by run, to the first that does not fit.');
    byId('explorer-wait').hidden = false;
    const given = Number(answer.asked[jsonKey(this.axis)]);
    return [{
      flags: searchOf(question, this.axis),
      done: (text) => this.#plan(JSON.parse(text), given),
      failed: (message) => this.refused(message),
    }];
  }

  /** No curve: nothing of the question before stays. */
  refused(message) {
    this.#forget();
    byId('explorer-wait').hidden = true;
    show(byId('curve'), '');
    byId('curve').setAttribute('aria-label', this.#undrawn);
    show(byId('curve-legend'), '');
    byId('largest').replaceChildren();
    for (const id of ['play', 'step']) byId(id).disabled = true;
    this.#says(message);
  }

  #forget() {
    this.#stop();
    this.#points = new Map();
    this.#sizes = [];
    this.#largest = new Map();
    this.#walk.at = undefined;
    this.#walk.end = false;
    this.#offer(undefined);
  }

  #says(text, verdict = '') {
    byId('walk-says').textContent = text;
    byId('walk-says').className = verdict.toLowerCase();
  }

  #named(size) {
    return named(this.#axis, size);
  }

  #offer(size) {
    this.#use = size;
    byId('use-size').disabled = size === undefined;
    byId('use-size').textContent = size === undefined ? 'Use it' : `Use ${this.#named(size)}`;
  }

  /** The largest is known: sizes around it, and then every card. */
  #plan(found, given) {
    const { largest } = found;
    const { least, most, unit: finest } = this.#axis.of_positions ? TOKENS : COUNTS;
    const unit = Math.max(finest, this.#axis.step);
    // A count that ends where the search did has no larger ones: layers, of which a model has so many.
    const last = !this.#axis.of_positions && largest > 0 && found.search_next === null ? largest : most;
    const top = Math.min(last, Math.max(least, Math.ceil(largest * 1.25), Math.ceil(given * 1.25)));
    const step = Math.max(unit, Math.ceil(top / POINTS / unit) * unit);
    const sizes = new Set([unit, given]);
    for (let size = step; size <= top; size += step) sizes.add(size);
    if (largest > 0) sizes.add(largest);
    if (0 < largest && largest < last) sizes.add(largest + (this.#axis.of_positions ? found.search_step ?? 1 : 1));
    this.#sizes = [...sizes].filter((size) => size > 0 && size <= last).sort((a, b) => a - b);
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
    this.#someFit = largest > 0;
    if (!this.#someFit) this.#says(`No ${this.#axis.noun} fits. Animate shows how far each is from it.`);
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
      axis: this.#axis, at: this.#walk.at, end: this.#walk.end,
    };
  }

  draw() {
    if (this.points.length < 2) return;
    const target = byId('curve');
    const width = target.parentElement.clientWidth;
    target.setAttribute('viewBox', `0 0 ${width} ${curveHeight}`);
    show(target, this.picture(width));
    const { points } = this;
    show(byId('curve-legend'), legendMarkup(points));
    target.setAttribute('aria-label', `Memory in GB by ${this.#axis.along}: ${[points[0], points.at(-1)].map(({ size, answer }) => `${gb(answer.total)} at ${size}`).join(' to ')}. The table has the largest of each card.`);
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
    byId('largest-what').textContent = this.#axis.noun;
  }

  #toggle() {
    if (this.#walk.timer) this.#stop();
    else this.#play();
  }

  #play() {
    byId('play').textContent = 'Pause';
    byId('play').setAttribute('aria-pressed', 'true');
    this.#step(true);
    this.#walk.timer = setInterval(() => this.#step(true), PACE);
  }

  #stop() {
    clearInterval(this.#walk.timer);
    this.#walk.timer = undefined;
    byId('play').textContent = 'Animate';
    byId('play').setAttribute('aria-pressed', 'false');
  }

  /** On to the next size. The walk ends in the first that does not fit; where none does, with the curve. */
  #step(playing = false) {
    if (!playing) this.#stop();
    const { points } = this;
    const next = this.#walk.end ? points[0] : points.find(({ size }) => size > (this.#walk.at ?? 0));
    if (!next) {
      this.#stop();
      return;
    }
    const { size, answer } = next;
    this.#walk.at = size;
    this.#walk.end = size === this.#sizes.at(-1) || (this.#someFit && !answer.fits);
    const named = this.#named(size);
    this.#says(`${named[0].toUpperCase()}${named.slice(1)}: ${answer.verdict}, ${gb(answer.total)} GB; ${reason(answer)}`, answer.fits ? answer.verdict : 'oom');
    this.#offer(points.filter((point) => point.size <= size && point.answer.fits).at(-1)?.size);
    if (this.#walk.end) this.#stop();
    this.draw();
  }
}
