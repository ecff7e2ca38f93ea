// The work of a form: at most one run at a time, with its buttons and status line.

import { copy } from "./dom.js";
import { clearProblems, showProblem } from "./problems.js";

// Run calls work(signal, say) when the form is submitted. say sets the status line. names maps members of bodies to
// fields.
export class Run {
  constructor(form, work, { names = {}, link } = {}) {
    this.form = form;
    this.names = names;
    this.status = form.querySelector(".status");
    this.stopButton = form.querySelector("[data-stop]");
    this.submitButton = form.querySelector("[type=submit]");
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.start(work);
    });
    this.stopButton.addEventListener("click", () => this.control?.abort());
    const linkButton = form.querySelector("[data-link]");
    linkButton.addEventListener("click", () => copy(link(), linkButton));
  }

  setStatus(text) {
    this.status.textContent = text;
    this.status.classList.remove("bad");
  }

  async start(work) {
    if (this.control) return;
    this.control = new AbortController();
    clearProblems(this.form);
    this.setStatus("Working …");
    this.stopButton.disabled = false;
    this.submitButton.disabled = true;
    this.form.setAttribute("aria-busy", "true");
    try {
      await work(this.control.signal, (text) => this.setStatus(text));
    } catch (problem) {
      if (problem.name === "AbortError") this.setStatus(this.stopped?.() ?? "Stopped.");
      else showProblem(this.form, problem, this.names);
      if (!problem.places && problem.name !== "AbortError") console.error(problem);
    } finally {
      this.control = null;
      this.stopButton.disabled = true;
      this.submitButton.disabled = false;
      this.form.removeAttribute("aria-busy");
    }
  }
}
