package tokenizers

import "unicode/utf8"

// Span is the half-open range [Start, End) of a text, in bytes.
type Span struct{ Start, End int32 }

// text is the input as far as it has been rewritten: bytes of valid UTF-8, and for each byte the input bytes it stands
// for. All bytes of a character stand for the same input bytes, as in the reference library.
type text struct {
	b    []byte
	from []Span
}

func (t *text) reset() { t.b, t.from = t.b[:0], t.from[:0] }

// byteAt appends one ASCII character.
func (t *text) byteAt(c byte, from Span) {
	t.b = append(t.b, c)
	t.from = append(t.from, from)
}

// runeAt appends one character.
func (t *text) runeAt(r rune, from Span) {
	n := len(t.b)
	t.b = utf8.AppendRune(t.b, r)
	for ; n < len(t.b); n++ {
		t.from = append(t.from, from)
	}
}

// stringAt appends characters that all stand for the same input.
func (t *text) stringAt(s string, from Span) {
	t.b = append(t.b, s...)
	for range len(s) {
		t.from = append(t.from, from)
	}
}

// copyOf appends the bytes [lo, hi) of another text.
func (t *text) copyOf(o *text, lo, hi int32) {
	t.b = append(t.b, o.b[lo:hi]...)
	t.from = append(t.from, o.from[lo:hi]...)
}

// span gives the input bytes that [lo, hi) stands for.
func (t *text) span(lo, hi int32) Span {
	if lo >= hi {
		return Span{}
	}
	return Span{t.from[lo].Start, t.from[hi-1].End}
}

// load replaces the text by the input. Bytes that are not UTF-8 become U+FFFD, each standing for its one byte.
func (t *text) load(s string) {
	t.reset()
	for i := 0; i < len(s); {
		if c := s[i]; c < utf8.RuneSelf {
			t.byteAt(c, Span{int32(i), int32(i + 1)})
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		t.runeAt(r, Span{int32(i), int32(i + n)})
		i += n
	}
}

// piece is a part of the text that later stages treat apart from its neighbours. An id of 0 or more says that the piece
// is an added token already.
type piece struct {
	lo, hi int32
	id     int32
}

const noToken = -1

// pass is the working memory of one call: the text, its pieces, and room for the next state of both. Passes are pooled.
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

// stage is one step of the pipeline before the model: it rewrites the text, or cuts its pieces smaller.
type stage interface{ apply(*pass) }

// sequence is what the model made of one input.
type sequence struct {
	input string
	ids   []int32
	spans []Span
}

func (s *sequence) reset(input string) { s.input, s.ids, s.spans = input, s.ids[:0], s.spans[:0] }

func (s *sequence) add(id int32, from Span) {
	s.ids = append(s.ids, id)
	s.spans = append(s.spans, from)
}

// rewrite calls f for each piece that is no token yet; f appends that piece's new form to p.out.
func (p *pass) rewrite(f func(lo, hi int32)) {
	p.out.reset()
	p.next = p.next[:0]
	for _, pc := range p.pieces {
		start := int32(len(p.out.b))
		if pc.id >= 0 {
			p.out.copyOf(&p.text, pc.lo, pc.hi)
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

// split calls f for each piece that is no token yet; f calls p.cut for each part it wants kept.
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
