// The overview of the APIs and their models.

import { get } from "./api.js";
import { element } from "./dom.js";

let request = null;

// overview returns what is served. It is requested once.
export function overview() {
  request ??= get("/page/apis").catch((problem) => {
    request = null; // the next call tries again
    throw problem;
  });
  return request;
}

// fillModels fills a list with the models of an API. It keeps the choice, or takes that of a link.
export async function fillModels(select, api) {
  const entry = (await overview()).apis.find((a) => a.name === api);
  const wanted = select.dataset.wanted ?? select.value;
  select.replaceChildren(...entry.models.map((m) => element("option", { value: m.id, textContent: m.id })));
  if (entry.models.some((m) => m.id === wanted)) select.value = wanted;
  if (entry.models.length === 0)
    select.append(element("option", { value: "", textContent: entry.reason || "none is ready" }));
}
