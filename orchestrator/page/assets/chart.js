// Charts, drawn by uPlot in the colours of the page.

/* global uPlot */

const timeSpan = 180; // seconds shown by a chart over time

const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// Chart draws lines over a common x axis, as wide as its element.
export class Chart {
  constructor(home, { x, y, series, height = 160, time = false }) {
    this.home = home;
    this.height = height;
    const axis = (label) => ({
      label,
      labelSize: 18,
      labelGap: 0,
      size: label === x ? 36 : 52,
      stroke: () => color("--soft"),
      grid: { stroke: () => color("--line"), width: 1 },
      ticks: { stroke: () => color("--line"), size: 4 },
      font: "12px system-ui",
      labelFont: "12px system-ui",
    });
    this.plot = new uPlot(
      {
        width: Math.max(200, home.clientWidth),
        height,
        legend: { show: series.length > 1, live: false },
        cursor: { drag: { x: false, y: false } },
        scales: {
          x: { time, range: (_, low, high) => (time ? [high - timeSpan, high] : [low, high]) },
          y: { range: (_, low, high) => padRange(low, high) },
        },
        axes: [axis(x), { ...axis(y), space: 24 }],
        series: [
          {},
          ...series.map((s, i) => ({
            label: s,
            stroke: () => color(i === 0 ? "--link" : "--warm"),
            width: 2,
            points: { show: false },
          })),
        ],
      },
      [[], ...series.map(() => [])],
      home,
    );
    new ResizeObserver(() => this.resize()).observe(home);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.plot.redraw());
  }

  resize() {
    if (this.home.clientWidth > 0) this.plot.setSize({ width: this.home.clientWidth, height: this.height });
  }

  set(...data) {
    this.resize();
    this.plot.setData(data);
  }
}

// padRange adds a margin to the range of a scale, even if all values are equal.
function padRange(low, high) {
  if (low === null || high === null) return [0, 1];
  const room = Math.max((high - low) * 0.1, Math.abs(high) * 0.02, 1e-6);
  return [low - room, high + room];
}
