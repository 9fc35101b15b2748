// What a run takes at its peak as one bar: what tensors hold by component, what the allocator holds
// beside them, what driver and libraries take; and the card's end.
import { escaped, figure, GB, gb, words } from './units.mjs';

const COMPONENTS = [
  'parameters', 'gradients', 'optimizer_state', 'activations', 'kv_cache', 'workspace', 'inputs',
  'communication',
];

/** From left to right: {name, label, bytes}; in sum the total. */
export function partsOf(answer) {
  const { levels, components } = answer;
  const label = { kv_cache: 'KV cache' };
  return [
    ...COMPONENTS.map((name) => ({
      name, label: label[name] ?? words(name), bytes: components[name] ?? 0,
    })),
    { name: 'gaps', label: 'reserved beyond', bytes: Math.max(0, levels.reserved - levels.allocated) },
    { name: 'overhead', label: 'driver, context, libraries', bytes: answer.overhead },
  ];
}

/** 1, 2 or 5 times a power of ten, so that about `count` steps make `top`. */
export function niceStep(top, count) {
  const rough = top / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].map((n) => n * power).find((step) => step >= rough);
}

const text = (x, y, anchor, content, kind = '') =>
  `<text x="${x.toFixed(1)}" y="${y}" text-anchor="${anchor}" class="${kind}">${escaped(content)}</text>`;

const VRAM_LABEL = 110; // px that "VRAM 25.76 GB" needs

/** A label beside `x` that stays within the picture. */
const beside = (x, width) => (x + VRAM_LABEL > width ? ['end', -6] : ['start', 6]);

const TOP = 34;
const THICK = 44;
const HEIGHT = 160;

const HATCH = '<defs><pattern id="hatch" width="7" height="7" patternUnits="userSpaceOnUse" '
  + 'patternTransform="rotate(45)"><rect width="2.2" height="7" class="stripe"/></pattern></defs>';

const LABEL = 46; // px that a part's figure needs

/** Where a figure has room between `from` and `to`, and the line does not cross it: of the longer side. */
function roomFor(from, to, line) {
  const crossed = Math.abs(line - (from + to) / 2) < LABEL / 2;
  const [low, high] = !crossed ? [from, to] : line - from > to - line ? [from, line] : [line, to];
  return high - low > LABEL ? (low + high) / 2 : undefined;
}

/** What the total may be, least and most. */
function rangeOf({ total, uncertainty }) {
  const off = uncertainty ?? { reserved: 0, overhead_less: 0, overhead_more: 0 };
  return [Math.max(0, total - off.reserved - off.overhead_less), total + off.reserved + off.overhead_more];
}

/** The bar's inside, of so many pixels' width. */
export function barMarkup(answer, width) {
  const parts = partsOf(answer);
  const [least, may] = rangeOf(answer);
  const room = answer.vram - answer.headroom - (answer.held_by_others ?? 0);
  const top = Math.max(may, answer.vram) * 1.04;
  const at = (bytes) => (bytes / top) * width;
  const out = [HATCH];
  out.push(`<rect x="0" y="${TOP}" width="${at(answer.vram).toFixed(1)}" height="${THICK}" class="room"/>`);
  let from = 0;
  const figures = [];
  for (const { name, label, bytes } of parts) {
    const [x, w] = [at(from), at(bytes)];
    out.push(`<rect x="${x.toFixed(1)}" y="${TOP}" width="${Math.max(0, w).toFixed(1)}" height="${THICK}" `
      + `class="c-${name}"><title>${escaped(label)}: ${figure(bytes)} GB</title></rect>`);
    const middle = roomFor(x, x + w, at(room));
    figures.push(text(middle ?? x, TOP + 27, 'middle', middle === undefined ? '' : gb(bytes), 'inside'));
    from += bytes;
  }
  // What does not fit: from the card's end on.
  const beyond = Math.max(0, answer.total - room);
  out.push(`<rect x="${at(room).toFixed(1)}" y="${TOP}" width="${at(beyond).toFixed(1)}" height="${THICK}" class="beyond" fill="url(#hatch)"/>`);
  out.push(...figures);
  out.push(`<rect x="${at(least).toFixed(1)}" y="${TOP - 4}" `
    + `width="${at(may - least).toFixed(1)}" height="3" class="range">`
    + `<title>it may be ${figure(least)} to ${figure(may)} GB</title></rect>`);
  const card = at(room);
  const [anchor, dx] = beside(card, width);
  out.push(`<line x1="${card.toFixed(1)}" x2="${card.toFixed(1)}" y1="${TOP - 18}" y2="${TOP + THICK + 8}" class="vram"/>`);
  out.push(text(card + dx, TOP - 10, anchor, `VRAM ${gb(room)} GB`, 'vram-label'));
  // The three levels, each as long as what it counts.
  const levels = [
    ['allocated', answer.levels.allocated], ['reserved', answer.levels.reserved], ['total', answer.total],
  ];
  levels.forEach(([name, bytes], i) => {
    const y = TOP + THICK + 19 + i * 17;
    out.push(`<line x1="0" x2="${at(bytes).toFixed(1)}" y1="${y}" y2="${y}" class="level l-${name}"/>`);
    const wide = at(answer.total) > width - 110;
    out.push(text(wide ? at(bytes) : at(bytes) + 6, wide ? y - 4 : y + 4, wide ? 'end' : 'start',
      `${name} ${gb(bytes)}`, 'level-label'));
  });
  const step = niceStep(top / GB, Math.max(3, width / 90));
  for (let value = 0; value * GB <= top; value += step) {
    const x = at(value * GB);
    out.push(`<line x1="${x.toFixed(1)}" x2="${x.toFixed(1)}" y1="${HEIGHT - 20}" y2="${HEIGHT - 15}" class="tick"/>`);
    const place = value === 0 ? 'start' : x > width - 20 ? 'end' : 'middle';
    out.push(text(x, HEIGHT - 3, place, value === 0 ? '0 GB' : `${+value.toFixed(2)}`, 'tick-label'));
  }
  return out.join('');
}

export const barHeight = HEIGHT;

/** What is drawn there beside bars, in words. */
export function barSays(answer) {
  const room = answer.vram - answer.headroom - (answer.held_by_others ?? 0);
  const says = [];
  if (answer.total > room) says.push('Hatched: what the card has no room for.');
  const [least, may] = rangeOf(answer);
  if (may > least) says.push(`The thin line above the bar’s end: the total may be ${gb(least)} to ${gb(may)} GB.`);
  return says.join(' ');
}

/** For those who do not see it. */
export function barTitle(answer) {
  const named = partsOf(answer).filter(({ bytes }) => bytes > 0)
    .map(({ label, bytes }) => `${label} ${gb(bytes)}`);
  return `Memory at the peak in GB: ${named.join(', ')}; total ${gb(answer.total)} of ${gb(answer.vram)}.`;
}

/** One row of the table beneath: share of the total and bytes for each parameter. */
export function rowsOf(answer) {
  return partsOf(answer).map((part) => ({
    ...part, share: part.bytes / answer.total, perParameter: part.bytes / answer.model.parameters,
  }));
}
