// The waterfall: what is allocated after each stage, and how high it went within.
import { escaped, figure, GB, words } from './units.mjs';
import { niceStep } from './bar.mjs';

const HEIGHT = 190;
const BASE = HEIGHT - 42;
const LEFT = 34;

export const stagesHeight = HEIGHT;

/** Of a training step, the first two: those after are alike. */
export const shown = (answer) => answer.stages.filter(({ step }) => step <= 2).slice(0, 14);

export function stagesMarkup(answer, width) {
  const stages = shown(answer);
  const top = Math.max(...stages.map(({ peak }) => peak), 1) * 1.08;
  const y = (bytes) => BASE - (bytes / top) * (BASE - 12);
  const slot = (width - LEFT) / stages.length;
  const thick = Math.min(46, slot * 0.62);
  const step = niceStep(top / GB, 4);
  const out = [];
  for (let value = 0; value * GB <= top; value += step) {
    out.push(`<line x1="${LEFT}" x2="${width}" y1="${y(value * GB).toFixed(1)}" y2="${y(value * GB).toFixed(1)}" class="grid"/>`);
    out.push(`<text x="${LEFT - 6}" y="${(y(value * GB) + 4).toFixed(1)}" text-anchor="end" class="tick-label">${+value.toFixed(2)}</text>`);
  }
  const highest = stages.reduce((a, b) => (b.peak > a.peak ? b : a), stages[0]);
  stages.forEach((stage, i) => {
    const x = LEFT + i * slot + (slot - thick) / 2;
    const title = `<title>${escaped(words(stage.name))}, step ${stage.step}: peak ${figure(stage.peak)} GB, then ${figure(stage.after)} GB</title>`;
    out.push(`<rect x="${x.toFixed(1)}" y="${y(stage.peak).toFixed(1)}" width="${thick.toFixed(1)}" height="${(BASE - y(stage.peak)).toFixed(1)}" class="stage-peak${stage === highest ? ' highest' : ''}">${title}</rect>`);
    out.push(`<rect x="${x.toFixed(1)}" y="${y(stage.after).toFixed(1)}" width="${thick.toFixed(1)}" height="${(BASE - y(stage.after)).toFixed(1)}" class="stage-after">${title}</rect>`);
    const label = slot > 58 ? words(stage.name) : words(stage.name).slice(0, slot > 30 ? 4 : 2);
    out.push(`<text x="${(x + thick / 2).toFixed(1)}" y="${BASE + 15}" text-anchor="middle" class="tick-label">${escaped(label)}</text>`);
    if (stage.step > 0 && stage.step !== stages[i - 1]?.step) {
      out.push(`<text x="${x.toFixed(1)}" y="${BASE + 33}" class="tick-label">step ${stage.step}</text>`);
      out.push(`<line x1="${(LEFT + i * slot).toFixed(1)}" x2="${(LEFT + i * slot).toFixed(1)}" y1="8" y2="${BASE + 34}" class="grid"/>`);
    }
  });
  return out.join('');
}
