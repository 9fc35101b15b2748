// What the page shows where scripts are off, printed by the build: both interactives as they open.
import { readFile } from 'node:fs/promises';
import { load } from '../module/vramfit.mjs';
import { curveHeight, curveMarkup, groupsOf } from './curve.mjs';
import { answerSvg } from './export.mjs';
import { searchOf, sized, START, withoutCard } from './question.mjs';
import { Runtimes } from './runtimes.mjs';
import { standing } from './svg.mjs';
import { cardTitle } from './units.mjs';

const WIDTH = 960;
const vramfit = await load(readFile(process.argv[2]));
const { cards, runtimes } = vramfit.catalogue();
const { axes } = new Runtimes(runtimes).of(START);
const batch = axes.find(({ name }) => name === 'batch');

function explorer(question) {
  const sizes = Array.from({ length: 24 }, (_, i) => i + 1);
  const points = sizes.map((size) => ({ size, answer: vramfit.ask(sized(question, batch.name, size)) }));
  const every = vramfit.ask(withoutCard(searchOf(question, batch.name)));
  const largest = new Map(every.cards.map((card) => [card.gpu.name, card]));
  const end = points.find(({ answer }) => !answer.fits);
  const chosen = cards.find(({ name }) => name === question.gpu);
  const markup = curveMarkup({
    points, groups: groupsOf(cards), chosen: { ...chosen, label: cardTitle(chosen.title) }, largest,
    axis: batch, at: end?.size, end: true,
  }, WIDTH);
  return standing(markup, WIDTH, curveHeight, { style: '', title: 'Memory against batch size' });
}

const plain = (svg) => svg.replace(/<style>.*?<\/style>/s, '');
console.log(JSON.stringify({
  calculator: plain(answerSvg(vramfit.ask(START), '', axes)),
  explorer: plain(explorer({ ...START, checkpoint: 'full' })),
}));
