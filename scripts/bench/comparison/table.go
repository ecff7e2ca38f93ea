package comparison

import (
	"fmt"
	"io"
	"slices"
)

// Goal is a bound on a figure: at least it, or at most. The zero Goal wants nothing: the figure is there to compare.
type Goal struct {
	Bound float64
	Most  bool
}

func (g Goal) met(x float64) bool { return x == g.Bound || (x < g.Bound) == g.Most }

func (g Goal) String() string {
	if g.Most {
		return fmt.Sprintf("at most %.2f", g.Bound)
	}
	return fmt.Sprintf("at least %.2f", g.Bound)
}

// Table is Markdown, a row per comparison of two sides, so that it can go to the README as it is. Rows come as they are
// measured.
type Table struct{ out io.Writer }

// NewTable writes the head; each is what is counted.
func NewTable(out io.Writer, each string) *Table {
	fmt.Fprintf(out,
		"\n| load | gateway | against | it | gateway / it, by round | wanted | | CPU ms/%s, gateway, it | others |\n"+
			"|---|---|---|---|---|---|---|---|---|\n", each)
	return &Table{out}
}

// Ratio is a row: the first side against another, round by round.
func (t *Table) Ratio(c *Comparison, other int, wanted Goal) {
	t.row(c, other, func(a, b float64) float64 { return a / b }, "", wanted)
}

// Added is a row of what the first side takes longer than another.
func (t *Table) Added(c *Comparison, other int, wanted Goal) {
	t.row(c, other, func(a, b float64) float64 { return a - b }, " ms more", wanted)
}

// mostOthers is the share of the machine that other programs may have had where a bound is judged.
const mostOthers = 0.10

func (t *Table) row(c *Comparison, other int, of func(a, b float64) float64, unit string, wanted Goal) {
	a, b := c.figures[0], c.figures[other]
	found := make([]float64, len(a.values))
	for i := range found {
		found[i] = of(a.values[i], b.values[i])
	}
	bound := fmt.Sprint(wanted, unit)
	verdict := "missed"
	switch {
	case wanted == Goal{}:
		bound, verdict = "", ""
	case c.others > mostOthers:
		verdict = fmt.Sprintf("not judged: others took %.0f %%", 100*c.others)
	case wanted.met(Median(found)):
		verdict = "met"
	}
	others := fmt.Sprintf("%.0f %%", 100*c.others)
	if c.again > 0 {
		others += fmt.Sprintf(", %d rounds again", c.again)
	}
	fmt.Fprintf(t.out, "| %s, %s | %s | %s | %s | %s%s | %s | %s | %.2f, %.2f | %s |\n",
		c.title, c.unit, spread(a.values), c.sides[other].Name, spread(b.values), spread(found), unit, bound,
		verdict, Median(a.cost), Median(b.cost), others)
}

// spread is a median and, in brackets, the lowest and the highest.
func spread(values []float64) string {
	format := "%.2f (%.2f to %.2f)"
	if Median(values) >= 100 {
		format = "%.0f (%.0f to %.0f)"
	}
	return fmt.Sprintf(format, Median(values), slices.Min(values), slices.Max(values))
}
