// Elements of the page. Texts are set as text, never as HTML, wherever they come from.

// element creates an element with properties, attributes, data attributes and children.
export function element(name, properties = {}, ...children) {
  const node = document.createElement(name);
  const { attributes = {}, dataset = {}, ...rest } = properties;
  Object.assign(node, rest);
  Object.assign(node.dataset, dataset);
  for (const [attribute, value] of Object.entries(attributes)) node.setAttribute(attribute, value);
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

export const button = (text, onclick, properties = {}) =>
  element("button", { type: "button", textContent: text, onclick, ...properties });

// number formats a number with that many digits after the point, or none for an integer.
export function number(value, digits = 2) {
  if (!Number.isFinite(value)) return "–";
  return value.toLocaleString("en", {
    maximumFractionDigits: digits,
    minimumFractionDigits: Number.isInteger(value) ? 0 : digits,
  });
}

// debounce returns a function that calls work once it has not been called for wait ms.
export function debounce(wait, work) {
  let timer = 0;
  return (...values) => {
    clearTimeout(timer);
    timer = setTimeout(() => work(...values), wait);
  };
}

// download downloads a text as a file.
export function download(name, type, text) {
  const address = URL.createObjectURL(new Blob([text], { type }));
  const link = element("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

// copy copies a text to the clipboard and shows that on the button. Browsers have no clipboard for pages over plain
// http from another machine; there the text is copied from a selected field.
export async function copy(text, pressed) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const field = element("textarea", { value: text, className: "unseen" });
    pressed.after(field);
    field.select();
    document.execCommand("copy");
    field.remove();
  }
  const label = pressed.textContent;
  pressed.textContent = "Copied";
  setTimeout(() => (pressed.textContent = label), 1200);
}
