"""Make chart/files/dashboard.json (Grafana) and chart/files/rules.yaml (Prometheus): python make.py, in .venv-deploy.

With --check nothing is written, and a file that differs is an error.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import yaml
from grafana_foundation_sdk.builders import common, dashboard, prometheus, timeseries
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.common import (
    GraphDrawStyle,
    LegendDisplayMode,
    LegendPlacement,
    TooltipDisplayMode,
    VisibilityMode,
)
from grafana_foundation_sdk.models.dashboard import DataSourceRef
from panels import ROWS, Panel
from rules import groups

FILES = Path(__file__).resolve().parent.parent / "chart" / "files"
DATASOURCE = DataSourceRef(type_val="prometheus", uid="$datasource")
WIDTH, HEIGHT = 8, 8  # of 24 columns


def panel(p: Panel):
    legend = (
        common.VizLegendOptions()
        .show_legend(True)
        .display_mode(LegendDisplayMode.LIST)
        .placement(LegendPlacement.BOTTOM)
    )
    tooltip = common.VizTooltipOptions().mode(TooltipDisplayMode.MULTI)
    built = (
        timeseries.Panel()
        .title(p.title)
        .description(p.description)
        .unit(p.unit)
        .datasource(DATASOURCE)
        .legend(legend)
        .tooltip(tooltip)
        .min(0)
        .draw_style(GraphDrawStyle.LINE)
        .fill_opacity(8)
        .show_points(VisibilityMode.NEVER)
        .span(WIDTH)
        .height(HEIGHT)
    )
    for number, (legend, expression) in enumerate(p.expressions.items()):
        built = built.with_target(
            prometheus.Dataquery().expr(expression).legend_format(legend).ref_id(chr(ord("A") + number))
        )
    return built


def variable(name: str, label: str, query: str):
    return (
        dashboard.QueryVariable(name)
        .label(label)
        .datasource(DATASOURCE)
        .query(query)
        .refresh(2)
        .include_all(True)
        .multi(True)
        .all_value(".*")
    )  # 2: looked up when the time range changes


def board() -> str:
    built = (
        dashboard.Dashboard("Retort")
        .uid("retort")
        .tags(["retort"])
        .refresh("30s")
        .time("now-1h", "now")
        .timezone("browser")
        .with_variable(dashboard.DatasourceVariable("datasource").label("Prometheus").type("prometheus"))
        .with_variable(variable("job", "Gateway", "label_values(retort_triton_up, job)"))
        .with_variable(variable("triton", "Triton", "label_values(nv_inference_request_success, job)"))
    )
    for title, panels in ROWS.items():
        built = built.with_row(dashboard.Row(title))
        for p in panels:
            built = built.with_panel(panel(p))
    return JSONEncoder(sort_keys=True, indent=1).encode(built.build()) + "\n"


def alerts() -> str:
    head = "# Made by scripts/deploy/boards/make.py: recording rules and alerts. The objectives are in rules.py.\n"
    return head + yaml.safe_dump({"groups": groups()}, sort_keys=False, width=200)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    differ = []
    for name, text in {"dashboard.json": board(), "rules.yaml": alerts()}.items():
        path = FILES / name
        if check and path.read_text() != text:
            differ.append(name)
        elif not check:
            path.write_text(text)
    for name in differ:
        print(f"chart/files/{name} is not what boards/make.py makes", file=sys.stderr)
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
