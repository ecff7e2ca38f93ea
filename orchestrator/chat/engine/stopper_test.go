package engine

import "testing"

// TestStopper checks that the stopper returns the text up to the stop string, however the text is divided into pieces.
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
			t.Errorf("pieces of %d bytes: got %q", size, shown)
		}
	}
	s := stopper{stops: []string{"END"}}
	show, _ := s.feed("a EN\xf0\x9f")
	if show != "a EN" || s.flush() != "\uFFFD" {
		t.Errorf("incomplete character: got %q", show)
	}
}
