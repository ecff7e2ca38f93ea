package discovery

import (
	"testing"
	"time"

	"retort/orchestrator/triton"
)

// Of many replicas each look lists some, and a few looks list all. A replica without an index is listed at once.
func TestDueReplicas(t *testing.T) {
	for count, want := range map[int]int{1: 1, minListed: minListed, 40: minListed, 100: 25} {
		s := &survey{listed: make(map[*triton.Replica]time.Time)}
		replicas := make([]*triton.Replica, count)
		for i := range replicas {
			replicas[i] = &triton.Replica{}
		}
		now := time.Now()
		list := func(due []*triton.Replica) {
			for _, r := range due {
				now = now.Add(time.Second)
				s.listed[r] = now
			}
		}
		due, others := s.due(replicas)
		if len(due) != count || len(others) != 0 {
			t.Errorf("%d replicas without an index: %d are due", count, len(due))
		}
		list(due)
		listed := map[*triton.Replica]bool{}
		for range listWithin {
			due, others := s.due(replicas)
			if len(due) != want || len(others) != count-want {
				t.Errorf("%d replicas: %d are due, want %d", count, len(due), want)
			}
			list(due)
			for _, r := range due {
				listed[r] = true
			}
		}
		if count <= listWithin*want && len(listed) != count {
			t.Errorf("%d replicas: %d were listed within %d looks", count, len(listed), listWithin)
		}
		last := replicas[count-1]
		delete(s.listed, last)
		if due, _ := s.due(replicas); due[0] != last {
			t.Errorf("%d replicas: the one without an index is not due", count)
		}
	}
}
