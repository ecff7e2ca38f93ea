package engine

import "testing"

// BenchmarkStopper feeds one piece without a stop string.
func BenchmarkStopper(b *testing.B) {
	s := &stopper{stops: []string{"END", "\n\n"}}
	b.ReportAllocs()
	for b.Loop() {
		s.feed(" token")
	}
}
