// What each device and the host hold, where an answer tells that; what the runtime would choose by
// itself; and the largest sizes that fit.
import { jsonKey } from './runtimes.mjs';
import { escaped, figure, grouped } from './units.mjs';

const sum = (parts) => Object.values(parts).reduce((total, bytes) => total + bytes, 0);

/** The table's head and rows: a column a part, of those that any device has. */
export function devicesMarkup(devices) {
  const names = [...new Set(devices.flatMap(({ parts }) => Object.keys(parts)))];
  const cell = (bytes) => `<td>${bytes === undefined ? '' : figure(bytes)}</td>`;
  const head = ['GB', ...names, 'total'].map((name) => `<th scope="col">${escaped(name)}</th>`).join('');
  const rows = devices.map(({ device, parts }) => `<tr><th scope="row">${escaped(device)}</th>${names.map((name) => cell(parts[name])).join('')}${cell(sum(parts))}</tr>`);
  return { head: `<tr>${head}</tr>`, rows: rows.join('') };
}

/** Its own choice as flags of a question. */
export const flagsOfChoice = (choice) => Object.fromEntries(
  Object.entries(choice).map(([key, value]) => [key.replaceAll('_', '-'), value]));

/** A button for it, where it is another than what was asked. */
export function choiceMarkup(choice, asked) {
  if (Object.entries(choice).every(([key, value]) => String(asked[key]) === value)) return 'Left to itself it would be started so on this card.';
  const flags = Object.entries(flagsOfChoice(choice)).map(([flag, value]) => `--${flag} ${value}`).join(' ');
  return `Left to itself it would be started on this card with <button type="button" class="link">${escaped(flags)}</button>`;
}

/** What is known so far of the largest of each axis: [axis, answer of the search]. */
export const largestMarkup = (found) => found
  .map(([axis, answer]) => [axis, answer[`max_${jsonKey(axis.name)}`]])
  .map(([{ label, of_names: names }, most]) => `${escaped(label)} ${most ? escaped(names ? most : grouped(most)) : 'none'}`)
  .join(' · ');
