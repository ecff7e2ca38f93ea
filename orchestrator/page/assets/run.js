// One piece of work of a form at a time: its buttons, its status line, its end.

import { copy } from "./dom.js";
import { clear, show } from "./problems.js";

// Run calls work(signal, say) when the form is sent; names translates members of bodies into fields.
export class Run {
  constructor(form, work, { names = {}, link } = {}) {
    this.form = form;
    this.names = names;
    this.status = form.querySelector(".status");
    this.stopper = form.querySelector("[data-stop]");
    this.starter = form.querySelector("[type=submit]");
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.begin(work);
    });
    this.stopper.addEventListener("click", () => this.control?.abort());
    const linker = form.querySelector("[data-link]");
    linker.addEventListener("click", () => copy(link(), linker));
  }

  say(text) {
    this.status.textContent = text;
    this.status.classList.remove("bad");
  }

  async begin(work) {
    if (this.control) return;
    this.control = new AbortController();
    clear(this.form);
    this.say("Working …");
    this.stopper.disabled = false;
    this.starter.disabled = true;
    this.form.setAttribute("aria-busy", "true");
    try {
      await work(this.control.signal, (text) => this.say(text));
    } catch (problem) {
      if (problem.name === "AbortError") this.say(this.stopped?.() ?? "Stopped.");
      else show(this.form, problem, this.names);
      if (!problem.places && problem.name !== "AbortError") console.error(problem);
    } finally {
      this.control = null;
      this.stopper.disabled = true;
      this.starter.disabled = false;
      this.form.removeAttribute("aria-busy");
    }
  }
}
