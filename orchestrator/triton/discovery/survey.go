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

// A look lists the indexes of at least minListed replicas, and enough that each is listed within listWithin looks, the
// least recently listed first. For 100 replicas this is a quarter of the traffic. The next look still shows a change of
// a shared repository: see survey.look.
const (
	minListed  = 16
	listWithin = 4
)

// survey collects the repository indexes of all replicas.
type survey struct {
	client  *triton.Client
	listed  map[*triton.Replica]time.Time     // when each replica with an index was last listed
	indexes map[*triton.Replica]*triton.Index // from which ready was computed
	ready   map[string][]string               // versions by model name
}

// look returns the ready versions of each model on any replica, by name, oldest first. If a listed index has changed,
// look lists the others too, since replicas of a shared repository change at about the same time. It returns an error
// if all listed replicas failed.
func (s *survey) look(ctx context.Context) (ready map[string][]string, err error) {
	replicas := s.client.Live()
	maps.DeleteFunc(s.listed, func(r *triton.Replica, _ time.Time) bool { return !slices.Contains(replicas, r) })
	due, others := s.due(replicas)
	changed, err := s.list(ctx, due)
	if err != nil {
		return nil, err
	}
	if changed && len(others) > 0 {
		_, _ = s.list(ctx, others) // the next look retries
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

// isCurrent reports whether s.ready was computed from the current indexes of the replicas.
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
