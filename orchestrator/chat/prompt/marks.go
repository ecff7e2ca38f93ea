package prompt

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// breaker breaks up marks in the texts of messages. An engine tokenizes the whole prompt at once, so a mark that a user
// typed would become the special token itself: an image that does not exist, or the end of the user's turn followed by
// a forged system message.
type breaker struct{ marks markNode }

// markNode is a node of the trie of all marks, by bytes.
type markNode struct {
	next map[byte]*markNode
	cut  int // offset of the cut in a mark that ends here: the size of its first character; 0 if none ends here
}

func newBreaker(marks []string) *breaker {
	b := &breaker{}
	for _, m := range marks {
		node := &b.marks
		for i := range len(m) {
			if node.next == nil {
				node.next = map[byte]*markNode{}
			}
			if node.next[m[i]] == nil {
				node.next[m[i]] = &markNode{}
			}
			node = node.next[m[i]]
		}
		_, node.cut = utf8.DecodeRuneInString(m)
	}
	return b
}

// parts returns parts with marks broken up, including marks that a template would join from adjacent texts.
func (b *breaker) parts(parts []Part) []Part {
	out := slices.Clone(parts)
	for lo := 0; lo < len(out); {
		hi := lo
		for hi < len(out) && !out[hi].Image {
			hi++
		}
		b.breakTexts(out[lo:hi])
		lo = hi + 1
	}
	return out
}

// breakTexts breaks up marks in adjacent texts as if they were one.
func (b *breaker) breakTexts(texts []Part) {
	var joined strings.Builder
	for _, p := range texts {
		joined.WriteString(p.Text)
	}
	cuts := b.cuts(joined.String())
	if len(cuts) == 0 {
		return
	}
	start := 0
	for i, p := range texts {
		end := start + len(p.Text)
		texts[i].Text = insertSpaces(p.Text, start, cuts)
		start = end
	}
}

// insertSpaces puts a space at each cut inside text, whose first byte is at offset start. A cut at start itself is
// inside a mark that starts in an earlier text.
func insertSpaces(text string, start int, cuts []int) string {
	var b strings.Builder
	from := 0
	for _, cut := range cuts {
		if at := cut - start; at >= 0 && at < len(text) {
			b.WriteString(text[from:at])
			b.WriteByte(' ')
			from = at
		}
	}
	b.WriteString(text[from:])
	return b.String()
}

// cuts returns the offsets at which text is cut: after the first character of every mark, including overlapping ones. A
// mark of one character cannot be broken up; a space after it keeps it apart.
func (b *breaker) cuts(text string) (cuts []int) {
	for i := range len(text) {
		node := b.marks.next[text[i]]
		for at := i + 1; node != nil; at++ {
			if node.cut > 0 { // the same for all marks that start here, as they share the first character
				cuts = append(cuts, i+node.cut)
				break
			}
			if at == len(text) {
				break
			}
			node = node.next[text[at]]
		}
	}
	return cuts
}
