package comparison

import (
	"context"
	"fmt"
	"slices"
	"time"

	"retort/orchestrator/triton"
)

// tokenBudgets are the padded tokens of a call that Best tries, each for trialPeriod.
var tokenBudgets = []int{256, 512, 1024, 2048}

const trialPeriod = time.Second

// Best returns a side that shows the most that the graph gives on this machine, or none without Python: ONNX Runtime
// alone sorts each group of texts by length and cuts it into calls of as many padded tokens as are fastest here. stop
// ends its process.
func (d *Direct) Best(ctx context.Context, texts []string, group int, goal Goal) (sides []Side, stop func(),
	err error) {
	if d.Python == "" {
		return nil, func() {}, nil
	}
	load := Requests(texts, group)
	plans, calls, err := d.sortedCalls(load)
	if err != nil {
		return nil, nil, err
	}
	r, err := startRuntime(d.Python, d.Graph, calls)
	if err != nil {
		return nil, nil, err
	}
	var best Side
	fastest := 0.0
	for i, plan := range plans {
		side := Side{
			Name: fmt.Sprintf("ONNX Runtime alone, %d texts sorted by length, %d padded tokens a call", group,
				tokenBudgets[i]),
			Call:       prepared{size: group, requests: plan}.caller(r.run),
			Served:     r.processes(),
			Goal:       goal,
			Sequential: &load,
		}
		rate, err := trial(ctx, side)
		if err != nil {
			r.close()
			return nil, nil, err
		}
		if rate > fastest {
			fastest = rate
			best = side
		}
	}
	return []Side{best}, r.close, nil
}

// trial returns the texts per second of a side after one call to warm up, since new shapes take longer.
func trial(ctx context.Context, side Side) (float64, error) {
	if err := side.Call(ctx, nil, 0, 0); err != nil {
		return 0, err
	}
	got, err := side.Sequential.rate(ctx, side, 1, trialPeriod)
	return got.value, err
}

// sortedCalls prepares the calls of all budgets; plans[budget][group] are numbers of calls.
func (d *Direct) sortedCalls(load Load) (plans [][][]int, calls []*triton.Request, err error) {
	lengths := map[string]int{}
	for _, text := range load.Texts {
		encoded, err := d.Encode(text)
		if err != nil {
			return nil, nil, err
		}
		lengths[text] = len(encoded.IDs)
	}
	for _, budget := range tokenBudgets {
		var plan [][]int
		for group := range slices.Chunk(load.Texts, load.Size) {
			sorted := slices.SortedStableFunc(slices.Values(group), func(a, b string) int {
				return lengths[a] - lengths[b]
			})
			var numbers []int
			for from := 0; from < len(sorted); {
				to := from + 1
				for to < len(sorted) && lengths[sorted[to]]*(to+1-from) <= budget {
					to++
				}
				call, err := d.tensors(sorted[from:to])
				if err != nil {
					return nil, nil, err
				}
				numbers = append(numbers, len(calls))
				calls = append(calls, call)
				from = to
			}
			plan = append(plan, numbers)
		}
		plans = append(plans, plan)
	}
	return plans, calls, nil
}
