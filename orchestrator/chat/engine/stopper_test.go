package engine

import "testing"

// TestStopper holds that text comes through whole and in order, however it is cut, and that a stop string never shows.
func TestStopper(t *testing.T) {
	const text = "caf\u00e9 \U0001f9ea EN END tail"
	for size := 1; size < 8; size++ {
		s := stopper{stops: []string{"END", "XX"}}
		shown := ""
		var hit *string
		for i := 0; i < len(text) && hit == nil; i += size {
			var show string
			show, hit = s.feed(text[i:min(i+size, len(text))])
			shown += show
		}
		if shown != "caf\u00e9 \U0001f9ea EN " || hit == nil || *hit != "END" {
			t.Errorf("by %d bytes: %q", size, shown)
		}
	}
	s := stopper{stops: []string{"END"}}
	show, _ := s.feed("a EN\xf0\x9f")
	if show != "a EN" || s.flush() != "\uFFFD" {
		t.Errorf("%q", show)
	}
}
