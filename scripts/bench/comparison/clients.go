package comparison

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Clients compares the sides for one number of clients, each of which sends its next request when it has the answer to
// the last one.
type Clients struct {
	Count int
	*Comparison
}

// Clients measures the sides with that many clients.
func (p Plan) Clients(ctx context.Context, count int, l Load, sides []Side) (Clients, error) {
	c, err := p.Throughput(ctx, fmt.Sprintf("%d clients", count), count, l, sides)
	return Clients{count, c}, err
}

// WriteClients writes Markdown: a row for each number of clients, with throughput and latency of each side.
func (p Plan) WriteClients(out io.Writer, all []Clients) {
	heads := []string{"clients"}
	for _, side := range all[0].sides {
		heads = append(heads, side.Name+", "+all[0].unit, "ms")
	}
	heads = append(heads, "others")
	fmt.Fprintln(out)
	writeRow(out, heads)
	writeRow(out, slices.Repeat([]string{"---"}, len(heads)))
	for _, c := range all {
		cells := []string{fmt.Sprint(c.Count)}
		for _, f := range c.figures {
			cells = append(cells, spread(f.values), spread(f.latencies))
		}
		writeRow(out, append(cells, fmt.Sprintf("%.0f %%", 100*c.others)))
	}
}

func writeRow(out io.Writer, cells []string) {
	fmt.Fprintf(out, "| %s |\n", strings.Join(cells, " | "))
}
