// Elements of the page. Texts are set as text, never as HTML, wherever they come from.

// element makes an element with properties, attributes (in `attributes`) and children.
export function element(name, properties = {}, ...children) {
  const made = document.createElement(name);
  const { attributes = {}, dataset = {}, ...rest } = properties;
  Object.assign(made, rest);
  Object.assign(made.dataset, dataset);
  for (const [attribute, value] of Object.entries(attributes)) made.setAttribute(attribute, value);
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

export const button = (text, onclick, properties = {}) => element("button", { type: "button", textContent: text, onclick, ...properties });

// number writes a number with so many digits after the point, a whole one without.
export function number(value, digits = 2) {
  if (!Number.isFinite(value)) return "–";
  return value.toLocaleString("en", { maximumFractionDigits: digits, minimumFractionDigits: Number.isInteger(value) ? 0 : digits });
}

// later calls a function once no call of it has come for a while, in ms.
export function later(wait, work) {
  let timer = 0;
  return (...given) => {
    clearTimeout(timer);
    timer = setTimeout(() => work(...given), wait);
  };
}

// save offers a text as a file.
export function save(name, type, text) {
  const address = URL.createObjectURL(new Blob([text], { type }));
  const link = element("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

// copy puts a text into the clipboard and says so on the button that was pressed. Browsers have no clipboard for pages
// that did not come over https or from this machine; there the text is selected in a field.
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
  const before = pressed.textContent;
  pressed.textContent = "Copied";
  setTimeout(() => (pressed.textContent = before), 1200);
}
