package prompt

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// escaper breaks up special tokens in the texts of messages with a space. An engine tokenizes the whole prompt at once,
// so a special token that a user typed would become a real one: an image that does not exist, or the end of the user's
// turn followed by a forged system message.
type escaper struct{ root node }

// node is a node of the trie of all special tokens, by bytes.
type node struct {
	next map[byte]*node
	cut  int // offset of the space in a token that ends here, after its first character; 0 if none ends here
}

func newEscaper(tokens []string) *escaper {
	e := &escaper{}
	for _, token := range tokens {
		n := &e.root
		for i := range len(token) {
			if n.next == nil {
				n.next = map[byte]*node{}
			}
			if n.next[token[i]] == nil {
				n.next[token[i]] = &node{}
			}
			n = n.next[token[i]]
		}
		_, n.cut = utf8.DecodeRuneInString(token)
	}
	return e
}

// escape returns parts with special tokens broken up, including those that a template would join from adjacent texts.
func (e *escaper) escape(parts []Part) []Part {
	escaped := slices.Clone(parts)
	for start := 0; start < len(escaped); {
		end := start
		for end < len(escaped) && !escaped[end].Image {
			end++
		}
		e.escapeTexts(escaped[start:end])
		start = end + 1
	}
	return escaped
}

// escapeTexts breaks up special tokens in adjacent texts as if they were one.
func (e *escaper) escapeTexts(texts []Part) {
	var joined strings.Builder
	for _, p := range texts {
		joined.WriteString(p.Text)
	}
	cuts := e.cuts(joined.String())
	if len(cuts) == 0 {
		return
	}
	start := 0
	for i, p := range texts {
		texts[i].Text = insertSpaces(p.Text, start, cuts)
		start += len(p.Text)
	}
}

// insertSpaces inserts a space at each cut inside text, whose first byte is at offset start. A cut at start itself is
// inside a token that starts in an earlier text.
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

// cuts returns the offsets of the spaces to insert into text: after the first character of every special token,
// including overlapping ones. A token of one character cannot be broken up; the space only follows it.
func (e *escaper) cuts(text string) (cuts []int) {
	for i := range len(text) {
		n := e.root.next[text[i]]
		for at := i + 1; n != nil; at++ {
			if n.cut > 0 { // the same for all tokens that start here, as they share the first character
				cuts = append(cuts, i+n.cut)
				break
			}
			if at == len(text) {
				break
			}
			n = n.next[text[at]]
		}
	}
	return cuts
}
