// The state of a view in the URL's fragment: #view?name=value&…, where what is as it was at the start is left out.

import { later } from "./dom.js";

const fields = (form) => [...form.elements].filter((e) => e.name && e.type !== "file" && e.type !== "password");

function values(form) {
  const found = {};
  for (const e of fields(form)) {
    if (e.type === "radio" && !e.checked) continue;
    found[e.name] = e.type === "checkbox" ? String(e.checked) : e.value;
  }
  return found;
}

// State ties the named fields of a form, and what extra reads and writes, to the fragment.
export class State {
  constructor(view, form, extra = { read: () => ({}), write: () => {} }) {
    this.view = view;
    this.form = form;
    this.extra = extra;
    this.first = values(form);
    this.changed = later(300, () => this.store());
    form.addEventListener("input", this.changed);
    form.addEventListener("change", this.changed);
  }

  fragment() {
    const now = { ...values(this.form), ...this.extra.read() };
    const kept = Object.entries(now).filter(([name, value]) => value !== undefined && value !== this.first[name]);
    const query = new URLSearchParams(kept).toString();
    return `#${this.view}${query && `?${query}`}`;
  }

  store() {
    if (location.hash.startsWith(`#${this.view}`) || location.hash === "") history.replaceState(null, "", this.fragment());
  }

  link() {
    return new URL(this.fragment(), location.href).href;
  }

  load(query) {
    const given = new URLSearchParams(query);
    for (const e of fields(this.form)) {
      if (!given.has(e.name)) continue;
      if (e.type === "radio") e.checked = e.value === given.get(e.name);
      else if (e.type === "checkbox") e.checked = given.get(e.name) === "true";
      else {
        if (e.tagName === "SELECT") e.dataset.wanted = given.get(e.name); // its options may come later
        e.value = given.get(e.name);
      }
    }
    this.extra.write(given);
    this.form.dispatchEvent(new Event("restored"));
  }
}
