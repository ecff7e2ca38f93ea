"""Recording rules and alerts. Objectives over 30 days, for each API:

- available: 99.9 % of requests are not answered with 5xx;
- fast: 99 % of requests end within 1 s (embedding, ranking) or 60 s (molecules, chat).

Each alert is on the burn rate over two windows, as in Google's SRE workbook (chapter 5, "Multiwindow, Multi-Burn-Rate
Alerts"): the long window shows that the problem matters, the short one that it still exists.
"""

from __future__ import annotations

AVAILABLE = 0.999
FAST = 0.99
LIMITS = {"embedding|ranking": "1", "latent|masked|chat": "60"}
"""Seconds of a fast request by APIs: bounds of the histogram's buckets. Prometheus 3 writes 1.0 instead of 1."""

BURNS = [("5m", "1h", 14.4, "page"), ("30m", "6h", 6, "page"), ("2h", "1d", 3, "ticket"), ("6h", "3d", 1, "ticket")]
"""Short window, long window, burn rate as a multiple of the allowed one, severity."""

REQUESTS = "retort_http_requests_total"
LATENCY = "retort_http_request_duration_seconds"


def groups() -> list[dict]:
    return [
        {"name": "retort-objectives", "rules": [*ratios(), *burns("errors", 1 - AVAILABLE), *burns("slow", 1 - FAST)]},
        {"name": "retort-service", "rules": service()},
    ]


def ratios() -> list[dict]:
    """Recording rules of the shares of failed and of slow requests over each window."""
    rules = []
    for window in dict.fromkeys(w for short, long, _, _ in BURNS for w in (short, long)):
        total = f"sum by (namespace, api) (rate({REQUESTS}[{window}]))"
        failed = f'sum by (namespace, api) (rate({REQUESTS}{{status=~"5.."}}[{window}]))'
        rules.append(
            {"record": f"retort:errors:ratio_rate{window}", "expr": f"({failed} or {total} * 0) / ({total} > 0)"}
        )
        slow = [
            f'1 - sum by (namespace, api) (rate({LATENCY}_bucket{{api=~"{apis}", le=~"{limit}(.0)?"}}[{window}]))'
            f' / (sum by (namespace, api) (rate({LATENCY}_count{{api=~"{apis}"}}[{window}])) > 0)'
            for apis, limit in LIMITS.items()
        ]
        rules.append({"record": f"retort:slow:ratio_rate{window}", "expr": " or ".join(slow)})
    return rules


def burns(kind: str, budget: float) -> list[dict]:
    what = {"errors": "fail (5xx)", "slow": "are slower than the objective"}[kind]
    name = {"errors": "RetortErrors", "slow": "RetortSlow"}[kind]
    return [
        {
            "alert": f"{name}Burn{long}",
            "expr": f"retort:{kind}:ratio_rate{long} > {factor * budget:.6g}"
            f" and retort:{kind}:ratio_rate{short} > {factor * budget:.6g}",
            "labels": {"severity": severity},
            "annotations": {
                "summary": f"{{{{ $value | humanizePercentage }}}} of requests of the {{{{ $labels.api }}}} API {what}",
                "description": f"Over the last {long} and {short}, {factor:g} times "
                "what the objective of 30 days allows.",
            },
        }
        for short, long, factor, severity in BURNS
    ]


def service() -> list[dict]:
    return [
        alert(
            "RetortTritonUnreachable",
            "retort_triton_up == 0",
            "1m",
            "page",
            "Gateway {{ $labels.instance }} reaches no Triton",
        ),
        alert(
            "RetortAPIWithoutModel",
            "retort_models_ready == 0 and max_over_time(retort_models_ready[1h]) > 0",
            "2m",
            "page",
            "Gateway {{ $labels.instance }} has no model for the {{ $labels.api }} API, "
            "which it had within the last hour",
        ),
        alert(
            "RetortWaiting",
            "sum by (namespace, api) (min_over_time(retort_http_waiting[5m])) > 0",
            "10m",
            "ticket",
            "Requests of the {{ $labels.api }} API have been waiting for 10 minutes: "
            "more gateways or Tritons are needed",
        ),
        alert(
            "RetortRefusing",
            "sum by (namespace, api) (rate(retort_http_refused_total[5m])) > 0",
            "5m",
            "page",
            "The {{ $labels.api }} API refuses {{ $value | humanize }} requests a second because of load",
        ),
        alert("RetortGone", "absent(retort_triton_up)", "5m", "page", "No gateway is scraped"),
        alert(
            "TritonModelFails",
            "sum by (namespace, model) (rate(nv_inference_request_failure[5m])) > 0.01 * "
            "sum by (namespace, model) (rate(nv_inference_request_success[5m]))",
            "10m",
            "ticket",
            "More than 1 % of the requests to Triton's model {{ $labels.model }} fail",
        ),
    ]


def alert(name: str, expression: str, lasting: str, severity: str, summary: str) -> dict:
    return {
        "alert": name,
        "expr": expression,
        "for": lasting,
        "labels": {"severity": severity},
        "annotations": {"summary": summary},
    }
