// Bytes as people read them: GB are 1e9 bytes.

export const GB = 1e9;

/** "12.3", with as many decimals as a figure of its size needs. */
export function gb(bytes) {
  const value = Math.abs(bytes) / GB;
  if (bytes !== 0 && value < 0.005) return '<0.01';
  return (bytes / GB).toFixed(value >= 100 ? 1 : 2);
}

export const grouped = (number) => Number(number).toLocaleString('en-US');

/** "13.5B": of parameters. */
export function short(count) {
  for (const [unit, size] of [['T', 1e12], ['B', 1e9], ['M', 1e6], ['K', 1e3]]) {
    if (count >= 0.9995 * size) return `${+(count / size).toPrecision(3)}${unit}`;
  }
  return String(count);
}

export const percent = (part) => `${part < 0 ? '−' : '+'}${Math.abs(100 * part).toFixed(2)} %`;

/** "largest_batch" as words. */
export const words = (name) => name.replaceAll('_', ' ');

const ENTITIES = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

/** Text within markup. */
export const escaped = (text) => String(text).replace(/[&<>"]/g, (c) => ENTITIES[c]);

/** "NVIDIA GeForce RTX 4090" without what everybody knows. */
export const cardTitle = (title) =>
  title.replace(/^NVIDIA (GeForce )?/, '').replace(' Workstation Edition', '').replace(' Generation', '');

/** A figure in GB within markup. */
export const figure = (bytes) => escaped(gb(bytes));

/** A command's flags, each with its value on one line. */
export const unbroken = (command) => command.split(/ (?=--)/)
  .map((part) => `<span class="unbroken">${escaped(part)}</span>`).join(' ');
