// What can be chosen, for whom. A field reads and writes flags of the question; an option's value ""
// is the flag left out, which is what fit assumes.
import { runtimeOf } from './question.mjs';

const pytorch = (q) => runtimeOf(q) === 'pytorch';
const own = (q) => runtimeOf(q) === 'vramfit';
const article = (q) => runtimeOf(q) === 'article';
const several = (q) => Number(q.gpus ?? 1) > 1;
const sharded = (q) => String(q.strategy ?? '').startsWith('fsdp');

/** A field of one flag. */
const flag = (name, label, options, more = {}) => ({
  name, label, options, when: () => true,
  get: (q) => q[name] ?? '',
  set: (q, value) => ({ ...q, [name]: value || undefined }),
  ...more,
});

/** A field of two flags, whose values are "first+second". */
const pair = (name, second, label, options, more = {}) => ({
  ...flag(name, label, options, more),
  get: (q) => (q[second] ? `${q[name] ?? ''}+${q[second] === true ? '' : q[second]}` : q[name] ?? ''),
  set: (q, value) => {
    const [first, other] = value.split('+');
    const on = value.includes('+');
    return { ...q, [name]: first || undefined, [second]: on ? other || true : undefined };
  },
});

const same = (...names) => names.map((name) => [name, name]);
const sixteen = [['bf16', 'bf16'], ['fp16', 'fp16'], ['fp32', 'fp32']];
const few = [
  ['fp8', 'fp8'], ['int8', 'int8'], ['int8-wo', 'int8, weights only'], ['nf4', 'nf4'], ['int4', 'int4'],
];

const precisions = (q) => [['', article(q) ? 'fp16, the article’s' : 'as its config says'], ...precisionsByName(q)];

/** Types by name. */
function precisionsByName(q) {
  if (article(q)) return q.train ? sixteen : [...sixteen, ['int8', 'int8'], ['int4', 'int4']];
  if (own(q)) return !q.train || q.lora ? [...sixteen, ...few] : sixteen;
  if (!q.train) return sixteen;
  const under = q.quant ? ['bf16', 'fp16', 'fp32'] : ['fp32'];
  return [
    ...sixteen,
    ...under.flatMap((type) => ['bf16', 'fp16'].map((to) => [`${type}+${to}`, `${type}, autocast to ${to}`])),
  ];
}

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

// What device_map spreads over is one host's.
const gpus = (q) => [['', '1'], ...same('2', '4', '8', '16', ...(q.train ? ['32', '64'] : []))];
/** The article's estimate for several is of fp16 with Adam. */
const spreads = (q) => (article(q) ? q.train && q.precision === 'fp16' && !q.optimizer : q.train || pytorch(q));

/** In the order that they stand on the page, by group. */
export const FIELDS = [
  flag('runtime', 'Runtime', () => [
    ['', 'PyTorch'], ['vramfit', 'vramfit’s own step'], ['article', 'the article’s formulas'],
  ], { group: 'run' }),
  {
    ...flag('train', 'Task', () => [['train', 'Training'], ['', 'Inference']], { group: 'run', kind: 'choice' }),
    get: (q) => (q.train ? 'train' : ''),
    set: (q, value) => ({ ...q, train: value ? true : undefined }),
  },
  flag('batch', 'Batch', null, {
    group: 'run', kind: 'slider', unit: 'sequences',
    stops: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 20, 24, 28, 32, 40, 48, 56, 64, 80, 96, 128, 192, 256],
  }),
  flag('seq', 'Sequence', null, {
    group: 'run', kind: 'slider', unit: 'tokens',
    stops: [128, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152, 65536, 98304, 131072],
  }),
  flag('generate', 'New tokens', null, {
    group: 'run', kind: 'number', when: (q) => !q.train && !article(q), placeholder: '1',
  }),
  pair('precision', 'autocast', 'Precision', precisions, { group: 'run' }),
  flag('optimizer', 'Optimizer', (q) => OPTIMIZERS[runtimeOf(q)], { group: 'run', when: (q) => q.train }),
  flag('lora', 'LoRA', () => [['', 'off'], ...['4', '8', '16', '32', '64', '128'].map((rank) => [rank, `rank ${rank}`])], {
    group: 'less', when: (q) => q.train && !article(q),
  }),
  flag('lora-targets', 'LoRA on', () => [['', 'the usual projections'], ['all-linear', 'every linear']], {
    group: 'less', when: (q) => q.train && q.lora && !article(q),
  }),
  pair('quant', 'double-quant', 'bitsandbytes', () => [
    ['', 'as they are'], ['int8', '8 bits, LLM.int8()'], ['nf4', '4 bits, nf4'], ['nf4+', '4 bits, nf4, double'], ['fp4', '4 bits, fp4'],
  ], { group: 'less', when: (q) => pytorch(q) && (!q.train || q.lora) && !(q.train && sharded(q)) }),
  flag('checkpoint', 'Checkpointing', (q) => (own(q)
    ? [['', 'off'], ['selective', 'selective'], ['full', 'full']]
    : [['', 'off'], ['full', 'full'], ['reentrant', 'full, reentrant']]), {
    group: 'less', when: (q) => q.train && !article(q),
  }),
  flag('accumulate', 'Micro-batches', null, {
    group: 'less', kind: 'number', placeholder: '1', when: (q) => q.train && !article(q),
  }),
  flag('attention', 'Attention', (q) => (own(q)
    ? [['', 'flash'], ['cublas', 'materialised (cuBLAS)']]
    : [['', 'sdpa'], ['eager', 'eager']]), { group: 'less', when: (q) => !article(q) }),
  {
    ...flag('loss-only', 'Script keeps', () => [['', 'loss and logits'], ['on', 'the loss alone, as a Trainer']], {
      group: 'less', when: (q) => pytorch(q) && q.train && !several(q),
    }),
    get: (q) => (q['loss-only'] ? 'on' : ''),
    set: (q, value) => ({ ...q, 'loss-only': value ? true : undefined }),
  },
  flag('device-map', 'Loading', () => [['', 'built on the GPU'], ['cuda', 'from_pretrained'], ['auto', 'device_map auto']], {
    group: 'less', when: (q) => pytorch(q) && !q.train && !several(q),
  }),
  flag('cache-implementation', 'KV cache', () => [['', 'grows'], ['static', 'static']], {
    group: 'less', when: (q) => pytorch(q) && !q.train,
  }),
  flag('gpus', 'GPUs', gpus, { group: 'card', when: spreads }),
  flag('strategy', 'Strategy', (q) => STRATEGIES[runtimeOf(q)], {
    group: 'card', when: (q) => q.train && several(q),
  }),
  flag('mixed-precision', 'Computes in', () => [['', 'the weights’ type'], ...same('bf16', 'fp16')], {
    group: 'card', when: (q) => pytorch(q) && q.train && several(q) && sharded(q) && q.precision === 'fp32' && !q.autocast,
  }),
  flag('headroom', 'To be left free', null, { group: 'card', kind: 'text', placeholder: '0GB' }),
];

/** The question after one choice, with what no longer goes with it taken back. */
export function chosen(question, field, value, astray) {
  let next = field.set(question, value);
  for (const other of FIELDS) {
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
