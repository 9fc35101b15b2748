// A question is fit's flags by name, as text; a switch is true. It is the page's whole state: the
// link, the command and what the estimator is asked are three ways to write it.

/** What a link says beside the question: which part of the page alone, and the explorer's axis. */
const OF_THE_VIEW = new Set(['view', 'axis']);
const VIEWS = new Set(['calculator', 'explorer']);

/** What many ask first: an 8B, adapters, a card for games. It does not fit, and a switch makes it. */
export const START = {
  model: 'llama3.1-8b', train: true, lora: '16', precision: 'bf16', batch: '2', seq: '1024', gpu: 'rtx4090',
};

/** What follows "#". */
export function linkOf(question, view = {}) {
  const link = new URLSearchParams();
  for (const [flag, value] of Object.entries({ ...view, ...question })) {
    if (value === undefined || value === null || value === '' || value === false) continue;
    link.set(flag, value === true ? '' : value);
  }
  return link.toString().replaceAll('=&', '&').replace(/=$/, '');
}

/** The same read: the question, and the view. "#explorer" alone is the start's. Of `switches` a
 * link may say that they are false. */
export function readLink(hash, switches) {
  const link = new URLSearchParams(hash.replace(/^#/, ''));
  const question = {};
  const view = {};
  for (const [flag, value] of link) {
    if (VIEWS.has(flag) && value === '') view.view = flag;
    else if (OF_THE_VIEW.has(flag)) view[flag] = value;
    else if (value === '') question[flag] = true;
    else question[flag] = switches.includes(flag) ? value !== 'false' : value;
  }
  return { question: Object.keys(question).length ? question : { ...START }, view };
}

const quoted = (text) => (/^[\w.,/:+-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`);

/** The command that answers the same, as pip and `cmake --install` name it. */
export function commandOf(question) {
  const words = ['vramfit'];
  const ofTheHub = question.config !== undefined && String(question.model).includes('/');
  for (const [flag, value] of Object.entries(question)) {
    if (flag === (ofTheHub ? 'config' : 'model') && question.config !== undefined) continue;
    if (flag === 'config') words.push('--config config.json');
    else if (value === true) words.push(`--${flag}`);
    else if (value !== undefined && value !== '' && value !== false) {
      words.push(`--${flag} ${quoted(String(value))}`);
    }
  }
  return words.join(' ');
}

/** The question with what an advice says: "--checkpoint full --lora 16", and flags to go without. */
export function advised(question, { flags, without }) {
  const changed = { ...question };
  for (const flag of without) delete changed[flag];
  for (const part of flags.split(/(?:^| )--/).filter(Boolean)) {
    const [flag, ...value] = part.split(' ');
    changed[flag] = value.length ? value.join(' ') : true;
  }
  return changed;
}

/** The same question at another size. */
export const sized = (question, axis, size) => ({ ...question, [axis]: String(size) });

/** The question that searches for the largest of `axis`. */
export function searchOf(question, axis) {
  const search = { ...question, [`max-${axis}`]: true };
  delete search[axis];
  return search;
}

/** The question about every card. */
export function withoutCard(question) {
  const { gpu, vram, ...rest } = question;
  return rest;
}
