package prompt

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// breaker breaks up marks in the texts of messages. An engine tokenizes the whole prompt at once, so a mark that a user
// has typed would otherwise become the special token itself: an image that is not there, or the end of the user's turn
// and words put into the mouth of the system.
type breaker struct{ marks markNode }

// markNode is a place in the tree of all marks, by their bytes.
type markNode struct {
	next map[byte]*markNode
	cut  int // where a mark that ends here is cut: the bytes of its first character; 0 where none ends
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

// parts returns parts with marks broken up, also those that a template would join from neighbouring texts.
func (b *breaker) parts(parts []Part) []Part {
	out := slices.Clone(parts)
	for lo := 0; lo < len(out); {
		hi := lo
		for hi < len(out) && !out[hi].Image {
			hi++
		}
		b.run(out[lo:hi])
		lo = hi + 1
	}
	return out
}

// run treats texts that follow one another as one text.
func (b *breaker) run(texts []Part) {
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
		texts[i].Text = spread(p.Text, start, cuts)
		start = end
	}
}

// spread puts a space before each cut that falls into text, which begins at start. A cut at the very start is one
// inside a mark that began earlier.
func spread(text string, start int, cuts []int) string {
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

// cuts returns where text must be cut: behind the first character of every mark, overlapping ones included. A mark of
// one character is cut before it: nothing can keep a tokenizer from reading it, but it is kept apart.
func (b *breaker) cuts(text string) (cuts []int) {
	for i := range len(text) {
		node := b.marks.next[text[i]]
		for at := i + 1; node != nil; at++ {
			if node.cut > 0 { // of all marks that begin here, which have the same first character
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
