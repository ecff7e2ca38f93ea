package engine

import (
	"strings"
	"unicode/utf8"
)

// stopper finds the strings that end an answer in text that comes piece by piece. It keeps back what may be the
// beginning of one, and bytes that do not make a whole character yet. Engines look for stop strings too; with the
// stopper they all end in the same place, and the client is told which string it was.
type stopper struct {
	stops   []string
	include bool // the string that ended the answer belongs to it
	held    string
}

// feed takes the next text and returns what may be shown, and the string that has ended the answer, if one has.
func (s *stopper) feed(text string) (show string, hit *string) {
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
		show = s.held[:at]
		s.held = ""
		return strings.ToValidUTF8(show, "\uFFFD"), hit
	}
	keep := max(s.beginning(), unfinished(s.held))
	cut := len(s.held) - keep
	show = s.held[:cut]
	s.held = s.held[cut:]
	return strings.ToValidUTF8(show, "\uFFFD"), nil
}

// rest is what was kept back, when no more comes.
func (s *stopper) rest() string {
	rest := s.held
	s.held = ""
	return strings.ToValidUTF8(rest, "\uFFFD")
}

// beginning is the length of the longest end of held that begins a stop.
func (s *stopper) beginning() (longest int) {
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

// unfinished is the length of a character at the end of s that is cut off.
func unfinished(s string) int {
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
