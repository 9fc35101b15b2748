// The estimator of `fit`, as WebAssembly: a question in, an answer out. vramfit.d.mts says what each
// function takes and returns.

const FITS = 0;
const DOES_NOT_FIT = 1;
const BAD_INPUT = 2;

/** What the question got wrong, in one line that names the flag. */
export class BadInput extends Error {
  name = 'BadInput';
}

/** What a module of WASI may import, where there is neither a file nor a terminal to be had. */
const wasi = (memory) => ({
  proc_exit(status) {
    throw new WebAssembly.RuntimeError(`exit ${status}`);
  },
  environ_sizes_get(count, bytes) {
    const view = new DataView(memory().buffer);
    view.setUint32(count, 0, true);
    view.setUint32(bytes, 0, true);
    return 0;
  },
  environ_get: () => 0,
  clock_time_get(_clock, _precision, time) {
    new DataView(memory().buffer).setBigUint64(time, BigInt(Date.now()) * 1_000_000n, true);
    return 0;
  },
});

const NO_SUCH_FILE = 44; // WASI's errno for everything else

function instantiate(module, told) {
  let instance;
  const answers = { ...wasi(() => instance.exports.memory), vramfit_told: told };
  const imports = {};
  for (const { module: from, name, kind } of WebAssembly.Module.imports(module)) {
    if (kind !== 'function') continue;
    imports[from] ??= {};
    imports[from][name] = answers[name] ?? (() => NO_SUCH_FILE);
  }
  instance = new WebAssembly.Instance(module, imports);
  instance.exports._initialize?.();
  return instance.exports;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** A compiled module, ready to be asked. One question at a time: answers come before it returns. */
export class Vramfit {
  #module;
  #exports;
  #told; // of the call that runs

  /** @param {WebAssembly.Module} module */
  constructor(module) {
    this.#module = module;
    this.#start();
  }

  #start() {
    this.#exports = instantiate(this.#module, () => this.#told?.(decoder.decode(this.#output())));
  }

  /** What there is to choose from: {version, models, cards, switches, runtimes}. */
  catalogue() {
    return JSON.parse(decoder.decode(this.#call('vramfit_catalogue')));
  }

  /** The compiled module, for another thread. */
  get module() {
    return this.#module;
  }

  /** What `vramfit --json` answers. Throws BadInput. Where advice is asked for, `told` hears
   * meanwhile what is known of it. */
  ask(flags, told) {
    return JSON.parse(this.json(flags, told && ((text) => told(JSON.parse(text)))));
  }

  /** The same as the text that `vramfit --json` prints. */
  json(flags, told) {
    if (this.#told) throw new Error('what hears of a question asks another meanwhile');
    let fault;
    this.#told = (text) => {
      try {
        if (!fault) told?.(text);
      } catch (error) {
        fault = { error }; // thrown when the module is done, which would be left half way
      }
    };
    try {
      const text = decoder.decode(this.#call('vramfit_ask', flags));
      if (fault) throw fault.error;
      return text;
    } finally {
      this.#told = undefined;
    }
  }

  /** The same without looking at what other choices would change: in about half the time. */
  estimate(flags) {
    return decoder.decode(this.#call('vramfit_estimate', flags));
  }

  /** Settings that the rest of the question leaves without a meaning, and why. */
  astray(flags) {
    return JSON.parse(decoder.decode(this.#call('vramfit_astray', flags)));
  }

  /** The run as PyTorch's memory snapshot, for pytorch.org/memory_viz. */
  snapshot(flags) {
    return this.#call('vramfit_snapshot', flags).slice();
  }

  /** The run as a Chrome trace, for ui.perfetto.dev. */
  trace(flags) {
    return decoder.decode(this.#call('vramfit_trace', flags));
  }

  #output() {
    const { memory, vramfit_output, vramfit_output_bytes } = this.#exports;
    return new Uint8Array(memory.buffer, vramfit_output(), vramfit_output_bytes());
  }

  /** The bytes that it leaves, which stay until the next call. */
  #call(name, flags = {}) {
    try {
      const question = encoder.encode(JSON.stringify(flags));
      const { memory, vramfit_input } = this.#exports;
      const at = vramfit_input(question.length);
      new Uint8Array(memory.buffer, at, question.length).set(question);
      const status = this.#exports[name]();
      const bytes = this.#output();
      if (status === FITS || status === DOES_NOT_FIT) return bytes;
      const message = decoder.decode(bytes);
      throw status === BAD_INPUT ? new BadInput(message) : new Error(message);
    } catch (error) {
      // What is left of a module that was stopped half way is not to be relied on.
      if (error instanceof WebAssembly.RuntimeError) this.#start();
      throw error;
    }
  }
}

/** From what fetch() returns, from bytes, or from a compiled module; vramfit.wasm beside this file
 * where nothing is given. */
export async function load(source = new URL('vramfit.wasm', import.meta.url)) {
  let from = await source;
  if (from instanceof URL || typeof from === 'string') from = await fetch(from);
  if (from instanceof Response) from = await from.arrayBuffer();
  return new Vramfit(from instanceof WebAssembly.Module ? from : await WebAssembly.compile(from));
}
