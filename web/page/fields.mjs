// What can be chosen, for whom. A field reads and writes flags of the question; an option's value ""
// is the flag left out, which is what fit assumes. A field is there where the runtime has the setting.

const several = (q) => Number(q.gpus ?? 1) > 1;
const sharded = (q) => String(q.strategy ?? '').startsWith('fsdp');

const same = (...names) => names.map((name) => [name, name]);
const plain = ['', 'bf16', 'fp16', 'fp32'];

/** The fields, in the order that they stand on the page, by group; `runtimes` say who has which, and
 * `astray` which settings of a question lack what they need. */
export function fieldsOf(runtimes, astray) {
  const meant = (q, name) => runtimes.takes(q, name) && !(name in astray({ ...q, [name]: q[name] ?? '1' }));

  /** A field of one flag, where it means something to the runtime and `when` holds. */
  const flag = (name, label, options, { when = () => true, ...more } = {}) => ({
    name, label, options,
    when: (q) => meant(q, name) && when(q),
    get: (q) => q[name] ?? '',
    set: (q, value) => ({ ...q, [name]: value || undefined }),
    ...more,
  });

  /** One that every question has. */
  const always = (name, label, options, more) => ({ ...flag(name, label, options, more), when: () => true });

  /** A field of two flags, whose values are "first+second". */
  const pair = (name, second, label, options, more) => ({
    ...flag(name, label, options, more),
    get: (q) => (q[second] ? `${q[name] ?? ''}+${q[second] === true ? '' : q[second]}` : q[name] ?? ''),
    set: (q, value) => {
      const [first, other] = value.split('+');
      const on = value.includes('+');
      return { ...q, [name]: first || undefined, [second]: on ? other || true : undefined };
    },
  });

  /** A switch, which is off or on. */
  const toggle = (name, label, off, on, more) => ({
    ...flag(name, label, () => [['', off], ['on', on]], more),
    get: (q) => (q[name] ? 'on' : ''),
    set: (q, value) => ({ ...q, [name]: value ? true : undefined }),
  });

  /** What the runtime itself offers, in its words. */
  const offers = (q, name) => (runtimes.setting(q, name)?.offers ?? []).map(({ value, title }) => [value, title]);
  const offered = (name, label, more) => flag(name, label, (q) => offers(q, name), more);

  /** Formats of few bits are trained beside adapters alone; where PyTorch trains, it casts. */
  const precisions = (q) => {
    const stored = offers(q, 'precision').filter(([type]) => !q.train || q.lora || plain.includes(type));
    if (!runtimes.takes(q, 'autocast')) return stored;
    const under = q.quant ? ['bf16', 'fp16', 'fp32'] : ['fp32'];
    return [...stored, ...under.flatMap((type) => ['bf16', 'fp16']
      .map((to) => [`${type}+${to}`, `${type}, autocast to ${to}`]))];
  };

  const quantisations = (q) => offers(q, 'quant').flatMap(([value, title]) => (
    value === 'nf4' && runtimes.takes(q, 'double-quant')
      ? [[value, title], ['nf4+', `${title}, double`]] : [[value, title]]));

  /** The choices that the setting lists, some in the page's words; the first is what it is left at. */
  const listed = (name, label, first, more, words = {}) => flag(name, label, (q) => [
    ['', words[first] ?? first],
    ...(runtimes.setting(q, name)?.choices ?? []).filter((choice) => choice !== first)
      .map((choice) => [choice, words[choice] ?? choice]),
  ], more);

  const sizes = runtimes.axes.map(({ name, label, unit, stops }) => flag(name, label, null, {
    group: 'run', kind: 'slider', unit, stops, sized: true,
  }));

  return [
    always('runtime', 'Runtime', () => runtimes.options, { group: 'run' }),
    {
      ...always('train', 'Task', () => [['train', 'Training'], ['', 'Inference']], { group: 'run', kind: 'choice' }),
      when: (q) => runtimes.of(q).training,
      get: (q) => (q.train ? 'train' : ''),
      set: (q, value) => ({ ...q, train: value ? true : undefined }),
    },
    ...sizes,
    flag('generate', 'New tokens', null, { group: 'run', kind: 'number', placeholder: '1' }),
    pair('precision', 'autocast', 'Precision', precisions, { group: 'run' }),
    offered('optimizer', 'Optimizer', { group: 'run' }),
    flag('lora', 'LoRA', () => [['', 'off'], ...['4', '8', '16', '32', '64', '128'].map((rank) => [rank, `rank ${rank}`])], { group: 'less' }),
    flag('lora-targets', 'LoRA on', () => [['', 'the usual projections'], ['all-linear', 'every linear']], {
      group: 'less',
    }),
    pair('quant', 'double-quant', 'Quantisation', quantisations, {
      group: 'less', when: (q) => (!q.train || q.lora) && !(q.train && sharded(q)),
    }),
    offered('checkpoint', 'Checkpointing', { group: 'less' }),
    flag('accumulate', 'Micro-batches', null, { group: 'less', kind: 'number', placeholder: '1' }),
    offered('attention', 'Attention', { group: 'less' }),
    toggle('loss-only', 'Script keeps', 'loss and logits', 'the loss alone, as a Trainer', {
      group: 'less', when: (q) => !several(q),
    }),
    toggle('fused-lm-head', 'Loss', 'of the logits', "by TRL's fused head", {
      group: 'less', when: (q) => q.train && !several(q),
    }),
    offered('release', 'Release', { group: 'less' }),
    listed('device-map', 'Loading', '', { group: 'less', when: (q) => !q.train && !several(q) }, {
      '': 'built on the GPU', cuda: 'from_pretrained', auto: 'device_map auto',
    }),
    listed('cache-implementation', 'KV cache', 'dynamic', { group: 'less' }, { dynamic: 'grows' }),
    listed('cache-type-k', 'Key cache', 'f16', { group: 'less' }),
    listed('cache-type-v', 'Value cache', 'f16', { group: 'less' }),
    flag('n-cpu-moe', 'Host experts', null, { group: 'less', kind: 'number', placeholder: 'of no layer' }),
    listed('flash-attn', 'Flash attention', 'auto', { group: 'less' }),
    flag('ubatch-size', 'Micro-batch', null, { group: 'less', kind: 'number', placeholder: '512' }),
    listed('kv-cache-dtype', 'Cache in', 'auto', { group: 'less' }, { auto: 'the model’s type' }),
    flag('gpu-memory-utilization', 'Utilisation', null, { group: 'less', kind: 'text', placeholder: '0.92' }),
    flag('max-num-batched-tokens', 'Tokens a step', null, { group: 'less', kind: 'number', placeholder: 'by card' }),
    flag('max-num-seqs', 'Requests a step', null, { group: 'less', kind: 'number', placeholder: 'by card' }),
    toggle('enforce-eager', 'Runs', 'compiled, with graphs', 'op by op', { group: 'less' }),
    toggle('enable-lora', 'Adapters', 'none', 'in slots', { group: 'less' }),
    flag('max-loras', 'Slots', null, { group: 'less', kind: 'number', placeholder: '1', when: (q) => q['enable-lora'] }),
    flag('max-lora-rank', 'Their rank', null, { group: 'less', kind: 'number', placeholder: '16', when: (q) => q['enable-lora'] }),
    listed('compile-cache', 'Compile cache', 'cold', { group: 'less' }),
    listed('fit', 'Placement', 'off', { group: 'less' }, { off: 'as given', on: 'by llama.cpp’s --fit' }),
    flag('gpus', 'GPUs', (q) => [['', '1'], ...same('2', '4', '8', '16', ...(q.train ? ['32', '64'] : []))], { group: 'card' }),
    flag('tensor-parallel', 'Sharing layers', null, { group: 'card', kind: 'number', placeholder: '1 GPU' }),
    flag('data-parallel', 'Engines side by side', null, { group: 'card', kind: 'number', placeholder: '1' }),
    toggle('enable-expert-parallel', 'Experts are shared', 'by their width', 'whole', { group: 'card' }),
    flag('pipeline-parallel', 'Stages', null, { group: 'card', kind: 'number', placeholder: '1' }),
    offered('strategy', 'Strategy', { group: 'card' }),
    flag('mixed-precision', 'Computes in', () => [['', 'the weights’ type'], ...same('bf16', 'fp16')], {
      group: 'card', when: (q) => several(q) && sharded(q) && q.precision === 'fp32' && !q.autocast,
    }),
    always('headroom', 'To be left free', null, { group: 'card', kind: 'text', placeholder: '0GB' }),
  ];
}

/** The question after one choice, with what no longer goes with it taken back. */
export function chosen(question, field, value, { fields, runtimes, astray }) {
  let next = runtimes.withLength(field.set(question, value), question);
  for (const other of fields) {
    if (other === field) continue;
    if (!other.when(next)) next = other.set(next, '');
    else if (other.options && !other.options(next).some(([option]) => option === other.get(next))) {
      next = other.set(next, other.options(next)[0][0]);
    }
  }
  next = Object.fromEntries(Object.entries(next).filter(([, given]) => given !== undefined && given !== ''));
  for (const name of Object.keys(astray(next))) delete next[name];
  return next;
}
