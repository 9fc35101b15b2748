// What the catalogue says of runtimes, in the page's words: what each can be told and asked, and which
// sizes of a run it names, along which a search can go.
import { grouped } from './units.mjs';

const COUNTS = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 20, 24, 28, 32, 40, 48, 56, 64, 80, 96, 128, 192, 256];
const TOKENS = [128, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152, 65536, 98304, 131072];

/** Of sizes that the page has words of its own for: a field's label and unit, and the curve's axis. */
const WORDS = {
  batch: { label: 'Batch', unit: 'sequences', along: 'sequences in a batch' },
  seq: { label: 'Sequence', unit: 'tokens', along: 'tokens in a sequence' },
  ctx: { label: 'Context', unit: 'tokens', along: 'tokens in a context' },
  'max-model-len': { label: 'Context', unit: 'tokens', along: 'tokens in a request', short: 'context' },
  concurrency: { label: 'Users at once', unit: 'requests', along: 'requests at once', short: 'users' },
  parallel: { label: 'Users at once', unit: 'slots', along: 'requests at once', short: 'slots' },
  'gpu-layers': { label: 'GPU layers', unit: 'layers', along: 'layers on the GPU', short: 'GPU layers' },
};

const LABELS = {
  pytorch: 'PyTorch', vramfit: 'vramfit’s own step', article: 'the article’s formulas', vllm: 'vLLM',
};

const capital = (text) => text[0].toUpperCase() + text.slice(1);

/** "gpu_layers": a flag's name as JSON spells it. */
export const jsonKey = (flag) => flag.replaceAll('-', '_');

/** "batch 4", "2,048 tokens" */
export const named = ({ before, after }, size) => `${before}${grouped(size)}${after}`;

const inWords = (axis) => ({
  label: capital(axis.noun), unit: '', along: axis.noun, short: axis.noun,
  stops: axis.of_positions ? TOKENS : COUNTS, ...WORDS[axis.name], ...axis,
});

export class Runtimes {
  #list;

  /** `list` is the catalogue's, the one that is meant where none is named first. */
  constructor(list) {
    this.#list = list.map((one) => ({
      ...one,
      label: LABELS[one.name] ?? one.name,
      searches: one.axes.map(inWords),
      axes: one.axes.filter(({ of_names: names }) => !names).map(inWords), // that a curve can go along
    }));
  }

  /** The question's, the first where it names none; also where that is none's, until it is refused. */
  of(question) {
    return this.#list.find(({ name }) => name === question.runtime) ?? this.#list[0];
  }

  get all() {
    return this.#list;
  }

  /** As a field's options: the first is the one that needs no name. */
  get options() {
    return this.#list.map(({ name, label }, i) => [i ? name : '', label]);
  }

  /** The sizes of all of them, each once. */
  get axes() {
    const all = this.#list.flatMap(({ axes }) => axes);
    return all.filter(({ name }, i) => all.findIndex((other) => other.name === name) === i);
  }

  setting(question, name) {
    return this.of(question).settings.find((one) => one.name === name);
  }

  /** Whether the question's runtime can be told that, of its task. */
  takes(question, name) {
    const setting = this.setting(question, name);
    return setting !== undefined && setting.task !== (question.train ? 'inference' : 'training');
  }

  /** What is asked about, where a length stays what it was under another runtime, by that one's name. */
  withLength(question, before) {
    const [from, to] = [before, question].map((one) => this.of(one).axes.find((axis) => axis.of_positions));
    if (!from || !to || from.name === to.name || !before[from.name]) return question;
    return { ...question, [to.name]: before[from.name] };
  }
}
