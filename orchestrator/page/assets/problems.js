// What is wrong with a request, in plain words beside the field.

import { element } from "./dom.js";

// Problem is a refusal of an API: a message, and where in the body each part of it belongs.
export class Problem extends Error {
  constructor(status, places, message) {
    super(message);
    this.status = status;
    this.places = places; // [{ path: ["terms", 0], message }]
  }
}

function plain(text) {
  const said = String(text).replace(/^Value error, /, "").replace(/^(Input|String|List) should/, "It should");
  return said.charAt(0).toUpperCase() + said.slice(1);
}

// problemOf reads the failures of all APIs: pydantic's list, OpenAI's object, one text.
export function problemOf(status, body) {
  if (Array.isArray(body?.detail)) {
    const places = body.detail.map((d) => ({ path: (d.loc ?? []).filter((step) => step !== "body"), message: plain(d.msg) }));
    return new Problem(status, places, places.map((p) => p.message).join("; "));
  }
  const said = body?.error?.message ?? body?.error ?? body?.detail ?? body?.message ?? `The service answered with status ${status}.`;
  const text = typeof said === "string" ? said : JSON.stringify(said);
  const path = body?.error?.param ? String(body.error.param).split(/[.[\]]+/).filter(Boolean) : [];
  const named = /^([a-z_]+)(?:[.[][^:]*)?: (.*)$/s.exec(text);
  if (path.length > 0 || !named) return new Problem(status, [{ path, message: plain(text) }], plain(text));
  return new Problem(status, [{ path: [named[1]], message: plain(named[2]) }], plain(text));
}

// clear takes all messages out of a form.
export function clear(form) {
  for (const old of form.querySelectorAll(".problem")) old.remove();
  for (const marked of form.querySelectorAll("[aria-invalid]")) marked.removeAttribute("aria-invalid");
}

let ids = 0;

// beside says what is wrong with a field, which is the element with data-field, or with one of its rows.
export function beside(field, message, row = 0) {
  field.querySelector(".problem")?.remove();
  const rows = field.querySelectorAll(".term, .mask");
  const input = (rows[row] ?? field).querySelector("input, textarea, select");
  if (!message) {
    input?.removeAttribute("aria-invalid");
    return;
  }
  const text = element("p", { className: "problem", id: `problem-${++ids}`, textContent: message, attributes: { role: "alert" } });
  field.append(text);
  input?.setAttribute("aria-invalid", "true");
  input?.setAttribute("aria-describedby", text.id);
}

// show puts the parts of a problem beside the fields they belong to, by the first step of their paths; names translates
// members of the body into fields. What belongs to none goes into the status line.
export function show(form, problem, names = {}) {
  const status = form.querySelector(".status");
  const others = [];
  for (const place of problem.places ?? [{ path: [], message: problem.message }]) {
    const name = names[place.path[0]] ?? place.path[0];
    const field = name && form.querySelector(`[data-field="${CSS.escape(name)}"]`);
    if (field && !field.closest("[hidden]")) beside(field, place.message, place.path.find(Number.isInteger));
    else others.push(place.message);
  }
  status.textContent = others.length > 0 ? others.join(" ") : "Please mend what is marked.";
  status.classList.add("bad");
  form.querySelector('[aria-invalid="true"]')?.focus();
}
