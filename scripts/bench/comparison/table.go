package main

import (
	"fmt"
	"io"
	"slices"
)

// goal is a bound on a figure: at least it, or at most.
type goal struct {
	bound float64
	most  bool
}

func (g goal) met(x float64) bool { return x == g.bound || (x < g.bound) == g.most }

func (g goal) String() string {
	if g.most {
		return fmt.Sprintf("at most %.2f", g.bound)
	}
	return fmt.Sprintf("at least %.2f", g.bound)
}

// table is Markdown, a row per comparison of two sides, so that it can go to
// the README as it is. Rows come as they are measured.
type table struct{ out io.Writer }

func newTable(out io.Writer) *table {
	fmt.Fprint(out, "\n| load | gateway | against | it | gateway / it, by round | wanted | | CPU ms/text, gateway, it | others |\n"+
		"|---|---|---|---|---|---|---|---|---|\n")
	return &table{out}
}

// ratio is a row: the first side against another, round by round.
func (t *table) ratio(c *comparison, other int, wanted goal) {
	t.row(c, other, func(a, b float64) float64 { return a / b }, "", wanted)
}

// added is a row of what the first side takes longer than another.
func (t *table) added(c *comparison, other int, wanted goal) {
	t.row(c, other, func(a, b float64) float64 { return a - b }, " ms more", wanted)
}

func (t *table) row(c *comparison, other int, of func(a, b float64) float64, unit string, wanted goal) {
	a, b := c.figures[0], c.figures[other]
	found := make([]float64, len(a.values))
	for i := range found {
		found[i] = of(a.values[i], b.values[i])
	}
	verdict := "missed"
	if wanted.met(median(found)) {
		verdict = "met"
	}
	fmt.Fprintf(t.out, "| %s, %s | %s | %s | %s | %s%s | %v%s | %s | %.2f, %.2f | %.0f %% |\n",
		c.title, c.unit, spread(a.values), c.sides[other].name, spread(b.values), spread(found), unit, wanted, unit,
		verdict, median(a.cost), median(b.cost), 100*c.others)
}

// spread is a median and, in brackets, the lowest and the highest.
func spread(values []float64) string {
	format := "%.2f (%.2f to %.2f)"
	if median(values) >= 100 {
		format = "%.0f (%.0f to %.0f)"
	}
	return fmt.Sprintf(format, median(values), slices.Min(values), slices.Max(values))
}
