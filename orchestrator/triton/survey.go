package triton

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	pb "retort/orchestrator/triton/inferencepb"
)

// Of many replicas a look of the registry lists only those whose turn it is: at least fewestListed, and so many that each
// has its turn within listedWithin looks. With 100 replicas that is a quarter of the traffic, and a change of a repository
// that they share still shows in the next look: see survey.
const (
	fewestListed = 16
	listedWithin = 4
)

// survey is Index for the looks of a registry. Replicas that were listed a short while ago are not listed again, unless
// one that is has changed: what an operator does to a shared repository shows on all of them at about the same time.
// Where nothing has changed it returns old, which must be what it returned last.
func (c *Client) survey(ctx context.Context, old *survey) (*survey, error) {
	replicas := c.pool.live()
	due, rest := dueReplicas(replicas)
	changed, answered, err := c.list(ctx, due)
	if answered == 0 {
		return nil, err
	}
	if changed && len(rest) > 0 {
		_, _, _ = c.list(ctx, rest) // what fails is asked again by the next look
	}
	if old.holds(replicas) {
		return old, nil
	}
	indexes := make(map[*replica]*[]Entry, len(replicas))
	for _, r := range replicas {
		indexes[r] = r.index.Load()
	}
	entries := entriesOf(replicas)
	return &survey{indexes: indexes, entries: entries, ready: readyVersions(entries)}, nil
}

// survey is what replicas said in their last indexes.
type survey struct {
	indexes map[*replica]*[]Entry // which it was made of
	entries []Entry
	ready   map[string][]string // see readyVersions
}

// holds reports whether replicas still say what they said: who asked them last does not matter.
func (s *survey) holds(replicas []*replica) bool {
	return s != nil && len(s.indexes) == len(replicas) && !slices.ContainsFunc(replicas, func(r *replica) bool {
		index, known := s.indexes[r]
		return !known || index != r.index.Load()
	})
}

// dueReplicas divides replicas into those to list now and the others: due are the ones of which no index is known, and
// the ones listed longest ago.
func dueReplicas(replicas []*replica) (due, rest []*replica) {
	sorted := slices.Clone(replicas)
	unknown := 0
	for _, r := range sorted {
		if r.index.Load() == nil {
			r.listedAt.Store(0)
			unknown++
		}
	}
	slices.SortStableFunc(sorted, func(a, b *replica) int { return cmp.Compare(a.listedAt.Load(), b.listedAt.Load()) })
	count := max(unknown, fewestListed, (len(sorted)+listedWithin-1)/listedWithin)
	count = min(count, len(sorted))
	return sorted[:count], sorted[count:]
}

// list asks replicas for their indexes and reports whether any says something else than before, and how many said
// anything. Of one that does not what it said before stays: whether it lives is for probes to find out. err is the first
// failure.
func (c *Client) list(ctx context.Context, replicas []*replica) (changed bool, answered int, err error) {
	var differ, said atomic.Int64
	err = c.eachOf(ctx, "repository_index", replicas, func(ctx context.Context, r *replica) error {
		answer, err := r.service.RepositoryIndex(ctx, &pb.RepositoryIndexRequest{})
		r.listedAt.Store(time.Now().UnixNano())
		if err != nil {
			return err
		}
		said.Add(1)
		if r.learnIndex(answer) {
			differ.Add(1)
		}
		return nil
	})
	return differ.Load() > 0, int(said.Load()), err
}

// learnIndex keeps a replica's index and reports whether it is another one than before.
func (r *replica) learnIndex(answer *pb.RepositoryIndexResponse) (changed bool) {
	index := make([]Entry, len(answer.Models))
	for i, m := range answer.Models {
		index[i] = Entry{r.address, m.Name, m.Version, State(m.State), m.Reason}
	}
	slices.SortFunc(index, func(a, b Entry) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Version, b.Version))
	})
	if before := r.index.Load(); before != nil && slices.Equal(*before, index) {
		return false
	}
	serves := make(map[string]bool, len(index))
	for _, e := range index {
		serves[e.Name] = serves[e.Name] || e.State == Ready
	}
	r.serves.Store(&serves)
	r.index.Store(&index)
	return true
}

// entriesOf puts together what replicas said last, by replica, name and version.
func entriesOf(replicas []*replica) []Entry {
	sorted := slices.Clone(replicas)
	slices.SortFunc(sorted, func(a, b *replica) int { return strings.Compare(a.address, b.address) })
	var indexes [][]Entry
	for _, r := range sorted {
		if index := r.index.Load(); index != nil {
			indexes = append(indexes, *index)
		}
	}
	return slices.Concat(indexes...)
}
