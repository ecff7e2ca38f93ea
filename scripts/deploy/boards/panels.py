"""The dashboard: rows of panels with Prometheus expressions.

`$job` selects the scrape jobs of the gateway, `$triton` those of Triton. A counter that was never incremented has no
series, so its expression ends in `or` a series of zeros: an empty panel would look broken.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Panel:
    title: str
    unit: str
    """A unit of Grafana: reqps, s, percentunit, bytes, short …"""
    expressions: dict[str, str]
    """Prometheus expressions by legend."""
    description: str = ""


def rate(metric: str, by: str = "api", job: str = "$job", more: str = "") -> str:
    return f'sum by ({by}) (rate({metric}{{job=~"{job}"{more}}}[$__rate_interval]))'


def quantile(share: float, metric: str, by: str = "api", more: str = "") -> str:
    return f"histogram_quantile({share}, {rate(metric + '_bucket', f'{by}, le', more=more)})"


def mean(metric: str, by: str = "api") -> str:
    """The average observation; no value where nothing was observed."""
    return f"{rate(metric + '_sum', by)} / ({rate(metric + '_count', by)} > 0)"


def gauge(metric: str, by: str = "api") -> str:
    return f'sum by ({by}) ({metric}{{job=~"$job"}})'


NOTHING = f"{gauge('retort_http_in_flight')} * 0"
EACH = "{{api}}"
FAILED = ', status=~"5.."'
WRONG = ', status=~"4.."'
MOLECULES = ', api=~"latent|masked"'
RETRIEVAL = ', api=~"embedding|ranking"'


def triton(numerator: str, denominator: str) -> str:
    return f"{rate(numerator, 'model', '$triton')} / ({rate(denominator, 'model', '$triton')} > 0)"


ROWS = {
    "Requests": [
        Panel("Requests", "reqps", {EACH: rate("retort_http_requests_total")}),
        Panel(
            "Error rate (5xx)",
            "percentunit",
            {
                EACH: f"({rate('retort_http_requests_total', more=FAILED)} or {NOTHING})"
                f" / ({rate('retort_http_requests_total')} > 0)"
            },
            "Failures of the service, including refusals under load (503).",
        ),
        Panel(
            "Client error rate (4xx)",
            "percentunit",
            {
                EACH: f"({rate('retort_http_requests_total', more=WRONG)} or {NOTHING})"
                f" / ({rate('retort_http_requests_total')} > 0)"
            },
        ),
        Panel("Latency, 95th percentile", "s", {EACH: quantile(0.95, "retort_http_request_duration_seconds")}),
        Panel("Latency, median", "s", {EACH: quantile(0.5, "retort_http_request_duration_seconds")}),
        Panel(
            "In flight, and waiting",
            "short",
            {"{{api}} in flight": gauge("retort_http_in_flight"), "{{api}} waiting": gauge("retort_http_waiting")},
            "The gateway's autoscaler uses these.",
        ),
        Panel("Refused under load", "reqps", {EACH: rate("retort_http_refused_total")}),
        Panel(
            "Time of a request",
            "s",
            {
                "{{api}} Triton": mean("retort_http_triton_seconds"),
                "{{api}} waiting for a turn": mean("retort_http_queued_seconds"),
                "{{api}} gateway": mean("retort_http_own_seconds"),
            },
            "Averages.",
        ),
    ],
    "Chemists": [
        Panel(
            "Requests by route",
            "reqps",
            {"{{api}} {{route}}": rate("retort_http_requests_total", "api, route", more=MOLECULES)},
        ),
        Panel(
            "Latency by route, 95th percentile",
            "s",
            {"{{api}} {{route}}": quantile(0.95, "retort_http_request_duration_seconds", "api, route", MOLECULES)},
        ),
        Panel("Molecules", "cps", {EACH: rate("retort_rows_total", more=MOLECULES)}),
        Panel(
            "Unfinished answers",
            "reqps",
            {"{{api}} {{reason}}": f"{rate('retort_http_unfinished_total', 'api, reason')} or {NOTHING}"},
            "Searches that returned the molecules so far: at a deadline, after an oracle's failure, or at shutdown.",
        ),
        Panel(
            "Molecules scored by oracles",
            "cps",
            {"{{oracle}} {{outcome}}": f"{rate('retort_oracle_molecules_total', 'oracle, outcome')} or vector(0)"},
        ),
    ],
    "Retrieval": [
        Panel("Texts and passages", "cps", {EACH: rate("retort_rows_total", more=RETRIEVAL)}),
        Panel("Tokens", "cps", {EACH: rate("retort_tokens_total")}),
        Panel(
            "Latency, 99th percentile",
            "s",
            {EACH: quantile(0.99, "retort_http_request_duration_seconds", more=RETRIEVAL)},
        ),
        Panel(
            "Share of padding",
            "percentunit",
            {EACH: f"1 - {rate('retort_tokens_total')} / ({rate('retort_batch_padded_tokens_sum')} > 0)"},
        ),
        Panel("Rows of a call to Triton", "short", {EACH: mean("retort_batch_rows")}),
    ],
    "Batches": [
        Panel(
            "Lines answered",
            "cps",
            {"{{api}} {{outcome}}": f"{rate('retort_batch_lines_total', 'api, outcome')} or {NOTHING}"},
        ),
        Panel(
            "Tasks, waiting or running",
            "short",
            {EACH: f"{gauge('retort_batch_tasks_waiting').replace('sum', 'max')} or {NOTHING}"},
        ),
        Panel(
            "Batches by state", "short", {"{{status}}": 'max by (status) (retort_batches{job=~"$job"}) or vector(0)'}
        ),
    ],
    "Triton": [
        Panel("Requests", "reqps", {"{{model}}": rate("nv_inference_request_success", "model", "$triton")}),
        Panel("Failures", "reqps", {"{{model}}": rate("nv_inference_request_failure", "model", "$triton")}),
        Panel(
            "Queue time of a request",
            "s",
            {"{{model}}": f"{triton('nv_inference_queue_duration_us', 'nv_inference_request_success')} / 1e6"},
            "Triton's autoscaler uses this.",
        ),
        Panel(
            "Compute time of an execution",
            "s",
            {"{{model}}": f"{triton('nv_inference_compute_infer_duration_us', 'nv_inference_exec_count')} / 1e6"},
        ),
        Panel("Rows of an execution", "short", {"{{model}}": triton("nv_inference_count", "nv_inference_exec_count")}),
        Panel(
            "Requests waiting in Triton",
            "short",
            {"{{model}}": 'sum by (model) (nv_inference_pending_request_count{job=~"$triton"})'},
        ),
    ],
    "Processes": [
        Panel("Models ready", "short", {EACH: 'min by (api) (retort_models_ready{job=~"$job"})'}),
        Panel("Gateways connected to Triton", "short", {"gateways": 'sum(retort_triton_up{job=~"$job"})'}),
        Panel("Memory of gateways", "bytes", {"{{instance}}": 'process_resident_memory_bytes{job=~"$job"}'}),
        Panel(
            "CPU cores of gateways",
            "short",
            {"{{instance}}": 'rate(process_cpu_seconds_total{job=~"$job"}[$__rate_interval])'},
        ),
        Panel("Open files of gateways", "short", {"{{instance}}": 'process_open_fds{job=~"$job"}'}),
        Panel("Memory of Triton's machines", "bytes", {"{{instance}}": 'nv_cpu_memory_used_bytes{job=~"$triton"}'}),
    ],
}
