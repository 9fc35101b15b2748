// What can be chosen, for whom. A field reads and writes flags of the question; an option's value ""
// is the flag left out, which is what fit assumes. A field is there where the runtime has the setting.
import { runtimeOf } from './question.mjs';

const several = (q) => Number(q.gpus ?? 1) > 1;
const sharded = (q) => String(q.strategy ?? '').startsWith('fsdp');

const same = (...names) => names.map((name) => [name, name]);
const sixteen = same('bf16', 'fp16', 'fp32');
const few = [
  ['fp8', 'fp8'], ['int8', 'int8'], ['int8-wo', 'int8, weights only'], ['nf4', 'nf4'], ['int4', 'int4'],
];
const asItsConfig = ['', 'as its config says'];

function trainedUnderPyTorch(q) {
  const under = q.quant ? ['bf16', 'fp16', 'fp32'] : ['fp32'];
  return under.flatMap((type) => ['bf16', 'fp16'].map((to) => [`${type}+${to}`, `${type}, autocast to ${to}`]));
}

// Values that a runtime takes and does not list, in words, by runtime.

const PRECISIONS = {
  pytorch: (q) => [asItsConfig, ...sixteen, ...(q.train ? trainedUnderPyTorch(q) : [])],
  vramfit: (q) => [asItsConfig, ...sixteen, ...(!q.train || q.lora ? few : [])],
  article: (q) => [['', 'fp16, the article’s'], ...sixteen, ...(q.train ? [] : same('int8', 'int4'))],
};

const OPTIMIZERS = {
  pytorch: [
    ['', 'AdamW, fused'], ['adamw', 'AdamW, foreach'], ['adamw-loop', 'AdamW, loop'],
    ['adamw-8bit', 'AdamW, 8-bit'], ['paged-adamw-8bit', 'AdamW, 8-bit, paged'],
    ['paged-adamw-32bit', 'AdamW, 32-bit, paged'], ['adafactor', 'Adafactor'],
    ['adafactor-hf', 'Adafactor, transformers’'], ['sgd-momentum', 'SGD with momentum'], ['sgd', 'SGD'],
  ],
  vramfit: [
    ['', 'AdamW, states in fp32'], ['adamw-master', 'AdamW, and fp32 weights'],
    ['adamw-same', 'AdamW, states as weights'], ['adamw-8bit', 'AdamW, 8-bit'],
    ['adamw-cpu', 'AdamW, in host memory'], ['lion', 'Lion'], ['adafactor', 'Adafactor'],
    ['sgd-momentum', 'SGD with momentum'], ['sgd-master', 'SGD, and fp32 weights'], ['sgd', 'SGD'],
  ],
  article: [['', 'Adam'], ['sgd', 'SGD']],
};

const STRATEGIES = {
  pytorch: [
    ['', 'DDP'], ['zero1', 'ZeRO-1'], ['fsdp', 'FSDP2 (ZeRO-3)'], ['fsdp-accelerate', 'FSDP2 by Accelerate'],
  ],
  vramfit: [
    ['', 'DDP'], ['zero1', 'ZeRO-1'], ['zero2', 'ZeRO-2'], ['fsdp', 'FSDP (ZeRO-3)'], ['pipeline', 'pipeline'],
  ],
  article: [['data-parallel', 'data parallel'], ['pipeline', 'pipeline'], ['fsdp', 'FSDP / ZeRO-3']],
};

const CHECKPOINTING = {
  pytorch: [['', 'off'], ['full', 'full'], ['reentrant', 'full, reentrant']],
  vramfit: [['', 'off'], ['selective', 'selective'], ['full', 'full']],
};

const ATTENTION = {
  pytorch: [['', 'sdpa'], ['eager', 'eager']],
  vramfit: [['', 'flash'], ['cublas', 'materialised (cuBLAS)']],
};

const QUANTISATION = {
  pytorch: [
    ['', 'as they are'], ['int8', '8 bits, LLM.int8()'], ['nf4', '4 bits, nf4'], ['nf4+', '4 bits, nf4, double'], ['fp4', '4 bits, fp4'],
  ],
  'llama.cpp': [['', 'Q4_K_M'], ...same(
    'F16', 'Q8_0', 'Q6_K', 'Q5_K_M', 'Q5_K_S', 'Q4_K_S', 'IQ4_NL', 'IQ4_XS', 'MXFP4', 'Q4_0', 'Q3_K_L', 'Q3_K_M', 'Q3_K_S',
    'IQ3_M', 'IQ3_XXS', 'Q2_K', 'IQ2_M')],
};

/** What of a question a runtime has no figure beside. */
const ONLY = {
  // Its estimate for several is of fp16 with Adam.
  article: { gpus: (q) => q.precision === 'fp16' && !q.optimizer },
};

const byRuntime = (table) => (q) => {
  const options = table[runtimeOf(q)] ?? [['', 'its default']];
  return typeof options === 'function' ? options(q) : options;
};

/** The fields, in the order that they stand on the page, by group; `runtimes` say who has which. */
export function fieldsOf(runtimes) {
  /** A field of one flag, where the runtime can be told it and `when` holds. */
  const flag = (name, label, options, { when = () => true, ...more } = {}) => ({
    name, label, options,
    when: (q) => runtimes.takes(q, name) && when(q) && (ONLY[runtimeOf(q)]?.[name]?.(q) ?? true),
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
    pair('precision', 'autocast', 'Precision', byRuntime(PRECISIONS), { group: 'run' }),
    flag('optimizer', 'Optimizer', byRuntime(OPTIMIZERS), { group: 'run' }),
    flag('lora', 'LoRA', () => [['', 'off'], ...['4', '8', '16', '32', '64', '128'].map((rank) => [rank, `rank ${rank}`])], { group: 'less' }),
    flag('lora-targets', 'LoRA on', () => [['', 'the usual projections'], ['all-linear', 'every linear']], {
      group: 'less', when: (q) => q.lora,
    }),
    pair('quant', 'double-quant', 'Quantisation', byRuntime(QUANTISATION), {
      group: 'less', when: (q) => (!q.train || q.lora) && !(q.train && sharded(q)),
    }),
    flag('checkpoint', 'Checkpointing', byRuntime(CHECKPOINTING), { group: 'less' }),
    flag('accumulate', 'Micro-batches', null, { group: 'less', kind: 'number', placeholder: '1' }),
    flag('attention', 'Attention', byRuntime(ATTENTION), { group: 'less' }),
    toggle('loss-only', 'Script keeps', 'loss and logits', 'the loss alone, as a Trainer', {
      group: 'less', when: (q) => !several(q),
    }),
    listed('device-map', 'Loading', '', { group: 'less', when: (q) => !q.train && !several(q) }, {
      '': 'built on the GPU', cuda: 'from_pretrained', auto: 'device_map auto',
    }),
    listed('cache-implementation', 'KV cache', 'dynamic', { group: 'less' }, { dynamic: 'grows' }),
    listed('cache-type-k', 'Key cache', 'f16', { group: 'less' }),
    listed('cache-type-v', 'Value cache', 'f16', { group: 'less' }),
    flag('n-cpu-moe', 'Host experts', null, { group: 'less', kind: 'number', placeholder: 'of no layer' }),
    listed('flash-attn', 'Flash attention', 'auto', { group: 'less' }),
    flag('ubatch-size', 'Micro-batch', null, { group: 'less', kind: 'number', placeholder: '512' }),
    listed('fit', 'Placement', 'off', { group: 'less' }, { off: 'as given', on: 'by llama.cpp’s --fit' }),
    flag('gpus', 'GPUs', (q) => [['', '1'], ...same('2', '4', '8', '16', ...(q.train ? ['32', '64'] : []))], { group: 'card' }),
    flag('strategy', 'Strategy', byRuntime(STRATEGIES), { group: 'card', when: (q) => q.train && several(q) }),
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
