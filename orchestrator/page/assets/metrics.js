// Metrics in the text format of Prometheus, and statistics of the time between two readings.

// parseMetrics returns the samples of the text format: [{ name, labels, value }].
export function parseMetrics(text) {
  const samples = [];
  for (const line of text.split("\n")) {
    const found = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)/.exec(line);
    if (!found) continue;
    const labels = {};
    for (const [, name, value] of (found[2] ?? "").matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)) labels[name] = value;
    samples.push({ name: found[1], labels, value: found[3] === "+Inf" ? Infinity : Number(found[3]) });
  }
  return samples;
}

// sum returns the sum of the samples of an API with a name.
export const sum = (samples, name, api, test = () => true) =>
  samples
    .filter((s) => s.name === name && s.labels.api === api && test(s.labels))
    .reduce((total, s) => total + s.value, 0);

// buckets returns the cumulative counts of an API's latencies by upper bound in seconds. Only routes with POST requests
// count, not pages, probes and descriptions.
function buckets(samples, api) {
  const posted = new Set(
    samples
      .filter((s) => s.name === "retort_http_requests_total" && s.labels.api === api && s.labels.method === "POST")
      .map((s) => s.labels.route),
  );
  const found = new Map();
  for (const s of samples) {
    if (s.name !== "retort_http_request_duration_seconds_bucket" || s.labels.api !== api || !posted.has(s.labels.route))
      continue;
    const bound = s.labels.le === "+Inf" ? Infinity : Number(s.labels.le);
    found.set(bound, (found.get(bound) ?? 0) + s.value);
  }
  return found;
}

// quantile returns a quantile of the latencies between two readings, in seconds, or null without requests. It
// interpolates within a bucket, as Prometheus does.
export function quantile(before, now, api, fraction) {
  const old = buckets(before, api);
  const counts = [...buckets(now, api)]
    .map(([bound, count]) => [bound, count - (old.get(bound) ?? 0)])
    .sort((a, b) => a[0] - b[0]);
  const all = counts.at(-1)?.[1] ?? 0;
  if (all <= 0) return null;
  let lower = 0;
  let below = 0;
  for (const [bound, count] of counts) {
    if (count >= fraction * all)
      return bound === Infinity ? lower : lower + (bound - lower) * ((fraction * all - below) / (count - below || 1));
    lower = bound;
    below = count;
  }
  return lower;
}
