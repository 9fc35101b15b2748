// What the build put into the page: the module, the worker, runs that were measured.

const textOf = (id) => document.getElementById(id).textContent;

/** Bytes that the build compressed and spelt in base64. */
async function inflated(id) {
  const packed = Uint8Array.from(atob(textOf(id).trim()), (c) => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new Response(stream).arrayBuffer();
}

export const compiled = async () => WebAssembly.compile(await inflated('wasm'));
export const workerSource = () => textOf('worker');
export const measuredCases = async () => JSON.parse(new TextDecoder().decode(await inflated('measured')));
export const chartStyle = () => textOf('chart-style');
