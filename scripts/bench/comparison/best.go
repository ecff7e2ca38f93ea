package comparison

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"retort/orchestrator/triton"
)

// Best is ONNX Runtime alone on an entry's graph and the same texts at its best: so many texts at a time (a group) are
// sorted by length and cut into calls of so many padded tokens as are fastest here. It is the most that the graph gives
// on this machine. request makes tensors [rows, tokens] of texts, padded to the longest. stop ends the process.
func Best(ctx context.Context, python, entry string, texts []string, group int, request func([]string) (*triton.Request, error)) (best Side, stop func(), err error) {
	plans, calls, err := sortedCalls(texts, group, request)
	if err != nil {
		return best, nil, err
	}
	bare, err := NewBare(python, filepath.Join(entry, "1", "model.onnx"), calls)
	if err != nil {
		return best, nil, err
	}
	fastest := 0.0
	for i, plan := range plans {
		own := Load{Texts: texts[:len(texts)/group*group], Size: group}
		side := Side{
			Name: fmt.Sprintf("ONNX Runtime alone, %d texts sorted by length, %d padded tokens a call", group,
				budgets[i]), Served: Known(bare.PID()), Own: &own,
			Call: func(ctx context.Context, _ []string, lo, _ int) error {
				for _, number := range plan[lo/group] {
					if err := bare.Run(ctx, number); err != nil {
						return err
					}
				}
				return nil
			},
		}
		err := side.Call(ctx, nil, 0, 0) // shapes that are new take longer
		rate := 0.0
		if err == nil {
			rate, _, err = own.rate(ctx, side, 1, trial)
		}
		if err != nil {
			_ = bare.Close()
			return best, nil, err
		}
		if rate > fastest {
			fastest = rate
			best = side
		}
	}
	return best, func() { _ = bare.Close() }, nil
}

// budgets are the padded tokens of a call that are tried, each for so long.
var budgets = []int{256, 512, 1024, 2048}

const trial = time.Second

// sortedCalls makes the calls of all budgets; plans[budget][group] are numbers of calls.
func sortedCalls(texts []string, group int, request func([]string) (*triton.Request, error)) (plans [][][]int, calls []*triton.Request, err error) {
	type row struct {
		text   string
		length int
	}
	rows := make([]row, len(texts))
	for i, text := range texts {
		alone, err := request([]string{text})
		if err != nil {
			return nil, nil, err
		}
		rows[i] = row{text, int(alone.Inputs[0].Shape[1])}
	}
	for _, budget := range budgets {
		var plan [][]int
		for lo := 0; lo+group <= len(rows); lo += group {
			sorted := slices.SortedStableFunc(slices.Values(rows[lo:lo+group]), func(a, b row) int {
				return cmp.Compare(a.length, b.length)
			})
			var numbers []int
			for from := 0; from < len(sorted); {
				to := from + 1
				for to < len(sorted) && sorted[to].length*(to+1-from) <= budget {
					to++
				}
				var call []string
				for _, r := range sorted[from:to] {
					call = append(call, r.text)
				}
				made, err := request(call)
				if err != nil {
					return nil, nil, err
				}
				numbers = append(numbers, len(calls))
				calls = append(calls, made)
				from = to
			}
			plan = append(plan, numbers)
		}
		plans = append(plans, plan)
	}
	return plans, calls, nil
}
