package tokenizers

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

// addedToken is a token that is searched for in the text, before the model.
type addedToken struct {
	ID         int32  `json:"id"`
	Content    string `json:"content"`
	SingleWord bool   `json:"single_word"` // not inside a word
	LStrip     bool   `json:"lstrip"`      // includes the white space on its left
	RStrip     bool   `json:"rstrip"`
	Normalized bool   `json:"normalized"` // searched for in the normalized text, in normalized form
	Special    bool   `json:"special"`    // may be left out when decoding

	form string // what is searched for
}

// matcher finds the leftmost added token, and the longest of those that start there. A nil matcher finds none.
type matcher struct {
	tokens      map[int32]*addedToken
	words       *trie
	firstBytes  [256]bool
	commonFirst int // the first byte of all tokens if it is the same, or -1
}

// newMatcher returns a matcher for the forms of tokens.
func newMatcher(tokens []*addedToken) (*matcher, error) {
	if len(tokens) == 0 {
		return nil, nil
	}
	m := &matcher{tokens: map[int32]*addedToken{}, commonFirst: int(tokens[0].form[0])}
	ids := map[string]int32{}
	for _, t := range tokens {
		if _, ok := ids[t.form]; ok {
			return nil, fmt.Errorf("added_tokens: %q has the same form %q as another token", t.Content, t.form)
		}
		ids[t.form] = t.ID
		m.tokens[t.ID] = t
		m.firstBytes[t.form[0]] = true
		if int(t.form[0]) != m.commonFirst {
			m.commonFirst = -1
		}
	}
	m.words = newTrie(ids)
	return m, nil
}

// apply splits pieces at added tokens, which become pieces with an id.
func (m *matcher) apply(p *pass) {
	if m == nil {
		return
	}
	p.split(func(lo, hi int32) {
		b := p.text[lo:hi]
		done := 0
		for i := 0; ; {
			at, id, n := m.next(b, i)
			if n == 0 {
				break
			}
			i = at + n
			start, stop, ok := m.tokens[id].extent(b, done, at, at+n)
			if !ok {
				continue
			}
			p.cut(lo+int32(done), lo+int32(start))
			p.next = append(p.next, piece{lo + int32(start), lo + int32(stop), id})
			done = stop
		}
		p.cut(lo+int32(done), hi)
	})
}

// next finds the first token at or after i: its position, id and length, or length 0.
func (m *matcher) next(b []byte, i int) (at int, id int32, n int) {
	for ; i < len(b); i++ {
		if m.commonFirst >= 0 {
			skip := bytes.IndexByte(b[i:], byte(m.commonFirst))
			if skip < 0 {
				break
			}
			i += skip
		} else if !m.firstBytes[b[i]] {
			continue
		}
		if id, n = m.words.longest(0, b[i:]); n > 0 {
			return i, id, n
		}
	}
	return 0, noToken, 0
}

// extent returns the range that a token at [start, stop) consumes, which may include white space around it. The text
// before done is already consumed. ok is false if the token must be a separate word but is not.
func (t *addedToken) extent(b []byte, done, start, stop int) (from, to int, ok bool) {
	u := codepoints()
	if t.SingleWord {
		before, n := utf8.DecodeLastRune(b[:start])
		after, k := utf8.DecodeRune(b[stop:])
		if n > 0 && u.is(before, isWord) || k > 0 && u.is(after, isWord) {
			return 0, 0, false
		}
	}
	start = max(start, done)
	for t.LStrip && start > done {
		r, n := utf8.DecodeLastRune(b[:start])
		if !u.is(r, isWhitespace) {
			break
		}
		start -= n
	}
	for t.RStrip && stop < len(b) {
		r, n := utf8.DecodeRune(b[stop:])
		if !u.is(r, isWhitespace) {
			break
		}
		stop += n
	}
	return start, stop, true
}
