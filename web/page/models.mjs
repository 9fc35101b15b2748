// The list of models: by family and size, and found by what somebody types.
import { escaped, short } from './units.mjs';

/** Those of one name but for its size by that: gemma3-270m before gemma3-1b. */
function bySize(a, b) {
  const compared = (one, other) => one.localeCompare(other, 'en', { numeric: true });
  const unsized = ({ name }) => name.replace(/-\d+(\.\d+)?[bm](?=-|$)/, '');
  return compared(unsized(a), unsized(b)) || (a.parameters ?? 0) - (b.parameters ?? 0) || compared(a.name, b.name);
}

const FAMILY = 3; // shapes that make one

/** Models by the word that their names begin with, [[word, models], …]; those of few under one. */
function families(models) {
  const byWord = new Map();
  for (const model of models) {
    const [word] = /^[a-z]*/.exec(model.name);
    byWord.set(word, [...(byWord.get(word) ?? []), model]);
  }
  const words = [...byWord].sort(([a], [b]) => a.localeCompare(b, 'en'));
  const others = words.filter(([, each]) => each.length < FAMILY).flatMap(([, each]) => each);
  return [...words.filter(([, each]) => each.length >= FAMILY), ['others', others]].filter(([, each]) => each.length);
}

const label = ({ name, parameters }) => (parameters ? `${name} · ${short(parameters)}` : name);

/** What is left of a name where case and what stands between words do not matter; of the hub's ids
 * without their owners. */
const folded = (text) => text.toLowerCase().replace(/^.*\//, '').replace(/[\s_.:-]+/g, '');

/** Those that have every word in their name or size: "qwen3 8b", "Llama 3.1", "Qwen/Qwen3-8B". */
export function found(models, typed) {
  const words = typed.trim().toLowerCase().replace(/^\S+\//, '').split(/[\s_-]+/).map(folded).filter(Boolean);
  const has = (model) => {
    const text = folded(label(model));
    return words.every((word) => text.includes(word));
  };
  return models.filter(has);
}

/** The inside of the list: by family, as there are too many to be read through; what is no shape of
 * ours stands last, what is no name first. */
export function modelsMarkup(models) {
  const options = (some) => some.sort(bySize)
    .map((model) => `<option value="${escaped(model.name)}">${escaped(label(model))}</option>`).join('');
  const group = ([name, some]) => `<optgroup label="${name}">${options(some)}</optgroup>`;
  const bare = models.filter(({ parameters }) => !parameters);
  return '<optgroup label="Another"><option value="params:">a size …</option>'
    + '<option value="hub:">a Hugging Face id …</option><option value="config:">a config.json …</option></optgroup>'
    + families(models.filter(({ parameters }) => parameters)).map(group).join('')
    + (bare.length ? `<optgroup label="Shipped for this runtime alone" id="more-models">${options(bare)}</optgroup>` : '');
}

const MOST = 9; // lines of the list while somebody looks for a model

/** Wires the search field to the list: it shows what is found of `readable()` while something is
 * typed, `all` otherwise; Enter takes the first. `say` tells how many there are. */
export function wireSearch(field, list, all, readable, say) {
  let shown = '';
  const show = () => {
    const typed = field.value.trim();
    if (typed === shown) return;
    shown = typed;
    const chosen = list.value;
    const some = typed ? found(readable(), typed) : all;
    list.innerHTML = modelsMarkup(some);
    list.value = chosen;
    list.size = typed ? Math.min(MOST, Math.max(4, some.length + 2)) : 1;
    if (!typed) say('');
    else if (some.length) say(`${some.length} of that name; Enter takes the first`);
    else say('none of that name: a Hugging Face id, a config.json or a size does as well');
  };
  const end = () => {
    field.value = '';
    show();
  };
  field.addEventListener('input', show);
  field.addEventListener('keydown', (event) => {
    if (event.key === 'Escape') end();
    if (event.key === 'ArrowDown') list.focus();
    if (event.key !== 'Enter') return;
    event.preventDefault();
    const first = found(readable(), field.value)[0] && list.querySelector('optgroup:not([label="Another"]) option');
    list.value = first ? first.value : 'hub:';
    if (!first) document.getElementById('hub-id').value = field.value.trim();
    list.dispatchEvent(new Event('change'));
    end();
  });
  // By keyboard each line is a choice; by pointer the first is the last.
  list.addEventListener('click', () => list.size > 1 && end());
  list.addEventListener('blur', () => document.activeElement !== field && end());
}
