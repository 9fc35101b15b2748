// What leaves the page: pictures, tables, the run for memory_viz, text to the clipboard.
import { barHeight, barMarkup, barTitle, rowsOf } from './bar.mjs';
import { standing } from './svg.mjs';
import { escaped } from './units.mjs';
import { reason, whatRuns } from './verdict.mjs';

const WIDTH = 960;

function save(name, content, type) {
  const url = URL.createObjectURL(new Blob([content], { type }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** The answer as a picture that stands alone; `axes` are its runtime's. */
export function answerSvg(answer, style, axes) {
  const head = `<text x="0" y="12" class="head ${answer.verdict.toLowerCase()}">${answer.verdict}</text>`
    + `<text x="0" y="34" class="line">${escaped(`${whatRuns(answer, axes)}: ${reason(answer)}`)}</text>`;
  return standing(barMarkup(answer, WIDTH), WIDTH, barHeight, { style, title: escaped(barTitle(answer)), head });
}

async function png(svg) {
  const image = new Image();
  const url = URL.createObjectURL(new Blob([svg], { type: 'image/svg+xml' }));
  try {
    await new Promise((resolve, reject) => {
      image.addEventListener('load', resolve);
      image.addEventListener('error', reject);
      image.src = url;
    });
    const canvas = document.createElement('canvas');
    canvas.width = 2 * image.naturalWidth;
    canvas.height = 2 * image.naturalHeight;
    const context = canvas.getContext('2d');
    context.scale(2, 2);
    context.drawImage(image, 0, 0);
    return await new Promise((resolve) => canvas.toBlob(resolve, 'image/png'));
  } finally {
    URL.revokeObjectURL(url);
  }
}

const quoted = (value) => (/[",\n]/.test(value) ? `"${String(value).replaceAll('"', '""')}"` : value);

/** Components and stages, in bytes. */
export function csv(answer) {
  const rows = [['what', 'name', 'step', 'bytes', 'after', 'peak', 'peak_reserved']];
  for (const { name, bytes } of rowsOf(answer)) rows.push(['component', name, '', bytes, '', '', '']);
  for (const level of ['allocated', 'reserved', 'device_used']) rows.push(['level', level, '', answer.levels[level], '', '', '']);
  rows.push(['level', 'total', '', answer.total, '', '', ''], ['level', 'vram', '', answer.vram, '', '', '']);
  for (const stage of answer.stages) {
    rows.push(['stage', stage.name, stage.step, '', stage.after, stage.peak, stage.peak_reserved]);
  }
  return `${rows.map((row) => row.map(quoted).join(',')).join('\n')}\n`;
}

export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch { // where a frame may not
    const area = document.createElement('textarea');
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand('copy');
    area.remove();
  }
}

/** By its button's name. `current` has question, answer and text as they are; `style` is a chart's. */
export function wireExports(current, { style, background, axes, link, command, say }) {
  const name = (ending) => `vramfit-${current.answer.model.name.replaceAll(/[^\w.-]/g, '_')}.${ending}`;
  const timeline = (kind, ending, type) => background.ask({
    kind, flags: current.question,
    done: (content) => save(name(ending), content, type),
    failed: say,
  });
  const exports = {
    svg: () => save(name('svg'), answerSvg(current.answer, style, axes()), 'image/svg+xml'),
    png: async () => save(name('png'), await png(answerSvg(current.answer, style, axes())), 'image/png'),
    csv: () => save(name('csv'), csv(current.answer), 'text/csv'),
    json: () => background.ask({
      flags: current.question, done: (text) => save(name('json'), text, 'application/json'), failed: say,
    }),
    snapshot: () => timeline('snapshot', 'pickle', 'application/octet-stream'),
    trace: () => timeline('trace', 'trace.json', 'application/json'),
    link: async () => {
      await copy(link());
      say('Link copied.');
    },
    command: async () => {
      await copy(command());
      say('Command copied.');
    },
  };
  for (const button of document.querySelectorAll('[data-export]')) {
    button.addEventListener('click', () => {
      if (current.answer) exports[button.dataset.export]();
    });
  }
}
