package comparison

import (
	"fmt"
	"io"
	"slices"
)

// Goal is the bound on a figure. The zero Goal has none: the figure is only shown.
type Goal struct {
	Bound float64
	Most  bool // an upper bound instead of a lower one
}

func (g Goal) met(x float64) bool { return x == g.Bound || (x < g.Bound) == g.Most }

func (g Goal) String() string {
	if g.Most {
		return fmt.Sprintf("at most %.2f", g.Bound)
	}
	return fmt.Sprintf("at least %.2f", g.Bound)
}

// Table writes Markdown, a row for each two sides, as they are measured.
type Table struct {
	out  io.Writer
	head string // empty once it is written
}

// NewTable returns a table of a plan's comparisons. Its head is written before the first row.
func (p Plan) NewTable(out io.Writer) *Table {
	return &Table{out, fmt.Sprintf(
		"\n| load | gateway | against | it | gateway / it, by round | wanted | | CPU ms/%s, gateway, it | others |\n"+
			"|---|---|---|---|---|---|---|---|---|\n", p.Unit)}
}

// Ratios writes a row for each other side: the ratio of the first side to it, and the side's goal.
func (t *Table) Ratios(c *Comparison) {
	for i, side := range c.sides[1:] {
		t.Ratio(c, i+1, side.Goal)
	}
}

// Ratio writes a row: the ratio of the first side to another.
func (t *Table) Ratio(c *Comparison, other int, goal Goal) {
	t.row(c, other, func(a, b float64) float64 { return a / b }, "", goal)
}

// Added writes a row: how much longer the first side takes than another.
func (t *Table) Added(c *Comparison, other int, goal Goal) {
	t.row(c, other, func(a, b float64) float64 { return a - b }, " ms more", goal)
}

// MaxOthers is the share of the machine used by other programs above which no bound is judged.
const MaxOthers = 0.10

func (t *Table) row(c *Comparison, other int, compare func(a, b float64) float64, unit string, goal Goal) {
	a := c.figures[0]
	b := c.figures[other]
	results := make([]float64, len(a.values))
	for i := range results {
		results[i] = compare(a.values[i], b.values[i])
	}
	bound := fmt.Sprint(goal, unit)
	verdict := "missed"
	switch {
	case goal == Goal{}:
		bound = ""
		verdict = ""
	case c.others > MaxOthers:
		verdict = fmt.Sprintf("not judged: others took %.0f %%", 100*c.others)
	case goal.met(Median(results)):
		verdict = "met"
	}
	others := fmt.Sprintf("%.0f %%", 100*c.others)
	if c.repeated > 0 {
		others += fmt.Sprintf(", %d rounds again", c.repeated)
	}
	fmt.Fprint(t.out, t.head)
	t.head = ""
	fmt.Fprintf(t.out, "| %s, %s | %s | %s | %s | %s%s | %s | %s | %.2f, %.2f | %s |\n",
		c.title, c.unit, spread(a.values), c.sides[other].Name, spread(b.values), spread(results), unit, bound,
		verdict, Median(a.cost), Median(b.cost), others)
}

// spread writes the median with the lowest and the highest value.
func spread(values []float64) string {
	format := "%.2f (%.2f to %.2f)"
	if Median(values) >= 100 {
		format = "%.0f (%.0f to %.0f)"
	}
	return fmt.Sprintf(format, Median(values), slices.Min(values), slices.Max(values))
}
