// What would make it fit, as `vramfit --advise` gives it: on the GPUs asked about, on several, on other cards.
import { escaped, figure, unbroken } from './units.mjs';

/** Every change there is a button for, in the buttons' order. */
export const waysOf = ({ advice, on_several_gpus: several }) => [...advice, ...several];

const time = (slowdown) => (slowdown === null ? 'time not measured' : `${slowdown.toFixed(2)} × the time`);

const wayMarkup = (way, i) => `<li><button type="button" class="way" data-way="${i}">`
  + `<span class="what">${escaped(way.changes.join(', '))}</span>`
  + `<span class="facts"><span class="word ${way.verdict.toLowerCase()}">${way.verdict}</span> ${figure(way.total)} GB · ${time(way.slowdown)}</span>`
  + `<code>${unbroken(way.flags)}</code>${way.launch ? `<code>${unbroken(way.launch)}</code>` : ''}</button></li>`;

function cardsMarkup(names) {
  if (!names.length) return '<p class="hint">As it is it fits on no card there is data on.</p>';
  const buttons = names.map((name) => `<button type="button" class="link" data-card="${escaped(name)}">${escaped(name)}</button>`);
  return `<p class="hint">As it is it fits on ${buttons.join(', ')}.</p>`;
}

/** `more`: some is still to come. */
export function adviceMarkup(full, more) {
  if (full.verdict === 'FITS') return '<p class="hint">It fits as it is: nothing has to be changed.</p>';
  const rows = waysOf(full).map(wayMarkup);
  const count = full.advice.length;
  const list = (some) => `<ul class="ways">${some.join('')}</ul>`;
  const here = full.asked.gpus > 1 ? `these ${full.asked.gpus} GPUs` : 'one GPU';
  const none = more ? '' : `<p class="hint">Nothing that could be changed on ${here} makes it fit.</p>`;
  return (count ? list(rows.slice(0, count)) : none)
    + (rows.length > count
      ? `<h3>On several such GPUs</h3><p class="hint">${full.asked.mode === 'training'
        ? 'Each with a batch of its own unless said; total and time are each GPU’s.'
        : 'The total is the fullest one’s.'}</p>${list(rows.slice(count))}`
      : '')
    + cardsMarkup(full.fits_on);
}
