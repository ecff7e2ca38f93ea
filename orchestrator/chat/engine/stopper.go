package engine

import (
	"strings"
	"unicode/utf8"
)

// stopper finds stop strings in a stream of text. It holds back a suffix that may be the prefix of a stop string, and
// the bytes of an incomplete character. Engines look for stop strings too, but stop at different places and do not
// report the string.
type stopper struct {
	stops   []string
	include bool // keep the stop string in the text
	held    string
}

// feed appends text and returns the text that may be sent, and the stop string if one was found.
func (s *stopper) feed(text string) (ready string, hit *string) {
	s.held += text
	at := -1
	for _, stop := range s.stops {
		if i := strings.Index(s.held, stop); i >= 0 && (at < 0 || i < at) {
			at = i
			hit = &stop
		}
	}
	if hit != nil {
		if s.include {
			at += len(*hit)
		}
		ready = s.held[:at]
		s.held = ""
		return strings.ToValidUTF8(ready, "\uFFFD"), hit
	}
	keep := max(s.partialStop(), partialRune(s.held))
	cut := len(s.held) - keep
	ready = s.held[:cut]
	s.held = s.held[cut:]
	return strings.ToValidUTF8(ready, "\uFFFD"), nil
}

// flush returns the text held back.
func (s *stopper) flush() string {
	text := s.held
	s.held = ""
	return strings.ToValidUTF8(text, "\uFFFD")
}

// partialStop returns the length of the longest suffix of held that is a prefix of a stop string.
func (s *stopper) partialStop() (longest int) {
	for _, stop := range s.stops {
		for n := min(len(stop)-1, len(s.held)); n > longest; n-- {
			if strings.HasSuffix(s.held, stop[:n]) {
				longest = n
				break
			}
		}
	}
	return longest
}

// partialRune returns the length of an incomplete character at the end of s.
func partialRune(s string) int {
	for n := 1; n < utf8.UTFMax && n <= len(s); n++ {
		tail := s[len(s)-n:]
		if utf8.RuneStart(tail[0]) {
			if utf8.FullRuneInString(tail) {
				return 0
			}
			return n
		}
	}
	return 0
}
