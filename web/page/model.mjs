// Which model: one of those shipped, a size, an id of the Hugging Face hub, or a config.json.

const LARGEST_CONFIG = 1 << 20; // bytes
const HUB = 'https://huggingface.co';
const byId = (id) => document.getElementById(id);

function withModel(question, model) {
  const { model: _, config, params, hidden, layers, ...rest } = question;
  return { ...model, ...rest };
}

/** The text without the space between its parts; every part as it is, for the reader to judge. */
const condensed = (text) => text.replace(/("(?:[^"\\]|\\.)*")|\s+/g, '$1');

async function fetchConfig(id) {
  const path = id.split('/').map(encodeURIComponent).join('/');
  let response;
  try {
    response = await fetch(`${HUB}/${path}/resolve/main/config.json`, { credentials: 'omit', referrerPolicy: 'no-referrer' });
  } catch {
    throw new Error('huggingface.co cannot be reached; paste its config.json instead');
  }
  if (response.status === 401 || response.status === 403) {
    throw new Error(`${id} is not there, gated or private; paste its config.json instead`);
  }
  if (!response.ok) throw new Error(`huggingface.co answers ${response.status} for ${id}`);
  return response.text();
}

/** Wires the model's controls. `state` has question and change(question); `known(id)` says whether
 * the estimator has that shape. */
export function wireModel(state, known) {
  const say = (text) => {
    byId('model-note').textContent = text;
  };
  const take = (model) => {
    say('');
    state.change(withModel(state.question, model));
  };
  const takeConfig = (text, name) => {
    if (text.length > LARGEST_CONFIG) {
      say('config: more than 1 MiB; a config.json is a few KB');
      return;
    }
    take(name ? { model: name, config: condensed(text) } : { config: condensed(text) });
  };

  byId('model').addEventListener('change', ({ target }) => {
    for (const part of ['params', 'hub', 'config']) byId(`model-${part}`).hidden = target.value !== `${part}:`;
    if (target.value === 'params:') take({ params: byId('params').value || '7B' });
    else if (target.value === 'hub:') byId('hub-id').focus();
    else if (target.value === 'config:') byId('config-text').focus();
    else {
      byId('hub-id').value = '';
      take({ model: target.value });
    }
  });
  byId('params').addEventListener('input', ({ target }) => take({ params: target.value.trim() || '7B' }));

  const fetchIt = async () => {
    const id = byId('hub-id').value.trim();
    if (!/^[\w.-]+\/[\w.-]+$/.test(id)) {
      say('an id is owner/name, such as Qwen/Qwen2.5-7B');
      return;
    }
    if (known(id)) {
      take({ model: id });
      return;
    }
    say(`fetching ${id}/config.json …`);
    try {
      takeConfig(await fetchConfig(id), id);
    } catch (error) {
      say(error.message);
    }
  };
  byId('hub-fetch').addEventListener('click', fetchIt);
  byId('hub-id').addEventListener('keydown', (event) => {
    if (event.key !== 'Enter') return;
    event.preventDefault();
    fetchIt();
  });

  byId('config-text').addEventListener('input', ({ target }) => {
    if (target.value.trim()) takeConfig(target.value);
  });
  byId('config-file').addEventListener('change', async ({ target }) => {
    const [file] = target.files;
    if (file) takeConfig(await file.slice(0, LARGEST_CONFIG + 1).text());
  });
  document.addEventListener('dragover', (event) => event.preventDefault());
  document.addEventListener('drop', async (event) => {
    event.preventDefault();
    const [file] = event.dataTransfer.files;
    if (!file) return;
    byId('hub-id').value = '';
    byId('model').blur();
    takeConfig(await file.slice(0, LARGEST_CONFIG + 1).text());
  });
}
