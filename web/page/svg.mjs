// Markup into the page, and out of it as a picture of its own.

const shown = new WeakMap();

/** Elements stay where the markup is alike, so that they move rather than jump. */
export function show(target, markup) {
  if (shown.get(target) === markup) return;
  shown.set(target, markup);
  const next = document.createElementNS(target.namespaceURI, target.localName);
  next.innerHTML = markup;
  if (next.children.length !== target.children.length) {
    target.replaceChildren(...next.childNodes);
    return;
  }
  for (const [i, there] of [...target.children].entries()) {
    const { [i]: wanted } = next.children;
    if (there.localName !== wanted.localName) {
      target.replaceChildren(...next.childNodes);
      return;
    }
  }
  const wanted = [...next.children];
  [...target.children].forEach((element, i) => update(element, wanted[i]));
}

function update(element, wanted) {
  for (const { name, value } of wanted.attributes) {
    if (element.getAttribute(name) !== value) element.setAttribute(name, value);
  }
  if (element.innerHTML !== wanted.innerHTML) element.innerHTML = wanted.innerHTML;
}

/** An SVG that stands alone: its own colours, its own ground. */
export function standing(markup, width, height, { style, title, head = '' }) {
  const top = head ? 46 : 0;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="-16 -12 ${width + 32} ${height + top + 24}" width="${width + 32}" height="${height + top + 24}" role="img" class="chart">`
    + `<title>${title}</title><style>${style}</style><rect x="-16" y="-12" width="100%" height="100%" class="ground"/>`
    + `${head}<g transform="translate(0 ${top})">${markup}</g></svg>`;
}
