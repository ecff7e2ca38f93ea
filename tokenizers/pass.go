package tokenizers

import "unicode/utf8"

// piece is a part of the text that later stages process by itself. An added token has an id of 0 or more, other pieces
// have noToken.
type piece struct {
	lo, hi int32
	id     int32
}

const noToken = -1

// pass is the working memory of one call. out and next are where a stage writes text and pieces. Passes are pooled.
type pass struct {
	text, out    []byte // valid UTF-8
	pieces, next []piece
	startDropped bool // the text does not begin with the first character of the input
	parts        []part
	marked       []markedRune
	paths        []path
	merging      merging
	first        []int32 // token ids of the first text
	second       []int32
}

// stage is a step of the pipeline before the model. It rewrites the text or splits its pieces.
type stage interface{ apply(*pass) }

// load sets the text to the input, as one piece. Each byte that is not UTF-8 becomes U+FFFD.
func (p *pass) load(input string) {
	p.startDropped = false
	p.text = p.text[:0]
	for _, r := range input {
		p.text = utf8.AppendRune(p.text, r)
	}
	p.pieces = p.pieces[:0]
	if len(p.text) > 0 {
		p.pieces = append(p.pieces, piece{0, int32(len(p.text)), noToken})
	}
}

// rewrite calls f for each piece that is not a token. f appends the new form of the piece to p.out.
func (p *pass) rewrite(f func(piece []byte)) {
	p.out = p.out[:0]
	p.next = p.next[:0]
	for _, pc := range p.pieces {
		start := int32(len(p.out))
		if pc.id >= 0 {
			p.out = append(p.out, p.text[pc.lo:pc.hi]...)
		} else {
			f(p.text[pc.lo:pc.hi])
		}
		if end := int32(len(p.out)); end > start {
			p.next = append(p.next, piece{start, end, pc.id})
		}
	}
	p.text, p.out = p.out, p.text
	p.pieces, p.next = p.next, p.pieces
}

// atStart reports whether a stage rewrites the first piece, and the text begins where the input does.
func (p *pass) atStart() bool {
	return len(p.out) == 0 && p.pieces[0].lo == 0 && !p.startDropped
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
