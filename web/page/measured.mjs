// Runs that were measured, nearest to the question, and how far the prediction is from each.
import { escaped, figure, percent } from './units.mjs';

export const NEAREST = 4;

const log = (a, b) => Math.abs(Math.log2(Math.max(1, a) / Math.max(1, b)));

const USUAL_ATTENTION = { pytorch: 'sdpa', vramfit: 'flash' };

/** How unlike they are: another family, task or optimizer weighs as much as a size many times off. */
function distance(asked, parameters, family, measured) {
  const { flags } = measured;
  let far = 2 * log(parameters, measured.parameters) + log(asked.batch * asked.seq, flags.batch * flags.seq);
  const differs = (a, b, weight) => {
    if ((a ?? '') !== (b ?? '')) far += weight;
  };
  differs(asked.mode === 'training', Boolean(flags.train), 100);
  differs(family, measured.family, 2);
  differs(asked.precision, flags.precision, 3);
  differs(asked.optimizer ?? undefined, flags.train ? flags.optimizer : undefined, 3);
  differs(Boolean(asked.lora), Boolean(flags.lora), 6);
  differs(asked.checkpoint ?? undefined, flags.checkpoint, 4);
  differs(asked.quant ?? undefined, flags.quant, 5);
  differs(asked.autocast ?? undefined, flags.autocast, 3);
  differs(asked.strategy ?? undefined, flags.strategy, 6);
  differs(asked.attention, flags.attention ?? USUAL_ATTENTION[flags.runtime], 3);
  return far + log(asked.gpus ?? 1, flags.gpus ?? 1) + log(asked.accumulate ?? 1, flags.accumulate ?? 1);
}

/** Of the table that the build made, those of the runtime that are nearest. */
export function nearest(cases, answer) {
  return cases
    .filter(({ flags }) => flags.runtime === answer.runtime)
    .map((measured) => ({ measured, far: distance(answer.asked, answer.model.parameters, answer.model.family, measured) }))
    .sort((a, b) => a.far - b.far)
    .slice(0, NEAREST)
    .map(({ measured }) => measured);
}

/** What fit is asked about a case. */
export const flagsOf = (measured, configs) => ({
  ...measured.flags, model: measured.model, config: configs[measured.config], gpu: measured.gpu,
});

/** Whose run it was, for the table's caption. */
export const WHOSE = { pytorch: 'under PyTorch 2.11', vramfit: 'of vramfit’s own step' };

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
