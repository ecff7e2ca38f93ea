// The operators' view: the APIs with their models, load and latency, from the overview and the metrics.

import { get } from "./api.js";
import { Chart } from "./chart.js";
import { element, number } from "./dom.js";
import { parseMetrics, quantile, sum } from "./metrics.js";
import { Snippets } from "./snippet.js";

const refreshInterval = 3000; // ms between readings
const comparedReadings = 60; // readings between the two that are compared: three minutes
const maxReadings = 200; // readings, ten minutes

export function operators(view) {
  const status = view.querySelector(".status");
  const home = view.querySelector(".cards");
  const snippets = new Snippets(view.querySelector(".snippet-home"));
  const cards = new Map();
  const readings = []; // { at (s), samples }
  let busy = false;

  async function refresh() {
    if (busy || document.hidden) return;
    busy = true;
    try {
      const [overview, text] = await Promise.all([get("/page/apis"), get("/metrics", { text: true })]);
      readings.push({ at: Date.now() / 1000, samples: parseMetrics(text) });
      if (readings.length > maxReadings) readings.shift();
      snippets.show({ path: "/page/apis", method: "GET" }, { path: "/metrics", method: "GET" });
      for (const api of overview.apis) show(api);
      const up = readings.at(-1).samples.find((s) => s.name === "retort_triton_up")?.value === 1;
      const seconds = readings.at(-1).at - readings[Math.max(0, readings.length - comparedReadings)].at;
      status.textContent = [
        `Retort ${overview.version}`,
        `Triton ${up ? "answers" : "does not answer"}`,
        `figures of the last ${number(Math.round(seconds))} s, read while this page is open`,
      ].join(" · ");
      status.classList.toggle("bad", !up);
    } catch (problem) {
      status.textContent = problem.message;
      status.classList.add("bad");
    } finally {
      busy = false;
    }
  }

  function show(api) {
    if (!cards.has(api.name)) cards.set(api.name, makeCard(api));
    const { state, models, figures, chart } = cards.get(api.name);
    state.textContent = api.ready ? "ready" : `not ready: ${api.reason}`;
    state.classList.toggle("good", api.ready);
    models.replaceChildren(
      ...api.models.map((m) =>
        element(
          "li",
          {},
          element("code", { textContent: m.id }),
          m.entry ? ` ${m.entry}, version ${m.versions.join(", ")}` : "",
        ),
      ),
    );
    const now = readings.at(-1);
    const before = readings[Math.max(0, readings.length - comparedReadings)];
    const increase = (name, test) => sum(now.samples, name, api.name, test) - sum(before.samples, name, api.name, test);
    const minutes = Math.max(1e-9, (now.at - before.at) / 60);
    const ms = (fraction) => {
      const found = quantile(before.samples, now.samples, api.name, fraction);
      return found === null ? "–" : `${number(found * 1000, found < 0.01 ? 1 : 0)} ms`;
    };
    const isPost = (labels) => labels.method === "POST";
    const values = {
      running: number(sum(now.samples, "retort_http_in_flight", api.name)),
      waiting: number(sum(now.samples, "retort_http_waiting", api.name)),
      "a minute": now === before ? "–" : number(increase("retort_http_requests_total", isPost) / minutes, 1),
      failed: number(increase("retort_http_requests_total", (labels) => isPost(labels) && labels.status >= 500)),
      refused: number(increase("retort_http_refused_total")),
      median: ms(0.5),
      "95 %": ms(0.95),
    };
    figures.replaceChildren(
      ...Object.entries(values).map(([name, value]) =>
        element("div", {}, element("dt", { textContent: name }), element("dd", { textContent: value })),
      ),
    );
    const line = (fraction) =>
      readings.map((r, i) =>
        i === 0 ? null : toMilliseconds(quantile(readings[Math.max(0, i - 5)].samples, r.samples, api.name, fraction)),
      );
    chart.set(
      readings.map((r) => r.at),
      line(0.5),
      line(0.95),
    );
  }

  function makeCard(api) {
    const state = element("span", { className: "state" });
    const models = element("ul", { className: "models" });
    const figures = element("dl", { className: "figures" });
    const plot = element("div", {
      className: "chart",
      attributes: { role: "img", "aria-label": `Latency of ${api.title} over the last minutes` },
    });
    const link = (text, path) => element("a", { href: `${api.name}/${path}`, textContent: text });
    home.append(
      element(
        "article",
        { className: "api", dataset: { api: api.name } },
        element("h2", {}, api.title, " ", state),
        models,
        figures,
        plot,
        element(
          "p",
          { className: "links" },
          element("code", { textContent: `/${api.name}` }),
          api.port > 0 ? ` or port ${api.port}` : "",
          " · ",
          link("Documentation", "docs"),
          " · ",
          link("OpenAPI", "openapi.json"),
        ),
      ),
    );
    return {
      state,
      models,
      figures,
      chart: new Chart(plot, { x: "", y: "ms", series: ["median", "95 %"], height: 150, time: true }),
    };
  }

  // Metrics are also read while other views are shown, so that the charts have no gaps.
  setInterval(refresh, refreshInterval);
  document.addEventListener("visibilitychange", refresh);
  refresh();
  return { onShow: refresh };
}

const toMilliseconds = (seconds) => (seconds === null ? null : seconds * 1000);
