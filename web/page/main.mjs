// The page: one question, its answer at once, and what takes longer from a worker.
import { BadInput, Vramfit } from '../module/vramfit.mjs';
import { adviceMarkup, waysOf } from './advice.mjs';
import { Background } from './background.mjs';
import { barHeight, barMarkup, barSays, barTitle, rowsOf } from './bar.mjs';
import { Controls, SEVERAL } from './controls.mjs';
import { choiceMarkup, devicesMarkup, flagsOfChoice, largestMarkup } from './devices.mjs';
import { Explorer } from './explorer.mjs';
import { wireExports } from './export.mjs';
import { captionOf, flagsOf, nearest, predictedOf, rowMarkup } from './measured.mjs';
import { wireModel } from './model.mjs';
import { advised, commandOf, linkOf, readLink, searchOf, sized } from './question.mjs';
import { Runtimes } from './runtimes.mjs';
import { stagesHeight, stagesMarkup } from './stages.mjs';
import { chartStyle, compiled, measuredCases, workerSource } from './start.mjs';
import { show } from './svg.mjs';
import { escaped, figure, gb, unbroken, words } from './units.mjs';
import { peak, reason, whatRuns } from './verdict.mjs';

const SOON = 16; // ms: what may be answered before the next frame
const QUIET = 140; // ms without a change before the worker begins
const byId = (id) => document.getElementById(id);

const vramfit = new Vramfit(await compiled());
const catalogue = vramfit.catalogue();
const runtimes = new Runtimes(catalogue.runtimes);
const background = new Background(vramfit.module, workerSource());
const state = { question: {}, answer: undefined, text: '', view: {}, cost: 0, asked: 0, settled: undefined, change };
let quiet;
let said;

/** Another question: shown, linked, answered. */
function change(question) {
  state.question = question;
  controls.show(question);
  explorer.show(question);
  byId('command').innerHTML = unbroken(commandOf(question));
  answer();
  clearTimeout(quiet);
  quiet = setTimeout(settled, QUIET);
}

/** Settings without a meaning, of a question that may be refused for another reason. */
function astray(question) {
  try {
    return vramfit.astray(question);
  } catch (error) {
    if (error instanceof BadInput) return {};
    throw error;
  }
}

/** At once where that is quick; where it was not the last time, by the worker. */
function answer() {
  state.asked += 1;
  if (state.cost > SOON) {
    const { asked, question } = state;
    const heard = (then) => (what, ms) => {
      if (asked !== state.asked) return;
      then(what, ms);
      clearTimeout(quiet);
      quiet = setTimeout(settled, 0);
    };
    byId('calculator').setAttribute('aria-busy', 'true');
    background.replace([{
      kind: 'estimate',
      flags: question,
      done: heard(answered),
      failed: heard(refused),
    }]);
    return;
  }
  const start = performance.now();
  try {
    const text = vramfit.estimate(state.question);
    answered(text, performance.now() - start);
  } catch (error) {
    refused(error.message, error instanceof BadInput);
  }
}

function refused(message) {
  byId('calculator').removeAttribute('aria-busy');
  state.answer = undefined;
  background.replace([]);
  byId('verdict').textContent = 'No answer';
  byId('verdict').className = 'refused';
  byId('what-runs').textContent = '';
  byId('reason').textContent = message;
  byId('glance-verdict').textContent = 'No answer';
  byId('glance-verdict').className = 'word';
  byId('glance-figures').textContent = '';
  document.body.classList.add('no-answer');
  explorer.refused(`No answer: ${message}`);
}

function answered(text, ms) {
  // The first is compiled as it runs; later ones say what an answer costs.
  state.cost = state.text ? 0.5 * state.cost + 0.5 * ms : 0;
  state.text = text;
  state.answer = JSON.parse(text);
  document.body.classList.remove('no-answer');
  byId('calculator').removeAttribute('aria-busy');
  draw();
}

const widths = new Map();
new ResizeObserver((entries) => {
  for (const { target, contentRect } of entries) widths.set(target.id, Math.floor(contentRect.width));
  if (state.answer) draw();
  explorer.draw();
}).observe(byId('bar-frame'));

function draw() {
  const { answer: now } = state;
  const width = widths.get('bar-frame') || byId('bar-frame').clientWidth;
  if (width === 0) return; // the explorer alone is shown
  byId('verdict').textContent = now.verdict;
  byId('verdict').className = now.verdict.toLowerCase();
  byId('reason').textContent = reason(now);
  byId('glance-verdict').textContent = now.verdict;
  byId('glance-verdict').className = `word ${now.verdict.toLowerCase()}`;
  byId('glance-figures').textContent = `${gb(now.total)} of ${gb(now.vram)} GB`;
  byId('what-runs').textContent = whatRuns(now, runtimes.of(state.question).axes);
  byId('peak').textContent = peak(now);
  const bar = byId('bar');
  bar.setAttribute('viewBox', `0 0 ${width} ${barHeight}`);
  show(bar, barMarkup(now, width));
  bar.setAttribute('aria-label', barTitle(now));
  byId('bar-says').textContent = barSays(now);
  show(byId('components'), componentRows(now));
  for (const kind of ['snapshot', 'trace']) {
    document.querySelector(`[data-export=${kind}]`).hidden = !runtimes.of(state.question).timelines;
  }
  drawDevices(now);
  controls.showDefaults(now.asked);
  const sources = sourcesMarkup(now);
  if (sources !== state.sources) byId('sources').innerHTML = state.sources = sources;
  if (!state.frame) state.frame = requestAnimationFrame(drawStages);
}

/** Of a runtime that tells it. */
function drawDevices({ devices, own_choice: choice, asked }) {
  byId('devices').hidden = !devices;
  if (!devices) return;
  const { head, rows } = devicesMarkup(devices);
  show(byId('device-parts'), head);
  show(byId('device-rows'), rows);
  byId('own-choice').innerHTML = choice ? choiceMarkup(choice, asked) : '';
  byId('own-choice').querySelector('button')?.addEventListener(
    'click', () => choose({ ...state.question, ...flagsOfChoice(choice) }));
}

/** Below the answer: with the next frame. */
function drawStages() {
  state.frame = undefined;
  const stages = byId('stages');
  if (!state.answer || !stages.closest('details').open) return;
  const width = stages.parentElement.clientWidth;
  if (width === 0) return; // the explorer alone is shown
  stages.setAttribute('viewBox', `0 0 ${width} ${stagesHeight}`);
  show(stages, stagesMarkup(state.answer, width));
  const rows = byId('stage-rows');
  if (!rows.closest('details').open) return;
  rows.innerHTML = state.answer.stages.map((stage) => `<tr><th scope="row">${escaped(words(stage.name))}</th><td>${stage.step || ''}</td><td>${figure(stage.before)}</td><td>${figure(stage.after)}</td><td>${figure(stage.peak)}</td><td>${figure(stage.peak_reserved)}</td></tr>`).join('');
}

function componentRows(now) {
  const rows = rowsOf(now).map(({ name, label, bytes, share, perParameter }) => `<tr class="${bytes ? '' : 'none'}"><th scope="row"><span class="swatch c-${name}"></span>${label}</th><td>${figure(bytes)}</td><td>${(100 * share).toFixed(1)} %</td><td>${perParameter.toFixed(2)}</td></tr>`);
  rows.push(`<tr class="sum"><th scope="row">total</th><td>${figure(now.total)}</td><td></td><td>${(now.total / now.model.parameters).toFixed(2)}</td></tr>`);
  return rows.join('');
}

/** Which figures are measured, which predicted, which assumed. */
function sourcesMarkup(now) {
  const chip = (kind, text) => `<li><span class="chip ${kind}">${kind}</span> ${escaped(text)}</li>`;
  const assumed = now.overhead_source.startsWith('assumed');
  const list = [
    now.uncertainty === null
      ? chip('predicted', `every figure, by ${runtimes.of(state.question).label}`)
      : chip('predicted', `allocated ${gb(now.levels.allocated)} and reserved ${gb(now.levels.reserved)} GB, by running the step on paper`),
    chip(assumed ? 'assumed' : 'measured', `driver, context and libraries, ${gb(now.overhead)} GB: ${now.overhead_source.replace(/^assumed: /, '')}`),
  ];
  if (now.asked.assumed?.length || now.asked.runs_with) list.push(chip('assumed', now.asked.runs_with ?? now.asked.assumed.join(', ')));
  return list.join('') + now.notes.map((note) => `<li><span class="chip note">note</span> ${escaped(note)}</li>`).join('');
}

/** Nothing changed for a moment: the link, what is said aloud, and the worker's part. */
function settled() {
  const link = `#${linkOf(state.question, state.view)}`;
  if (location.hash !== link) {
    try {
      history.replaceState(null, '', link);
    } catch {
      location.hash = link; // a frame without an address of its own
    }
  }
  const busy = byId('calculator').hasAttribute('aria-busy');
  if (busy) return;
  const aloud = state.answer ? `${state.answer.verdict}: ${reason(state.answer)}` : `No answer: ${byId('reason').textContent}`;
  if (aloud !== said) byId('aloud').textContent = said = aloud;
  if (state.answer && !state.cases) return; // the page as it opens: they are still unpacked
  state.settled = state.asked;
  if (!state.answer) return;
  background.replace([...moreJobs(), ...(state.view.view === 'calculator' ? [] : explorer.jobs(state.question, state.answer))]);
}

function moreJobs() {
  const { question, answer: now, asked } = state;
  const still = (then) => (text) => asked === state.asked && then(JSON.parse(text));
  const jobs = [];
  if (state.view.view === 'explorer') return jobs;
  const { searches, label, advice, formulas } = runtimes.of(question);
  byId('formulas-part').hidden = !formulas;
  if (formulas) jobs.push({ flags: { ...question, formulas: true }, done: still(showFormulas) });
  else byId('changes').textContent = '';
  if (advice) {
    byId('advice').setAttribute('aria-busy', 'true');
    byId('advice-wait').hidden = false;
    jobs.push({ flags: { ...question, advise: true }, told: still(showMoreAdvice), done: still(showAdvice), failed: showNoAdvice });
  } else {
    showNoAdvice(`There is none by ${label}: choose another runtime for advice.`);
  }
  const largest = [];
  for (const axis of now.devices ? searches : []) {
    jobs.push({
      flags: searchOf(question, axis.name),
      done: still((found) => {
        largest.push([axis, found]);
        byId('largest-sizes').innerHTML = largestMarkup(largest);
      }),
    });
  }
  const near = nearest(state.cases.cases, now);
  byId('measured-part').hidden = near.length === 0;
  if (near.length > 0) byId('measured-caption').textContent = captionOf(near, catalogue.cards);
  const rows = near.map((measured) => rowMarkup(measured));
  byId('measured-rows').innerHTML = rows.join('');
  near.forEach((measured, i) => jobs.push({
    kind: 'estimate',
    flags: flagsOf(measured, state.cases.configs),
    done: still((one) => {
      rows[i] = rowMarkup(measured, predictedOf(one, measured));
      byId('measured-rows').innerHTML = rows.join('');
    }),
  }));
  return jobs;
}

function showFormulas(full) {
  const row = (name, form, total, fits) => `<tr><th scope="row">${escaped(name)}</th><td>${escaped(form)}</td><td>${figure(total)}</td><td><span class="word ${fits ? 'fits' : 'oom'}">${fits ? 'FITS' : 'OOM'}</span></td></tr>`;
  const told = full.formulas.filter(({ total }) => total !== null);
  const silent = full.formulas.filter(({ total }) => total === null).map(({ name }) => name);
  byId('formulas').innerHTML = row('vramfit', 'this answer, overhead included', full.total, full.fits)
    + told.map(({ name, form, total, fits }) => row(name, form, total, fits)).join('');
  byId('no-formulas').textContent = silent.length ? `Nothing of such a run is said by ${silent.join(', ')}` : '';
  byId('changes').textContent = full.verdict_changes_with.map(({ choice, verdict }) => `With ${choice} it would be ${verdict}.`).join(' ');
}

function showNoAdvice(message) {
  byId('advice').removeAttribute('aria-busy');
  byId('advice-wait').hidden = true;
  byId('advice').innerHTML = `<p class="hint">${escaped(message)}</p>`;
}

function showAdvice(full) {
  byId('advice').removeAttribute('aria-busy');
  byId('advice-wait').hidden = true;
  showMoreAdvice(full);
}

/** All of it, or what is known so far. */
function showMoreAdvice(full) {
  const target = byId('advice');
  target.innerHTML = adviceMarkup(full, target.hasAttribute('aria-busy'));
  const ways = waysOf(full);
  for (const button of target.querySelectorAll('[data-way]')) {
    button.addEventListener('click', () => choose(advised(state.question, ways[button.dataset.way])));
  }
  for (const button of target.querySelectorAll('[data-card]')) {
    button.addEventListener('click', () => choose({ ...state.question, gpu: button.dataset.card }));
  }
}

/** By a button that is gone afterwards: the reader is taken to the answer. */
function choose(question) {
  change(question);
  byId('verdict').focus({ preventScroll: true });
  const still = matchMedia('(prefers-reduced-motion: reduce)').matches;
  byId('calculator').scrollIntoView({ behavior: still ? 'auto' : 'smooth', block: 'nearest' });
}

for (const [from, to] of [['#glance', 'verdict'], ['.skip', 'verdict']]) {
  document.querySelector(from).addEventListener('click', (event) => {
    event.preventDefault(); // the address is the question's
    byId(to).focus();
    byId(to).scrollIntoView({ block: 'center' });
  });
}

const controls = new Controls(catalogue, runtimes, astray, change);
const explorer = new Explorer(background, { cards: catalogue.cards, runtimes }, ({ axis, size }) => {
  if (axis) {
    state.view = { ...state.view, axis };
    settled();
  }
  if (size) change(sized(state.question, explorer.axis, size));
});

function open() {
  const { question, view } = readLink(location.hash, catalogue.switches);
  state.view = view;
  explorer.show(question, view.axis);
  document.body.dataset.view = view.view ?? 'all';
  change(question);
}

wireModel(state, (id) => {
  try {
    vramfit.estimate({ model: id, gpu: 'h200', runtime: state.question.runtime });
    return true;
  } catch {
    return false;
  }
});
byId('card').addEventListener('change', ({ target }) => {
  const { gpu, vram, ...rest } = state.question;
  const first = gpu?.split(',')[0] ?? catalogue.cards[0].name;
  if (target.value === SEVERAL) change({ ...rest, gpu: [first, first, first].join(',') });
  else change(target.value ? controls.on(target.value) : { ...rest, vram: vram ?? '24GiB' });
});
byId('second').addEventListener('change', ({ target }) => {
  const [first] = state.question.gpu.split(',');
  change({ ...state.question, gpu: target.value ? `${first},${target.value}` : first });
});
byId('machine').addEventListener('input', ({ target }) => change({ ...state.question, gpu: target.value.trim() }));
byId('vram').addEventListener('input', ({ target }) => change({ ...state.question, vram: target.value.trim() || '24GiB' }));
byId('controls').addEventListener('submit', (event) => event.preventDefault());
for (const id of ['stages', 'stage-rows']) byId(id).closest('details').addEventListener('toggle', drawStages);
wireExports(state, {
  style: chartStyle(),
  background,
  axes: () => runtimes.of(state.question).axes,
  link: () => `${location.href.split('#')[0]}#${linkOf(state.question, state.view)}`,
  command: () => commandOf(state.question),
  say: (text) => {
    byId('export-note').textContent = text;
  },
});
addEventListener('hashchange', () => {
  if (location.hash !== `#${linkOf(state.question, state.view)}`) open();
});
byId('version').textContent = catalogue.version;
open();
document.documentElement.dataset.ready = String(Math.round(performance.now()));
// What tests ask: the estimator itself, and the state of the page.
globalThis.vramfitPage = { vramfit, state, background, explorer, measured: { flagsOf, nearest } };
state.cases = await measuredCases();
clearTimeout(quiet);
settled();
