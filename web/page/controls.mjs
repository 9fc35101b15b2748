// The form: one control for each field that the question has, made from the table in fields.mjs.
import { chosen, fieldsOf } from './fields.mjs';
import { jsonKey } from './runtimes.mjs';
import { modelsMarkup, wireSearch } from './models.mjs';
import { cardTitle, escaped, grouped } from './units.mjs';

const byId = (id) => document.getElementById(id);

const optionsMarkup = (options) => options
  .map(([value, label]) => `<option value="${escaped(value)}">${escaped(label)}</option>`).join('');

/** Options as they are, and a value that a link brought. */
function withValue(options, value) {
  return options.some(([option]) => option === value) ? options : [...options, [value, value]];
}

function sliderMarkup({ name, label, unit, stops }) {
  return `<div class="field slider" data-field="${name}"><label for="f-${name}">${label}</label>`
    + `<input id="f-${name}" class="figure" inputmode="numeric" autocomplete="off" aria-describedby="u-${name}">`
    + `<span id="u-${name}" class="unit">${unit}</span>`
    + `<input id="s-${name}" type="range" min="0" max="${stops.length - 1}" step="1" aria-label="${label}, ${unit}"></div>`;
}

function choiceMarkup({ name, label, options }) {
  const radios = options({}).map(([value, text], i) => `<label><input type="radio" name="${name}" value="${value}" id="f-${name}-${i}"><span>${text}</span></label>`);
  return `<fieldset class="field choice" data-field="${name}"><legend>${label}</legend>${radios.join('')}</fieldset>`;
}

function fieldMarkup(field) {
  if (field.kind === 'slider') return sliderMarkup(field);
  if (field.kind === 'choice') return choiceMarkup(field);
  const { name, label } = field;
  const control = field.kind
    ? `<input id="f-${name}" autocomplete="off" placeholder="${field.placeholder}"${field.kind === 'number' ? ' inputmode="numeric"' : ''}>`
    : `<select id="f-${name}"></select>`;
  return `<div class="field" data-field="${name}"><label for="f-${name}">${label}</label>${control}</div>`;
}

const nearest = (stops, value) => stops.reduce(
  (best, stop, i) => (Math.abs(Math.log(stop / value)) < Math.abs(Math.log(stops[best] / value)) ? i : best), 0);

/** What the list of cards has where several are named between commas. */
export const SEVERAL = 'several:';

export class Controls {
  #fields;
  #facts;
  #models;
  #change;
  #shown = new Map();
  #cards = new Set();
  #others = new Set();
  #question = {};

  /** `astray` says which settings of a question have no meaning in it; `change` is told the question
   * that a control makes of the one before. */
  constructor({ models, cards, other_cards: others }, runtimes, astray, change) {
    this.#fields = fieldsOf(runtimes, astray);
    this.#facts = { fields: this.#fields, runtimes, astray };
    this.#models = models;
    this.#change = change;
    for (const group of ['run', 'less', 'card']) {
      const markup = this.#fields.filter((field) => field.group === group).map(fieldMarkup).join('');
      byId(`group-${group}`).insertAdjacentHTML('beforeend', markup);
    }
    this.#fillModels();
    this.#fillCards(cards, others);
    for (const field of this.#fields) this.#listen(field);
  }

  get question() {
    return this.#question;
  }

  /** Those that the question's runtime reads. */
  #readable() {
    const { name } = this.#facts.runtimes.of(this.#question);
    return this.#models.filter((model) => model.parameters || model.runtimes.includes(name));
  }

  #fillModels() {
    byId('model').innerHTML = modelsMarkup(this.#models);
    wireSearch(byId('model-find'), byId('model'), this.#models, () => this.#readable(), (text) => {
      byId('model-note').textContent = text;
    });
  }

  #fillCards(cards, others) {
    const options = (list) => optionsMarkup(list.map(({ name, title, vram }) => [name, `${Math.round(vram / 2 ** 30)} GiB · ${cardTitle(title)}`]));
    const macs = ({ name }) => name.startsWith('mac-');
    byId('card').innerHTML = options(cards)
      + `<optgroup label="Macs, under llama.cpp">${options(others.filter(macs))}</optgroup>`
      + `<optgroup label="AMD, under llama.cpp">${options(others.filter((one) => !macs(one)))}</optgroup>`
      + optionsMarkup([['', 'another size …'], [SEVERAL, 'three cards or more …']]);
    byId('second').innerHTML = optionsMarkup([['', 'none']]) + options(cards);
    this.#others = new Set(others.map(({ name }) => name));
    this.#cards = new Set(cards.map(({ name }) => name));
  }

  #listen(field) {
    const { name } = field;
    const tell = (value) => this.#change(chosen(this.#question, field, value, this.#facts));
    if (field.kind === 'choice') {
      for (const radio of document.querySelectorAll(`input[name="${name}"]`)) {
        radio.addEventListener('change', () => tell(radio.value));
      }
      return;
    }
    const control = byId(`f-${name}`);
    control.addEventListener(field.options ? 'change' : 'input', () => tell(control.value.trim()));
    if (field.kind === 'slider') {
      const slider = byId(`s-${name}`);
      slider.addEventListener('input', () => tell(String(field.stops[slider.value])));
    }
  }

  /** The question on another card: one that CUDA does not know is llama.cpp's alone. */
  on(card) {
    const { gpu, vram, ...rest } = this.#question;
    const next = { ...rest, gpu: card };
    const known = this.#facts.runtimes.of(next);
    if (!this.#others.has(card) || known.other_platforms) return next;
    const other = this.#facts.runtimes.all.find(({ other_platforms: takes }) => takes);
    return chosen(next, this.#fields.find(({ name }) => name === 'runtime'), other.name, this.#facts);
  }

  /** Shows the question. What is being typed in is left alone. */
  show(question) {
    this.#question = question;
    for (const field of this.#fields) this.#showField(field);
    this.#showModel();
    this.#showCard();
  }

  /** Shows what sizes are that were not given: `asked` is an answer's. */
  showDefaults(asked) {
    for (const { name, stops } of this.#fields.filter(({ sized }) => sized)) {
      const given = asked[jsonKey(name)];
      if (this.#question[name] || !given) continue;
      byId(`f-${name}`).placeholder = given;
      byId(`s-${name}`).value = nearest(stops, given);
    }
  }

  /** What a field shows follows from these flags; where they are as before, so is it. */
  #same({ name, get }) {
    const { runtime, train, lora, quant, gpus, strategy, precision, autocast } = this.#question;
    const key = [get(this.#question), runtime, train, lora, quant, gpus, strategy, precision, autocast].join('|');
    const same = this.#shown.get(name) === key;
    this.#shown.set(name, key);
    return same;
  }

  #showField(field) {
    const { name } = field;
    const typing = document.activeElement?.id === `f-${name}`;
    if (this.#same(field) && !typing) return;
    const holder = document.querySelector(`[data-field="${name}"]`);
    holder.hidden = !field.when(this.#question);
    if (holder.hidden) return;
    const value = String(field.get(this.#question));
    if (field.kind === 'choice') {
      for (const radio of holder.querySelectorAll('input')) radio.checked = radio.value === value;
      return;
    }
    const control = byId(`f-${name}`);
    if (field.options) {
      const markup = optionsMarkup(withValue(field.options(this.#question), value));
      if (control.dataset.markup !== markup) {
        control.innerHTML = markup;
        control.dataset.markup = markup;
      }
    }
    if (control !== document.activeElement && control.value !== value) control.value = value;
    if (field.options && control.value !== value) control.value = value;
    if (field.kind === 'slider' && Number(value) > 0) {
      const slider = byId(`s-${name}`);
      const stop = nearest(field.stops, Number(value));
      if (slider.value !== String(stop)) slider.value = stop;
      slider.setAttribute('aria-valuetext', `${grouped(value)} ${field.unit}`);
    }
  }

  #showModel() {
    const { model, config, params } = this.#question;
    const select = byId('model');
    const shipped = this.#models.some(({ name }) => name === model);
    const { name } = this.#facts.runtimes.of(this.#question);
    const bare = byId('more-models');
    if (bare) bare.hidden = !this.#models.some((one) => !one.parameters && one.runtimes.includes(name));
    const kind = params !== undefined ? 'params:' : config !== undefined && !byId('hub-id').value ? 'config:' : shipped && config === undefined ? model : 'hub:';
    if (select !== document.activeElement) select.value = kind;
    for (const part of ['params', 'hub', 'config']) byId(`model-${part}`).hidden = select.value !== `${part}:`;
    if (params !== undefined && byId('params') !== document.activeElement) byId('params').value = params;
    if (kind === 'hub:' && model && byId('hub-id') !== document.activeElement) byId('hub-id').value = model;
  }

  #showCard() {
    const { gpu, vram } = this.#question;
    const select = byId('card');
    const names = gpu?.split(',') ?? [];
    const two = names.length === 2 && names.every((name) => this.#cards.has(name));
    const machine = names.length > 1 && !two;
    const { machines } = this.#facts.runtimes.of(this.#question);
    select.querySelector(`[value="${SEVERAL}"]`).hidden = !machines;
    select.value = machine ? SEVERAL : names[0] ?? '';
    byId('second-field').hidden = !machines || machine || !this.#cards.has(select.value);
    byId('second').value = two ? names[1] : '';
    byId('machine-field').hidden = !machine;
    const list = byId('machine');
    if (list !== document.activeElement) list.value = machine ? gpu : '';
    byId('vram-field').hidden = Boolean(gpu) && vram === undefined;
    const size = byId('vram');
    if (size !== document.activeElement) size.value = vram ?? '';
  }
}
