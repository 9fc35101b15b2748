// Runs that were measured, nearest to the question, and how far the prediction is from each.
import { cardTitle, escaped, figure, percent } from './units.mjs';

const NEAREST = 4;

/** What weighs more than a size that is twice the other. */
const WEIGHTS = {
  mode: 100, strategy: 6, 'quant.format': 5, checkpoint: 4, precision: 3, autocast: 3, optimizer: 3,
  attention: 3, 'lora.targets': 3, cache: 3, family: 2, parameters: 2,
};

/** By name what is not left out: {"lora.rank": 16, "lora.targets": "q_proj,v_proj"}. */
const flat = (values, within = '') => Object.entries(values).flatMap(([name, value]) => {
  if (value === null || value === false) return [];
  if (Array.isArray(value)) return [[within + name, value.join()]];
  return typeof value === 'object' ? flat(value, `${within}${name}.`) : [[within + name, value]];
});

/** All that tells a run from others, as the estimator understood the question. */
export function axesOf({ asked, model }) {
  const { assumed, runs_with, ...axes } = asked; // which words say again
  return Object.fromEntries(flat({ ...axes, family: model.family, parameters: model.parameters }));
}

/** How unlike two runs are: sizes by how often one doubles to be the other, all else by whether it differs. */
function distance(one, other) {
  let far = 0;
  for (const name of Object.keys({ ...one, ...other })) {
    const [a, b] = [one[name], other[name]];
    if (a === b) continue;
    const sizes = typeof (a ?? b) === 'number';
    const unlike = sizes ? Math.abs(Math.log2(Math.max(1, a ?? 1) / Math.max(1, b ?? 1))) : 1;
    far += (WEIGHTS[name] ?? 1) * unlike;
  }
  return far;
}

/** Of the table that the build made, those of the runtime that are nearest. */
export function nearest(cases, answer) {
  const axes = axesOf(answer);
  return cases
    .filter(({ flags }) => flags.runtime === answer.runtime)
    .map((measured) => ({ measured, far: distance(axes, measured.axes) }))
    .sort((a, b) => a.far - b.far)
    .slice(0, NEAREST)
    .map(({ measured }) => measured);
}

/** What fit is asked about a case. */
export const flagsOf = (measured, configs) => ({
  ...measured.flags, model: measured.model, config: configs[measured.config], gpu: measured.gpu,
});

const WHOSE = { pytorch: 'under PyTorch 2.11', vramfit: 'of vramfit’s own step' };

/** What the table of them shows; `cards` are the catalogue's. */
export function captionOf(near, cards) {
  const titles = near.map(({ gpu }) => `the ${cardTitle(cards.find(({ name }) => name === gpu).title)}`);
  const where = [...new Set(titles)].join(' and ');
  return `GB on ${where} ${WHOSE[near[0].flags.runtime]}, and how far the prediction is from it`;
}

/** What was predicted of the steps that were measured. */
export function predictedOf(answer, measured) {
  const stages = answer.stages.filter(({ step, name }) => name !== 'loaded' && step <= (measured.steps || Infinity));
  const highest = (key) => Math.max(...stages.map((stage) => stage[key]));
  return { peak: highest('peak'), reserved: highest('peak_reserved'), device_used: highest('device_used') };
}

export function rowMarkup(measured, predicted) {
  const cell = (key) => {
    const error = predicted ? `<small>${percent(predicted[key] / measured[key] - 1)}</small>` : '<small>…</small>';
    return `<td>${figure(measured[key])} ${error}</td>`;
  };
  return `<tr><th scope="row">${escaped(measured.title)}</th>${cell('peak')}${cell('reserved')}${cell('device_used')}</tr>`;
}
