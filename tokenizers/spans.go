package tokenizers

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"unicode/utf8"
)

// Span is a token and its place in the text.
type Span struct {
	ID int32
	// Text is the part of the text, or the token as the vocabulary writes it if it is special or its place unknown.
	Text    string
	Special bool // added by the post-processor
	// Start and Stop are the bytes [Start, Stop) of the text; -1 if Special is true or the place is unknown.
	Start, Stop int
}

// Spans tokenizes a text, with the special tokens of the model if special is true, and says which part of the text each
// token is of. Parts are as in the reference library: the token of a character that is normalized to several tokens has
// the whole character. The places are unknown if a normalizer looks at several characters at once, as Unicode
// composition does, and that changes this text.
func (t *Tokenizer) Spans(text string, special bool) ([]Span, error) {
	text = string([]rune(text)) // each byte that is not UTF-8 becomes U+FFFD
	p := t.passes.Get().(*pass)
	defer t.release(p)
	ids, err := t.tokenize(p, text, p.first[:0])
	p.first = ids
	if err != nil {
		return nil, err
	}
	spans := t.placed(p, text)
	if len(spans) != len(ids) {
		spans = make([]Span, len(ids))
		for i, id := range ids {
			name, _ := t.Token(id)
			spans[i] = Span{ID: id, Text: name, Start: -1, Stop: -1}
		}
	}
	if !special {
		return spans, nil
	}
	var out []Span
	for _, s := range t.post.single {
		if s.source != specialSource {
			out = append(out, spans...)
			continue
		}
		name, _ := t.Token(s.id)
		out = append(out, Span{ID: s.id, Text: name, Special: true, Start: -1, Stop: -1})
	}
	return out, nil
}

// placed returns the tokens of a pass with their places, or nil if they are unknown.
func (t *Tokenizer) placed(p *pass, text string) []Span {
	a, err := t.align(text, p.text)
	if err != nil {
		return nil
	}
	var spans []Span
	for _, pc := range p.pieces {
		lo, hi := int(pc.lo), int(pc.hi)
		if pc.id >= 0 {
			spans = append(spans, a.span(text, pc.id, lo, hi))
			continue
		}
		ids := t.model.tokenize(p, p.text[lo:hi], nil)
		for i, id := range ids {
			n := hi - lo
			if i < len(ids)-1 {
				n = t.surface(id, p.text[lo:hi])
			}
			if n <= 0 {
				return nil
			}
			span := a.span(text, id, lo, lo+n)
			if t.post.trim {
				span.trim(string(p.text[lo:lo+n]), t.post.prefixed && len(spans) == 0)
			}
			spans = append(spans, span)
			lo += n
		}
	}
	return spans
}

// surface returns how many bytes of the text before it a token stands for, or 0 if that is unknown.
func (t *Tokenizer) surface(id int32, text []byte) int {
	name, _ := t.Token(id)
	raw, _ := fromByteLevel(name)
	for _, form := range []string{name, strings.TrimPrefix(name, "##"), raw} {
		if form != "" && bytes.HasPrefix(text, []byte(form)) {
			return len(form)
		}
	}
	if len(name) == len("<0x00>") && strings.HasPrefix(name, "<0x") {
		return 1
	}
	return 0
}

// trim leaves out the spaces at the ends of a token, given its form before the model. Of the first token of a text, one
// space may be the tokenizer's own.
func (s *Span) trim(form string, prefixed bool) {
	leading := utf8.RuneCountInString(form) - utf8.RuneCountInString(strings.TrimLeft(form, " "))
	if leading > 0 && prefixed {
		leading--
	}
	trailing := len(form) - len(strings.TrimRight(form, " "))
	start := min(s.Start+leading, s.Stop)
	stop := max(s.Stop-trailing, start)
	s.Text = s.Text[start-s.Start : stop-s.Start]
	s.Start, s.Stop = start, stop
}

// alignment has the bounds in the text of each byte of a rewritten form.
type alignment struct{ start, stop []int }

func (a *alignment) add(n, start, stop int) {
	for range n {
		a.start = append(a.start, start)
		a.stop = append(a.stop, stop)
	}
}

// span returns the token at the bytes [lo, hi) of the rewritten form.
func (a *alignment) span(text string, id int32, lo, hi int) Span {
	s := Span{ID: id, Start: a.start[lo], Stop: a.stop[hi-1]}
	s.Text = text[s.Start:s.Stop]
	return s
}

var errNotAligned = errors.New("the form of a text is not that of its characters")

// align rewrites a text character by character. The result must be the rewritten text, but for spaces that
// pre-tokenizers replace, drop or put at the start.
func (t *Tokenizer) align(text string, rewritten []byte) (*alignment, error) {
	p := &pass{}
	p.load(text)
	t.rawMatcher.apply(p)
	pieces := append([]piece(nil), p.pieces...)
	a := &alignment{}
	var form []byte
	add := func(part []byte, start, stop int) {
		form = append(form, part...)
		a.add(len(part), start, stop)
	}
	for _, pc := range pieces {
		if pc.id >= 0 {
			add([]byte(text[pc.lo:pc.hi]), int(pc.lo), int(pc.hi))
			continue
		}
		for at := int(pc.lo); at < int(pc.hi); {
			_, size := utf8.DecodeRuneInString(text[at:])
			p.load(text[at : at+size])
			for _, st := range t.normalize {
				st.apply(p)
			}
			add(p.text, at, at+size)
			at += size
		}
	}
	return a.withSpaces(form, rewritten, slices.ContainsFunc(t.split, dropsSpaces))
}

// dropsSpaces reports whether a stage splits at white space and keeps none of it.
func dropsSpaces(st stage) bool {
	split, ok := st.(*propertySplit)
	return ok && split.property == isWhitespace && split.behavior == removed
}

// withSpaces aligns a form with one that has other spaces: another character for each, or one more at the start. If
// words is true, spaces are dropped, and the other character is put before each word.
func (a *alignment) withSpaces(form, rewritten []byte, words bool) (*alignment, error) {
	out := &alignment{}
	at := 0
	for len(rewritten) > 0 {
		r, size := utf8.DecodeRune(rewritten)
		if words {
			at += len(form[at:]) - len(bytes.TrimLeft(form[at:], " "))
		}
		switch {
		case at < len(form) && bytes.HasPrefix(form[at:], rewritten[:size]):
			out.start = append(out.start, a.start[at:at+size]...)
			out.stop = append(out.stop, a.stop[at:at+size]...)
			at += size
		case at < len(form) && form[at] == ' ' && r == '▁':
			out.add(size, a.start[at], a.stop[at])
			at++
		case words && at < len(form) && r == '▁':
			out.add(size, a.start[at], a.stop[at])
		case at == 0 && len(form) > 0 && a.start[0] == 0 && (r == '▁' || r == ' '):
			out.add(size, a.start[0], a.stop[0])
		default:
			return nil, errNotAligned
		}
		rewritten = rewritten[size:]
	}
	if at != len(form) && !(words && len(bytes.Trim(form[at:], " ")) == 0) {
		return nil, errNotAligned
	}
	return out, nil
}
