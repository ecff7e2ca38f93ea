// The state of a view in the fragment of the URL, #view?name=value&…: the values that differ from the initial ones.

import { debounce } from "./dom.js";

const fields = (form) => [...form.elements].filter((e) => e.name && e.type !== "file" && e.type !== "password");

function values(form) {
  const found = {};
  for (const e of fields(form)) {
    if (e.type === "radio" && !e.checked) continue;
    found[e.name] = e.type === "checkbox" ? String(e.checked) : e.value;
  }
  return found;
}

// State stores the named fields of a form, and the values of extra.read, in the fragment. load restores them.
export class State {
  constructor(view, form, extra = { read: () => ({}), write: () => {} }) {
    this.view = view;
    this.form = form;
    this.extra = extra;
    this.initial = values(form);
    this.changed = debounce(300, () => this.store());
    form.addEventListener("input", this.changed);
    form.addEventListener("change", this.changed);
  }

  fragment() {
    const now = { ...values(this.form), ...this.extra.read() };
    const changes = Object.entries(now).filter(([name, value]) => value !== undefined && value !== this.initial[name]);
    const query = new URLSearchParams(changes).toString();
    return `#${this.view}${query && `?${query}`}`;
  }

  store() {
    if (location.hash.startsWith(`#${this.view}`) || location.hash === "")
      history.replaceState(null, "", this.fragment());
  }

  link() {
    return new URL(this.fragment(), location.href).href;
  }

  load(query) {
    const stored = new URLSearchParams(query);
    for (const e of fields(this.form)) {
      if (!stored.has(e.name)) continue;
      if (e.type === "radio") e.checked = e.value === stored.get(e.name);
      else if (e.type === "checkbox") e.checked = stored.get(e.name) === "true";
      else {
        if (e.tagName === "SELECT") e.dataset.wanted = stored.get(e.name); // its options may be loaded later
        e.value = stored.get(e.name);
      }
    }
    this.extra.write(stored);
    this.form.dispatchEvent(new Event("restored"));
  }
}
