// The page: shows the view that the fragment names.

import { chat } from "./chat.js";
import { molecules } from "./molecules.js";
import { operators } from "./operators.js";
import { overview } from "./service.js";
import { retrieval } from "./retrieval.js";
import { scores } from "./scores.js";
import { templates } from "./templates.js";

const views = { molecules, templates, retrieval, chat, scores, operators };
const running = {};

function show() {
  const [wanted, query = ""] = location.hash.slice(1).split(/\?(.*)/s);
  const name = wanted in views ? wanted : "molecules";
  for (const other of Object.keys(views)) document.getElementById(other).hidden = other !== name;
  for (const link of document.querySelectorAll("#views a")) {
    if (link.hash === `#${name}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = `${name[0].toUpperCase()}${name.slice(1)} – Retort`;
  running[name] ??= views[name](document.getElementById(name));
  if (query) running[name].state?.load(query);
  running[name].onShow?.();
}

// The links to the views restore their state.
for (const link of document.querySelectorAll("#views a")) {
  link.addEventListener("click", (event) => {
    const state = running[link.hash.slice(1)]?.state;
    if (!state || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    history.pushState(null, "", state.fragment());
    show();
  });
}
document.getElementById("skip").addEventListener("click", (event) => {
  event.preventDefault();
  document.getElementById("main").focus();
});
window.addEventListener("hashchange", show);
window.addEventListener("popstate", show);
show();

overview().then(
  (known) => (document.getElementById("open-to-all").hidden = !known.open_to_all),
  () => {},
);
