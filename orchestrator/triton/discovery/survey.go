package discovery

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"time"

	"retort/orchestrator/triton"
)

// If there are many replicas, a look lists only some of their indexes, oldest first: at least minListed, and enough that
// each is listed within listWithin looks. For 100 replicas this is a quarter of the traffic. A change of a shared
// repository still shows in the next look: see survey.look.
const (
	minListed  = 16
	listWithin = 4
)

// survey collects the repository indexes of all replicas.
type survey struct {
	client *triton.Client
	// listed is when each replica that has an index was last asked for it.
	listed map[*triton.Replica]time.Time
	// indexes are the indexes that ready was computed from.
	indexes map[*triton.Replica]*triton.Index
	ready   map[string][]string
}

// look returns the ready versions of each model on any replica, by the model's name and oldest first. If a listed index
// has changed, look lists the remaining ones too: an operator's change shows on all replicas of a shared repository at
// about the same time. The error is that all listed replicas failed.
func (s *survey) look(ctx context.Context) (ready map[string][]string, err error) {
	replicas := s.client.Live()
	maps.DeleteFunc(s.listed, func(r *triton.Replica, _ time.Time) bool { return !slices.Contains(replicas, r) })
	due, others := s.due(replicas)
	changed, err := s.list(ctx, due)
	if err != nil {
		return nil, err
	}
	if changed && len(others) > 0 {
		_, _ = s.list(ctx, others) // The next look asks again.
	}
	if !s.isCurrent(replicas) {
		s.indexes = make(map[*triton.Replica]*triton.Index, len(replicas))
		for _, r := range replicas {
			s.indexes[r] = r.Index()
		}
		s.ready = readyVersions(s.indexes)
	}
	return s.ready, nil
}

// due divides the replicas into those to list now and the others. Replicas without an index are always due.
func (s *survey) due(replicas []*triton.Replica) (due, others []*triton.Replica) {
	sorted := slices.Clone(replicas)
	slices.SortStableFunc(sorted, func(a, b *triton.Replica) int { return s.listed[a].Compare(s.listed[b]) })
	unlisted := 0
	for _, r := range replicas {
		if s.listed[r].IsZero() {
			unlisted++
		}
	}
	count := min(len(sorted), max(unlisted, minListed, (len(sorted)+listWithin-1)/listWithin))
	return sorted[:count], sorted[count:]
}

// list refreshes the indexes of the replicas and reports whether any of them changed.
func (s *survey) list(ctx context.Context, replicas []*triton.Replica) (changed bool, err error) {
	changed, err = s.client.ListIndexes(ctx, replicas)
	now := time.Now()
	for _, r := range replicas {
		if r.Index() != nil {
			s.listed[r] = now
		}
	}
	return changed, err
}

// isCurrent reports whether s.ready was computed from the present indexes of the replicas.
func (s *survey) isCurrent(replicas []*triton.Replica) bool {
	return len(s.indexes) == len(replicas) && !slices.ContainsFunc(replicas, func(r *triton.Replica) bool {
		index, known := s.indexes[r]
		return !known || index != r.Index()
	})
}

// readyVersions merges the ready versions of all indexes.
func readyVersions(indexes map[*triton.Replica]*triton.Index) map[string][]string {
	ready := make(map[string][]string)
	for _, index := range indexes {
		if index == nil {
			continue
		}
		for name, versions := range index.Ready() {
			ready[name] = append(ready[name], versions...)
		}
	}
	for name, versions := range ready {
		slices.SortFunc(versions, func(a, b string) int {
			x, _ := strconv.ParseInt(a, 10, 64)
			y, _ := strconv.ParseInt(b, 10, 64)
			return cmp.Or(cmp.Compare(x, y), cmp.Compare(a, b))
		})
		ready[name] = slices.Compact(versions)
	}
	return ready
}
