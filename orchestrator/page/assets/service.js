// What the service serves.

import { get } from "./api.js";
import { element } from "./dom.js";

let asked = null;

// overview is what is served, asked for once.
export function overview() {
  asked ??= get("/page/apis").catch((problem) => {
    asked = null; // the next one asks again
    throw problem;
  });
  return asked;
}

// offerModels fills a list with the models of an API. The choice that a link names stays.
export async function offerModels(select, api) {
  const found = (await overview()).apis.find((a) => a.name === api);
  const wanted = select.dataset.wanted ?? select.value;
  select.replaceChildren(...found.models.map((m) => element("option", { value: m.id, textContent: m.id })));
  if (found.models.some((m) => m.id === wanted)) select.value = wanted;
  if (found.models.length === 0) select.append(element("option", { value: "", textContent: found.reason || "none is ready" }));
}
