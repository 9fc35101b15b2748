// Questions that are answered beside the page, one after the other. A newer list replaces the one
// before: what is under way is stopped, not waited for.

const KEPT = 2000; // answers, by question: walking back costs nothing

export class Background {
  #module;
  #url;
  #worker;
  #running;
  #waiting = [];
  #known = new Map();
  #ids = 0;

  constructor(module, source) {
    this.#module = module;
    this.#url = URL.createObjectURL(new Blob([source], { type: 'text/javascript' }));
  }

  /** Each job is {flags, done(result, ms), failed(message)}, and kind: json, snapshot or trace;
   * told(result) hears meanwhile what is known so far. */
  replace(jobs) {
    if (this.#running && !this.#running.kept) this.#stop();
    this.#waiting = [...this.#waiting.filter((job) => job.kept), ...jobs];
    this.#next();
  }

  /** One that stays whatever is asked meanwhile; next in line. */
  ask(job) {
    this.#waiting.unshift({ ...job, kept: true });
    this.#next();
  }

  /** One more, after those of the last list. */
  add(job) {
    this.#waiting.push(job);
    this.#next();
  }

  get idle() {
    return !this.#running && this.#waiting.length === 0;
  }

  #stop() {
    this.#worker.terminate();
    this.#worker = undefined;
    this.#running = undefined;
  }

  #start() {
    this.#worker = new Worker(this.#url);
    this.#worker.addEventListener('message', ({ data }) => this.#heard(data));
    this.#worker.postMessage(this.#module);
  }

  #next() {
    while (!this.#running && this.#waiting.length) {
      const job = { kind: 'json', ...this.#waiting.shift() };
      job.key = `${job.kind} ${JSON.stringify(job.flags)}`;
      const known = this.#known.get(job.key);
      if (known) {
        job.done(known.result, known.ms);
        continue;
      }
      if (!this.#worker) this.#start();
      this.#running = { ...job, id: ++this.#ids };
      this.#worker.postMessage({ id: this.#ids, kind: job.kind, flags: job.flags });
    }
  }

  #heard({ id, soFar, result, error, ms }) {
    const job = this.#running;
    if (job?.id !== id) return;
    if (soFar !== undefined) {
      job.told?.(soFar);
      return;
    }
    this.#running = undefined;
    if (error === undefined) {
      if (job.kind === 'json') this.#remember(job.key, { result, ms });
      job.done(result, ms);
    } else {
      job.failed?.(error);
    }
    this.#next();
  }

  #remember(key, value) {
    if (this.#known.size >= KEPT) this.#known.delete(this.#known.keys().next().value);
    this.#known.set(key, value);
  }
}
