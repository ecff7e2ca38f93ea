package engine

import "testing"

// BenchmarkStopper is looking for stop strings in one piece.
func BenchmarkStopper(b *testing.B) {
	s := &stopper{stops: []string{"END", "\n\n"}}
	b.ReportAllocs()
	for b.Loop() {
		show, _ := s.feed(" token")
		_ = show
	}
}
