package tokenizers

import "unicode/utf8"

// Span is the half-open range [Start, End) of a text, in bytes.
type Span struct{ Start, End int32 }

// text is the rewritten input: valid UTF-8, and for each byte the input bytes that it stands for. As in the reference,
// all bytes of a character stand for the same input bytes.
type text struct {
	b    []byte
	from []Span
}

func (t *text) reset() {
	t.b = t.b[:0]
	t.from = t.from[:0]
}

// appendByte appends an ASCII character.
func (t *text) appendByte(c byte, from Span) {
	t.b = append(t.b, c)
	t.from = append(t.from, from)
}

// appendRune appends a character.
func (t *text) appendRune(r rune, from Span) {
	n := len(t.b)
	t.b = utf8.AppendRune(t.b, r)
	for ; n < len(t.b); n++ {
		t.from = append(t.from, from)
	}
}

// appendString appends characters that all stand for the same input bytes.
func (t *text) appendString(s string, from Span) {
	t.b = append(t.b, s...)
	for range len(s) {
		t.from = append(t.from, from)
	}
}

// appendText appends the bytes [lo, hi) of another text.
func (t *text) appendText(o *text, lo, hi int32) {
	t.b = append(t.b, o.b[lo:hi]...)
	t.from = append(t.from, o.from[lo:hi]...)
}

// span returns the input bytes that [lo, hi) stands for.
func (t *text) span(lo, hi int32) Span {
	if lo >= hi {
		return Span{}
	}
	return Span{t.from[lo].Start, t.from[hi-1].End}
}

// load sets the text to the input. Each byte that is not UTF-8 becomes U+FFFD.
func (t *text) load(s string) {
	t.reset()
	for i := 0; i < len(s); {
		if c := s[i]; c < utf8.RuneSelf {
			t.appendByte(c, Span{int32(i), int32(i + 1)})
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		t.appendRune(r, Span{int32(i), int32(i + n)})
		i += n
	}
}

// piece is a part of the text that later stages process by itself. An added token has an id of 0 or more, other pieces
// have noToken.
type piece struct {
	lo, hi int32
	id     int32
}

const noToken = -1

// pass is the working memory of one call. out and next are where a stage writes text and pieces. Passes are pooled.
type pass struct {
	text, out    text
	pieces, next []piece
	parts        []part
	chars, more  []char
	changes      []change
	paths        []path
	merging      merging
	first        sequence
	second       sequence
}

// stage is a step of the pipeline before the model. It rewrites the text or splits its pieces.
type stage interface{ apply(*pass) }

// sequence has the tokens of one input.
type sequence struct {
	input string
	ids   []int32
	spans []Span
}

func (s *sequence) reset(input string) {
	s.input = input
	s.ids = s.ids[:0]
	s.spans = s.spans[:0]
}

func (s *sequence) add(id int32, from Span) {
	s.ids = append(s.ids, id)
	s.spans = append(s.spans, from)
}

// rewrite calls f for each piece that is not a token. f appends the new form of the piece to p.out.
func (p *pass) rewrite(f func(lo, hi int32)) {
	p.out.reset()
	p.next = p.next[:0]
	for _, pc := range p.pieces {
		start := int32(len(p.out.b))
		if pc.id >= 0 {
			p.out.appendText(&p.text, pc.lo, pc.hi)
		} else {
			f(pc.lo, pc.hi)
		}
		if end := int32(len(p.out.b)); end > start {
			p.next = append(p.next, piece{start, end, pc.id})
		}
	}
	p.text, p.out = p.out, p.text
	p.pieces, p.next = p.next, p.pieces
}

// split calls f for each piece that is not a token. f calls p.cut for each part to keep.
func (p *pass) split(f func(lo, hi int32)) {
	p.next = p.next[:0]
	for _, pc := range p.pieces {
		if pc.id >= 0 {
			p.next = append(p.next, pc)
		} else {
			f(pc.lo, pc.hi)
		}
	}
	p.pieces, p.next = p.next, p.pieces
}

func (p *pass) cut(lo, hi int32) {
	if lo < hi {
		p.next = append(p.next, piece{lo, hi, noToken})
	}
}
