// Answers what would take longer than a frame. The first message is the compiled module.
import { BadInput, Vramfit } from '../module/vramfit.mjs';

let vramfit;

function answered({ id, kind, flags }) {
  const began = performance.now();
  const told = (soFar) => postMessage({ id, soFar });
  try {
    return { result: vramfit[kind](flags, told), ms: performance.now() - began };
  } catch (error) {
    return { error: error.message, badInput: error instanceof BadInput };
  }
}

addEventListener('message', ({ data }) => {
  if (data instanceof WebAssembly.Module) vramfit = new Vramfit(data);
  else postMessage({ id: data.id, ...answered(data) });
});
