// Memory against batch or sequence, by component, with the cards' ends across it.
import { escaped, figure, GB } from './units.mjs';
import { niceStep, partsOf } from './bar.mjs';

const HEIGHT = 380;
const LEFT = 40;
const TOP = 14;
const BASE = HEIGHT - 44;

export const curveHeight = HEIGHT;

/** Cards of one size are one line: "24 GiB" and their titles. */
export function groupsOf(cards) {
  const groups = [];
  for (const card of cards) {
    const size = Math.round(card.vram / 2 ** 30);
    const last = groups.at(-1);
    if (last && last.size === size) last.cards.push(card);
    else groups.push({ size, vram: card.vram, cards: [card] });
  }
  return groups;
}

const smooth = (points) => points.map(([x, y]) => `${x.toFixed(1)},${y.toFixed(1)}`).join(' ');

/**
 * `points` are {size, answer}, in their order; `largest` by card's name, where it is known; `at` is
 * the size that the walk stands on, along `axis`.
 */
export function curveMarkup({ points, groups, chosen, largest, axis, at, end }, width) {
  const right = width < 560 ? 52 : 132;
  const last = points.at(-1)?.size ?? 1;
  const first = points[0]?.size ?? 0;
  const highest = Math.max(...points.map(({ answer }) => answer.total), chosen.vram) * 1.06;
  const x = (size) => LEFT + (size / last) * (width - LEFT - right);
  const y = (bytes) => BASE - (bytes / highest) * (BASE - TOP);
  const out = [];
  const step = niceStep(highest / GB, 6);
  for (let value = 0; value * GB <= highest; value += step) {
    out.push(`<line x1="${LEFT}" x2="${width - right}" y1="${y(value * GB).toFixed(1)}" y2="${y(value * GB).toFixed(1)}" class="grid"/>`);
    out.push(`<text x="${LEFT - 6}" y="${(y(value * GB) + 4).toFixed(1)}" text-anchor="end" class="tick-label">${+value.toFixed(2)}</text>`);
  }
  out.push(`<text x="${LEFT - 6}" y="${TOP - 3}" text-anchor="end" class="tick-label">GB</text>`);
  const ticks = niceStep(last, Math.max(4, width / 90));
  const whole = Math.max(1, ticks);
  for (let size = Math.ceil(first / whole) * whole; size <= last; size += whole) {
    if (size > 0) out.push(`<text x="${x(size).toFixed(1)}" y="${BASE + 18}" text-anchor="middle" class="tick-label">${size.toLocaleString('en-US')}</text>`);
  }
  out.push(`<text x="${((LEFT + width - right) / 2).toFixed(1)}" y="${BASE + 38}" text-anchor="middle" class="tick-label">${escaped(axis.along)}</text>`);
  out.push(areas(points, x, y));
  out.push(lines(groups, chosen, { width, right, highest, y }));
  out.push(`<polyline points="${smooth(points.map(({ size, answer }) => [x(size), y(answer.total)]))}" class="total-line"/>`);
  out.push(marks(points, groups, largest, x, y));
  const here = points.find(({ size }) => size === at);
  if (here) {
    const kind = here.answer.verdict.toLowerCase();
    const px = x(here.size);
    out.push(`<line x1="${px.toFixed(1)}" x2="${px.toFixed(1)}" y1="${y(here.answer.total).toFixed(1)}" y2="${BASE}" class="here ${kind}"/>`);
    out.push(`<circle cx="${px.toFixed(1)}" cy="${y(here.answer.total).toFixed(1)}" r="${end ? 9 : 7}" class="dot ${kind}"/>`);
    const [anchor, dx] = px > LEFT + 150 ? ['end', -13] : ['start', 13]; // the curve rises to its right
    out.push(`<text x="${(px + dx).toFixed(1)}" y="${Math.max(TOP + 12, y(here.answer.total) - 10).toFixed(1)}" text-anchor="${anchor}" class="here-label ${kind}">${here.answer.verdict} · ${figure(here.answer.total)} GB</text>`);
  }
  return out.join('');
}

/** What its colours mean: of parts that some point has. */
export function legendMarkup(points) {
  const made = points.map(({ answer }) => partsOf(answer));
  return made[0].filter((_, i) => made.some((parts) => parts[i].bytes > 0))
    .map(({ name, label }) => `<li><span class="swatch c-${name}"></span>${escaped(label)}</li>`).join('');
}

/** What it is made of, one on the other. */
function areas(points, x, y) {
  if (points.length < 2) return '';
  const stacks = points.map(({ size, answer }) => {
    let sum = 0;
    return { size, parts: partsOf(answer).map(({ name, bytes }) => ({ name, low: sum, high: (sum += bytes) })) };
  });
  return stacks[0].parts.map(({ name }, i) => {
    const over = stacks.map(({ size, parts }) => [x(size), y(parts[i].high)]);
    const under = stacks.map(({ size, parts }) => [x(size), y(parts[i].low)]).reverse();
    return `<polygon points="${smooth([...over, ...under])}" class="area c-${name}"/>`;
  }).join('');
}

/** The cards' ends; names where there is room for them. */
function lines(groups, chosen, { width, right, highest, y }) {
  const own = groups.find((group) => group.vram === chosen.vram)
    ?? { size: Math.round(chosen.vram / 2 ** 30), vram: chosen.vram, cards: [chosen] };
  const others = groups.filter((group) => group.vram !== own.vram && group.vram <= highest);
  const labels = [own, ...others.reverse()];
  const taken = [];
  return labels.map((group) => {
    const bold = group === own;
    const at = y(group.vram);
    const free = taken.every((other) => Math.abs(other - at) > 13);
    if (free) taken.push(at);
    const label = free
      ? `<text x="${width - right + 6}" y="${(at + 4).toFixed(1)}" class="card-label${bold ? ' bold' : ''}">${group.size} GiB${bold && right > 100 && chosen.label ? ` · ${escaped(chosen.label)}` : ''}</text>`
      : '';
    return `<line x1="${LEFT}" x2="${width - right}" y1="${at.toFixed(1)}" y2="${at.toFixed(1)}" class="card-line${bold ? ' bold' : ''}"><title>${escaped(group.cards.map(({ title }) => title).join(', '))}</title></line>${label}`;
  }).join('');
}

/** Where each size of card ends: its largest. */
function marks(points, groups, largest, x, y) {
  const last = points.at(-1)?.size ?? 0;
  return groups.map(({ cards }) => {
    const size = Math.max(...cards.map(({ name }) => largest.get(name)?.largest ?? 0));
    if (size < 1 || size > last) return '';
    const next = points.findIndex((point) => point.size >= size);
    const [a, b] = [points[Math.max(0, next - 1)], points[next]];
    const part = a.size === b.size ? 0 : (size - a.size) / (b.size - a.size);
    const total = a.answer.total + part * (b.answer.total - a.answer.total);
    return `<circle cx="${x(size).toFixed(1)}" cy="${y(total).toFixed(1)}" r="3.5" class="mark"><title>largest on ${escaped(cards[0].title)}: ${size}</title></circle>`;
  }).join('');
}
