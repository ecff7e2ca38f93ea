package modelcalibrate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"

	"retort/orchestrator/calibration"
	"retort/orchestrator/ranking"
)

// Report is the result of Ranking.
type Report struct {
	Before, After calibration.Beta
	Rows          []Row // of the collections, or one of all pairs
	All           Row
	// Folds is the number of parts that the queries were divided into, or 0 if each collection was a group.
	Folds int
}

// Row has the expected calibration errors of pairs, over bins of equal mass and of equal width. Those of the new
// calibration are held out: the pairs of a group are scored by a fit to the pairs of the other groups.
type Row struct {
	Name                    string
	Pairs, Relevant         int
	Before, After           float64 // equal mass
	WidthBefore, WidthAfter float64 // equal width
}

// folds is the number of groups of queries, if the pairs have no collections.
const folds = 5

// Ranking fits a calibration to judged pairs of a ranker's entry.
func Ranking(ctx context.Context, o Options, pairs []Pair) (*Report, error) {
	var report *Report
	err := withModel(ctx, o, ranking.Opener, func(m ranking.Model) error {
		logits, err := score(ctx, o, m, pairs)
		if err == nil {
			report, err = fit(pairs, logits, m.Calibration())
		}
		return err
	})
	return report, err
}

// score returns the logits of pairs, read as the documents of /v2/rerank are.
func score(ctx context.Context, o Options, m ranking.Model, pairs []Pair) ([]calibration.Pair, error) {
	byQuery := map[string][]int{}
	var queries []string
	for i, p := range pairs {
		if byQuery[p.Query] == nil {
			queries = append(queries, p.Query)
		}
		byQuery[p.Query] = append(byQuery[p.Query], i)
	}
	judged := make([]calibration.Pair, len(pairs))
	var mu sync.Mutex // guards done
	done := 0
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(inFlight)
	for _, query := range queries {
		group.Go(func() error {
			indices := byQuery[query]
			p := ranking.Documents(query, make([]string, len(indices)))
			for k, i := range indices {
				p.Passages[k] = pairs[i].Passage
			}
			logits, _, err := m.Score(ctx, p)
			if err != nil {
				return fmt.Errorf("query %.60q: %w", query, err)
			}
			for k, i := range indices {
				judged[i] = calibration.Pair{Logit: logits[k], Relevant: pairs[i].Relevant}
			}
			mu.Lock()
			defer mu.Unlock()
			done += len(indices)
			o.progress(done, len(pairs))
			return nil
		})
	}
	return judged, group.Wait()
}

// fit fits the calibration to all pairs, and measures it by cross-validation.
func fit(pairs []Pair, judged []calibration.Pair, before calibration.Beta) (*Report, error) {
	after, err := calibration.Fit(judged)
	if err != nil {
		return nil, err
	}
	r := &Report{Before: before, After: after}
	groups, names := groupsOf(pairs)
	if len(names) == 0 {
		r.Folds = folds
	}
	scales, err := heldOut(judged, groups)
	if err != nil {
		return nil, err
	}
	for g, name := range names {
		r.Rows = append(r.Rows, row(name, judged, before, scales, groups, func(i int) bool { return groups[i] == g }))
	}
	r.All = row("all", judged, before, scales, groups, func(int) bool { return true })
	return r, nil
}

// groupsOf returns the group of each pair: its collection, with the names of all, if there are several; else one of
// folds parts of the queries.
func groupsOf(pairs []Pair) (groups []int, names []string) {
	groups = make([]int, len(pairs))
	collections := map[string]int{}
	queries := map[string]int{}
	byQuery := make([]int, len(pairs))
	for i, p := range pairs {
		if _, known := collections[p.Collection]; !known {
			collections[p.Collection] = len(names)
			names = append(names, cmp.Or(p.Collection, "(none)"))
		}
		groups[i] = collections[p.Collection]
		if _, known := queries[p.Query]; !known {
			queries[p.Query] = len(queries)
		}
		byQuery[i] = queries[p.Query] % folds
	}
	if len(names) > 1 {
		return groups, names
	}
	return byQuery, nil
}

// heldOut returns for each group the fit to the pairs of all others.
func heldOut(judged []calibration.Pair, groups []int) (map[int]calibration.Beta, error) {
	scales := map[int]calibration.Beta{}
	for _, g := range groups {
		if _, known := scales[g]; known {
			continue
		}
		var others []calibration.Pair
		for i, p := range judged {
			if groups[i] != g {
				others = append(others, p)
			}
		}
		scale, err := calibration.Fit(others)
		if err != nil {
			return nil, fmt.Errorf("cross-validation: %w, also without a part of the pairs: more pairs are needed", err)
		}
		scales[g] = scale
	}
	if len(scales) < 2 {
		return nil, errors.New("cross-validation needs at least two queries")
	}
	return scales, nil
}

func row(
	name string, judged []calibration.Pair, before calibration.Beta, after map[int]calibration.Beta,
	groups []int, include func(i int) bool,
) Row {
	r := Row{Name: name}
	var old, held []calibration.Scored
	for i, p := range judged {
		if !include(i) {
			continue
		}
		old = append(old, calibration.Scored{Score: before.Score(p.Logit), Relevant: p.Relevant})
		held = append(held, calibration.Scored{Score: after[groups[i]].Score(p.Logit), Relevant: p.Relevant})
		r.Pairs++
		if p.Relevant {
			r.Relevant++
		}
	}
	r.Before, r.After = calibration.EqualMass(old), calibration.EqualMass(held)
	r.WidthBefore, r.WidthAfter = calibration.EqualWidth(old), calibration.EqualWidth(held)
	return r
}
