/** fit's flags by name (`docs/fit.md`): a switch holds true, others a text or a number, null is as
 * good as no flag. `config` holds a config.json, as an object or as its text; `model` may name it. */
export interface Flags {
  model?: string;
  config?: object | string;
  params?: string | number;
  train?: boolean;
  runtime?: 'pytorch' | 'vramfit' | 'llama.cpp' | 'vllm' | 'article';
  precision?: string;
  batch?: number | string;
  seq?: number | string;
  gpu?: string;
  vram?: string | number;
  headroom?: string | number;
  /** One search: `max-batch`, `max-seq`, or along another axis that the runtime names. */
  [search: `max-${string}`]: boolean | null | undefined;
  formulas?: boolean;
  advise?: boolean;
  [flag: string]: unknown;
}

export type Verdict = 'FITS' | 'TIGHT' | 'OOM';

/** Bytes. */
export interface Levels {
  allocated: number;
  reserved: number;
  device_used: number;
  managed: number;
  host: number;
}

export interface Stage {
  step: number;
  name: string;
  before: number;
  after: number;
  peak: number;
  reserved: number;
  peak_reserved: number;
  device_used: number;
}

/** The run that was asked about, defaults filled in. */
export interface Asked {
  //{asked}
  [key: string]: unknown;
}

/** How llama.cpp is started, by its own flags, defaults filled in. */
export interface AskedOfLlamaCpp {
  //{asked_of_llama_cpp}
  [key: string]: unknown;
}

/** How vLLM is started, by its own arguments; null: its default by card, or what is searched for. */
export interface AskedOfVllm {
  //{asked_of_vllm}
  [key: string]: unknown;
}

/** What a script's run is played at; null: what is searched for. */
export interface AskedOfTape {
  //{asked_of_a_tape}
  [key: string]: unknown;
}

/** What vLLM counts of its share of the card, and what it makes of the rest. Bytes, where nothing
 * else is said. */
export interface Serving {
  //{serving}
}

/** What `levels.allocated` is the sum of. Bytes. */
export interface Components {
  parameters: number;
  gradients: number;
  optimizer_state: number;
  activations: number;
  kv_cache: number;
  workspace: number;
  inputs: number;
  communication?: number;
  [component: string]: number | undefined;
}

/** What holds on one card. Bytes. */
export interface OnCard {
  fits: boolean;
  verdict: Verdict;
  uncertainty: {
    reserved: number;
    /** What may turn the verdict: `overhead_more` of what fits, `overhead_less` of what does not. */
    overhead: number;
    overhead_less: number;
    overhead_more: number;
    total: number;
  } | null;
  gpu: { name: string | null; title: string; arch: string };
  vram: number;
  headroom: number;
  held_by_others: number;
  capacity: number;
  overhead: number;
  overhead_source: string;
  overhead_parts: { driver_reserved: number; context: number; libraries: number };
  total: number;
  margin: number;
  levels: Levels;
  components: Components;
  peak: { stage: string; step: number };
  out_of_memory?: {
    stage: string;
    step: number;
    tensor: string;
    component: string;
    requested: number;
  };
  stages: Stage[];
  notes: string[];
  /** What device_map auto leaves in the host's memory. */
  on_host: { layers: number; bytes: number } | null;
  /** Under llama.cpp: what each GPU and the host hold, part by part. */
  devices?: { device: string; parts: Record<string, number> }[];
  /** Under vllm. */
  serving?: Serving;
  /** With a list in `gpu`: each card; all else is of the one with least to spare. */
  machine?: {
    gpu: string;
    title: string;
    vram: number;
    total: number;
    margin: number;
    verdict: Verdict;
  }[];
  /** Under llama.cpp: the flags that its --fit would set on such a card. */
  own_choice?: Record<string, string>;
  /** Why its --fit gives up there, in its words. */
  own_choice_failure?: string;
  /** With `max-batch` and the like: the largest that fits, 0 where none does. */
  [largest: `max_${string}`]: number | string | null;
  /** With `max-quant`: the next larger one. */
  next?: { name: string; total: number; margin: number } | null;
  /** The same number; with what figures may be off by, at least and at most. */
  largest?: number;
  largest_surely?: number;
  largest_possibly?: number;
  /** Sizes were tried in steps of this, from `search_from` down; `search_next` is the smallest
   * tried that is larger and does not fit. */
  search_step?: number;
  search_next?: number | null;
  search_from?: number | null;
  /** Sizes below the largest that do not fit; null where not all were tried. */
  holes?: number[] | null;
  largest_without_holes?: number | null;
  /** Of one card: choices next to what was asked under which the verdict is another. */
  verdict_changes_with?: { choice: string; verdict: Verdict }[];
  /** With `advise`: the cheapest first; none where it fits, or nothing helps. */
  advice?: Advice[];
  /** With `formulas`: what those of others say; `total` in bytes, null where one does not apply. */
  formulas?: {
    name: string;
    form: string;
    source: string;
    total: number | null;
    fits: boolean | null;
  }[];
  /** With `advise`: on how many GPUs of the card's kind it fits, by strategy. */
  on_several_gpus?: Advice[];
  /** With `advise`: the smallest cards that it surely fits on as it is, by name. */
  fits_on?: string[];
}

/** Changes that together make a run fit. */
export interface Advice {
  /** In words, one for each. */
  changes: string[];
  verdict: 'FITS' | 'TIGHT';
  /** Bytes, with them. */
  total: number;
  margin: number;
  /** Time for a token, of what it takes now; null where nobody measured it. */
  slowdown: number | null;
  steps: { kind: string; from: string; to: string; slowdown: number | null }[];
  /** fit's flags, to be added or put in place of the same ones, and those to be left out. */
  flags: string;
  without: string[];
  /** Arguments by the call that takes them: {"LoraConfig": ["r=16"]}. */
  script: Record<string, string[]>;
  /** What starts it on several GPUs. */
  launch?: string;
}

/** What `vramfit --json` prints: `docs/schemas/fit.schema.json` has every key. Without a card it is of
 * every card, and `cards` has what holds on each. */
export interface Answer extends Partial<OnCard> {
  schema: number;
  runtime: string;
  /** The libraries' versions; null: the step is not of a library. */
  release: Record<string, string> | null;
  fits: boolean;
  verdict: Verdict;
  asked: Asked | AskedOfLlamaCpp | AskedOfVllm | AskedOfTape;
  model: {
    name: string;
    family: string;
    parameters: number;
    /** With the rows that pad the vocabulary. */
    parameters_stored: number;
    layers: number;
    hidden: number;
  };
  cards?: OnCard[];
  [key: string]: unknown;
}

export interface Model {
  name: string;
  /** Absent where its shape is one that a runtime reads by itself. */
  family?: string;
  parameters?: number;
  /** The longest sequence it was made for; 0 where that is not known. */
  positions?: number;
  runtimes: string[];
}

/** A size of a run, along which a search can go: the flag `max-` and its name. */
export interface Axis {
  name: string;
  noun: string;
  /** What stands around a size in text: "batch " before it, " tokens" after it. */
  before: string;
  after: string;
  /** Whether it is a sequence's length. */
  of_positions: boolean;
  /** Whether its sizes are names, as of quantisations, the smallest first. */
  of_names: boolean;
  /** Sizes are searched in steps of this; 0: of one. */
  step: number;
}

/** What a run can be told: a flag. */
export interface Setting {
  name: string;
  task: 'training' | 'inference' | null;
  takes: 'text' | 'number' | 'list' | 'truth' | 'nothing';
  /** All that it takes; none: any of its kind. */
  choices: string[];
  /** What a form can offer of it, the first where it is left out: of no value. */
  offers: { value: string; title: string }[];
  /** Other names; one that is a switch stands for a value. */
  spellings: { name: string; switch: boolean }[];
}

/** What a runtime can be told and asked. */
export interface Runtime {
  name: string;
  training: boolean;
  advice: boolean;
  formulas: boolean;
  timelines: boolean;
  /** Whether a run may be over cards of several kinds: `gpu` is their names between commas. */
  machines: boolean;
  /** Whether it runs on cards without CUDA. */
  other_platforms: boolean;
  axes: Axis[];
  settings: Setting[];
}

export interface Card {
  name: string;
  title: string;
  /** Bytes in all, as nvidia-smi shows them. */
  vram: number;
  /** Whether what driver and context take was measured on it; elsewhere it is assumed. */
  measured: boolean;
}

/** One without CUDA, of which its size alone is known. */
export interface OtherCard {
  name: string;
  title: string;
  /** Bytes that a run may have of it. */
  vram: number;
  /** "ROCm" or "Metal". */
  platform: string;
}

/** What the question got wrong, in one line that names the flag. */
export class BadInput extends Error {}

export class Vramfit {
  constructor(module: WebAssembly.Module);
  /** The compiled module, for another thread. */
  readonly module: WebAssembly.Module;
  /** What there is to choose from; cards by size. */
  catalogue(): {
    version: string;
    models: Model[];
    cards: Card[];
    other_cards: OtherCard[];
    switches: string[];
    /** The one that is meant where none is named first. */
    runtimes: Runtime[];
  };
  /** What `vramfit --json` answers. Throws BadInput. */
  ask(flags: Flags, told?: (soFar: Answer) => void): Answer;
  /** The same as the text that `vramfit --json` prints. */
  json(flags: Flags, told?: (soFar: string) => void): string;
  /** The same text but for `verdict_changes_with`: in about half the time. */
  estimate(flags: Flags): string;
  /** Settings that the rest of the question leaves without a meaning, and why: they are of another
   * runtime or task, or lack what they need. */
  astray(flags: Flags): Record<string, 'runtime' | 'task' | 'needs'>;
  /** The run as PyTorch's memory snapshot, pickled, for pytorch.org/memory_viz. */
  snapshot(flags: Flags): Uint8Array;
  /** The run as a Chrome trace, for ui.perfetto.dev. */
  trace(flags: Flags): string;
}

/** From what fetch() returns, from bytes, or from a compiled module; vramfit.wasm beside this file
 * where nothing is given. */
export function load(
  source?:
    | URL
    | string
    | Response
    | BufferSource
    | WebAssembly.Module
    | Promise<Response | BufferSource | WebAssembly.Module>,
): Promise<Vramfit>;
