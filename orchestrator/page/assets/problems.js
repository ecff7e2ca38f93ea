// Errors of requests, shown beside the fields that they concern.

import { element } from "./dom.js";

// Problem is the error of a request: a message, and the places in the body that its parts concern.
export class Problem extends Error {
  constructor(status, places, message) {
    super(message);
    this.status = status;
    this.places = places; // [{ path: ["terms", 0], message }]
  }
}

// sentence returns the message of a validation error as a sentence without its prefix.
function sentence(text) {
  const message = String(text)
    .replace(/^Value error, /, "")
    .replace(/^(Input|String|List) should/, "It should");
  return message.charAt(0).toUpperCase() + message.slice(1);
}

// problemOf returns the problem in an error answer of any API: a list of pydantic, an object of OpenAI, or a text.
export function problemOf(status, body) {
  if (Array.isArray(body?.detail)) {
    const places = body.detail.map((d) => ({
      path: (d.loc ?? []).filter((step) => step !== "body"),
      message: sentence(d.msg),
    }));
    return new Problem(status, places, places.map((p) => p.message).join("; "));
  }
  const detail =
    body?.error?.message ??
    body?.error ??
    body?.detail ??
    body?.message ??
    `The service answered with status ${status}.`;
  const text = typeof detail === "string" ? detail : JSON.stringify(detail);
  const path = body?.error?.param
    ? String(body.error.param)
        .split(/[.[\]]+/)
        .filter(Boolean)
    : [];
  const named = /^([a-z_]+)(?:[.[][^:]*)?: (.*)$/s.exec(text);
  if (path.length > 0 || !named) return new Problem(status, [{ path, message: sentence(text) }], sentence(text));
  return new Problem(status, [{ path: [named[1]], message: sentence(named[2]) }], sentence(text));
}

// clearProblems removes all messages from a form.
export function clearProblems(form) {
  for (const message of form.querySelectorAll(".problem")) message.remove();
  for (const marked of form.querySelectorAll("[aria-invalid]")) marked.removeAttribute("aria-invalid");
}

let ids = 0;

// showBeside shows a message below a field, the element with data-field, and marks its input or that of a row. An empty
// message removes both.
export function showBeside(field, message, row = 0) {
  field.querySelector(".problem")?.remove();
  const rows = field.querySelectorAll(".term, .mask");
  const input = (rows[row] ?? field).querySelector("input, textarea, select");
  if (!message) {
    input?.removeAttribute("aria-invalid");
    return;
  }
  const text = element("p", {
    className: "problem",
    id: `problem-${++ids}`,
    textContent: message,
    attributes: { role: "alert" },
  });
  field.append(text);
  input?.setAttribute("aria-invalid", "true");
  input?.setAttribute("aria-describedby", text.id);
}

// showProblem shows each part of a problem beside the field that the first step of its path names. names maps members
// of the body to fields. Parts without a field go into the status line.
export function showProblem(form, problem, names = {}) {
  const status = form.querySelector(".status");
  const others = [];
  for (const place of problem.places ?? [{ path: [], message: problem.message }]) {
    const name = names[place.path[0]] ?? place.path[0];
    const field = name && form.querySelector(`[data-field="${CSS.escape(name)}"]`);
    if (field && !field.closest("[hidden]")) showBeside(field, place.message, place.path.find(Number.isInteger));
    else others.push(place.message);
  }
  status.textContent = others.length > 0 ? others.join(" ") : "Please correct the marked fields.";
  status.classList.add("bad");
  form.querySelector('[aria-invalid="true"]')?.focus();
}
