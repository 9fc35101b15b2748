// The answer in words.
import { jsonKey, named } from './runtimes.mjs';
import { cardTitle, gb, words } from './units.mjs';

const moment = ({ stage, step }) => (step > 0 ? `${words(stage)} of step ${step}` : words(stage));

/** Of the card, "the RTX 4090's 25.76 GB". */
function ofCard(answer) {
  return answer.gpu.name ? `the ${cardTitle(answer.gpu.title)}'s ${gb(answer.vram)} GB` : `${gb(answer.vram)} GB`;
}

/** Why it is FITS, TIGHT or OOM. */
export function reason(answer) {
  const margin = gb(Math.abs(answer.margin));
  if (answer.verdict === 'FITS') return `${margin} GB to spare of ${ofCard(answer)}.`;
  const how = answer.margin >= 0 ? `${margin} GB to spare of` : `${margin} GB more than`;
  const missing = answer.out_of_memory;
  const where = missing
    ? `; it would run out in ${moment(missing)}, allocating ${gb(missing.requested)} GB of ${words(missing.component)}`
    : '';
  const off = answer.verdict === 'TIGHT' ? `, and figures may be off by ${gb(answer.uncertainty.total)} GB` : '';
  return `${how} ${ofCard(answer)}${off}${where}.`;
}

export function peak(answer) {
  return `The peak is in ${moment(answer.peak)}.`;
}

/** `axes`: of its runtime. */
export function whatRuns(answer, axes) {
  const { asked } = answer;
  const sizes = axes.map((axis) => [axis, asked[jsonKey(axis.name)]]).filter(([, size]) => size !== undefined)
    .map(([axis, size]) => named(axis, size));
  const gpus = asked.gpus > 1 ? `, on each of ${asked.gpus} GPUs${asked.strategy ? ` under ${asked.strategy}` : ''}` : '';
  return `${answer.model.name}, ${asked.mode}, ${sizes.join(', ')}${gpus}`;
}
