package tokenizers

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// bpe merges the two neighbours with the lowest rank, the leftmost first, until no merge applies (Sennrich et al. 2016,
// arXiv:1508.07909).
type bpe struct {
	*vocabulary
	raw          map[string]int32 // by the text of the token; for a byte-level vocabulary, by its bytes
	merges       map[uint64]merge // by pairKey of the two ids
	bytes        [256]int32       // tokens of single bytes, for a byte-level vocabulary
	byteLevel    bool
	fallback     *[256]int32 // tokens <0x00> … <0xFF> for unknown characters
	unknown      int32       // or noToken: unknown characters are dropped
	fuseUnknown  bool
	ignoreMerges bool // a word that is a token is not split
}

type merge struct{ rank, id int32 }

func pairKey(a, b int32) uint64 { return uint64(uint32(a))<<32 | uint64(uint32(b)) }

const (
	maxCacheBytes = 1 << 20 // of a pass, in bytes
	maxCachedWord = 64      // in bytes
)

func (m *bpe) tokenize(p *pass, lo, hi int32, s *sequence) {
	word := p.text.b[lo:hi]
	if m.ignoreMerges {
		if id, ok := m.raw[string(word)]; ok {
			s.add(id, p.text.span(lo, hi))
			return
		}
	}
	for _, sym := range m.symbols(&p.merging, word) {
		s.add(sym.id, p.text.span(lo, min(lo+sym.size, hi)))
		lo += sym.size
	}
}

// symbols returns the tokens of a word. It caches the results for short words.
func (m *bpe) symbols(w *merging, word []byte) []symbol {
	if cached, ok := w.cache[string(word)]; ok {
		return cached
	}
	w.symbols = w.symbols[:0]
	if m.byteLevel {
		m.fromBytes(w, word)
	} else {
		m.fromChars(w, word)
	}
	w.link()
	m.merge(w)
	w.symbols = slices.DeleteFunc(w.symbols, func(s symbol) bool { return s.id == noToken })
	w.store(word)
	return w.symbols
}

// store caches the symbols of a word if there is room.
func (w *merging) store(word []byte) {
	size := len(word) + len(w.symbols)*16 + 64
	if len(word) > maxCachedWord || w.cacheBytes+size > maxCacheBytes {
		return
	}
	if w.cache == nil {
		w.cache = map[string][]symbol{}
	}
	w.cache[string(word)] = slices.Clone(w.symbols)
	w.cacheBytes += size
}

func (m *bpe) fromBytes(w *merging, word []byte) {
	for _, c := range word {
		w.add(m.bytes[c], 1)
	}
}

// fromChars adds a symbol per character. A character that is not a token becomes its bytes, or unknown, or nothing.
func (m *bpe) fromChars(w *merging, word []byte) {
	pending := 0 // bytes of unknown characters not yet added
	for i := 0; i < len(word); {
		_, n := utf8.DecodeRune(word[i:])
		id, ok := m.raw[string(word[i:i+n])]
		switch {
		case ok:
			if pending > 0 {
				w.add(m.unknown, pending)
				pending = 0
			}
			w.add(id, n)
		case m.fallback != nil:
			for _, c := range word[i : i+n] {
				w.add(m.fallback[c], 1)
			}
		case m.unknown == noToken:
		case m.fuseUnknown:
			pending += n
		default:
			if pending > 0 {
				w.add(m.unknown, pending)
			}
			pending = n
		}
		i += n
	}
	if pending > 0 {
		w.add(m.unknown, pending)
	}
}

// newBPE refuses a merge whose parts or result are not tokens.
func newBPE(v *vocabulary, merges []mergeRule, byteLevel bool) (*bpe, error) {
	m := &bpe{
		vocabulary: v,
		raw:        v.ids,
		byteLevel:  byteLevel,
		unknown:    noToken,
		merges:     make(map[uint64]merge, len(merges)),
	}
	for rank, parts := range merges {
		a, okA := v.ids[parts.left]
		b, okB := v.ids[parts.right]
		both, ok := v.ids[parts.left+parts.right]
		if !okA || !okB || !ok {
			return nil, fmt.Errorf("BPE: merge %d of %q and %q is not in the vocabulary", rank, parts.left, parts.right)
		}
		m.merges[pairKey(a, b)] = merge{rank: int32(rank), id: both}
	}
	if !byteLevel {
		return m, nil
	}
	m.raw = make(map[string]int32, len(v.ids))
	for token, id := range v.ids {
		if raw, ok := fromByteLevel(token); ok {
			m.raw[raw] = id
		}
	}
	return m, m.findBytes()
}

// findBytes sets bytes. It refuses a vocabulary without a token for some byte that occurs in UTF-8.
func (m *bpe) findBytes() error {
	for c := range m.bytes {
		id, ok := m.raw[string([]byte{byte(c)})]
		if !ok && !(c == 0xC0 || c == 0xC1 || c > 0xF4) {
			return fmt.Errorf("BPE: the byte-level vocabulary has no token for byte 0x%02X", c)
		}
		m.bytes[c] = id
	}
	return nil
}

func parseBPE(raw json.RawMessage, byteLevel bool) (model, error) {
	var c struct {
		head
		Dropout      *float64         `json:"dropout,omitempty"`
		Unknown      *string          `json:"unk_token,omitempty"`
		Prefix       *string          `json:"continuing_subword_prefix,omitempty"`
		Suffix       *string          `json:"end_of_word_suffix,omitempty"`
		FuseUnknown  bool             `json:"fuse_unk,omitempty"`
		Fallback     bool             `json:"byte_fallback,omitempty"`
		IgnoreMerges bool             `json:"ignore_merges,omitempty"`
		Vocab        map[string]int32 `json:"vocab"`
		Merges       []mergeRule      `json:"merges"`
	}
	if err := strict(raw, &c); err != nil {
		return nil, err
	}
	switch {
	case c.Dropout != nil && *c.Dropout != 0:
		return nil, fmt.Errorf("BPE: dropout %v is not supported: encoding would be random", *c.Dropout)
	case c.Prefix != nil && *c.Prefix != "":
		return nil, fmt.Errorf("BPE: continuing_subword_prefix %q is not supported", *c.Prefix)
	case c.Suffix != nil && *c.Suffix != "":
		return nil, fmt.Errorf("BPE: end_of_word_suffix %q is not supported", *c.Suffix)
	}
	v, err := newVocabulary(c.Vocab)
	if err != nil {
		return nil, err
	}
	m, err := newBPE(v, c.Merges, byteLevel)
	if err != nil {
		return nil, err
	}
	m.fuseUnknown = c.FuseUnknown
	m.ignoreMerges = c.IgnoreMerges
	if c.Fallback {
		m.fallback = v.fallback()
	}
	if c.Unknown != nil {
		id, ok := v.id(*c.Unknown)
		if !ok {
			return nil, fmt.Errorf("BPE: unk_token %q is not in the vocabulary", *c.Unknown)
		}
		m.unknown = id
	}
	return m, nil
}

// mergeRule is a merge, written "a b" or ["a", "b"].
type mergeRule struct{ left, right string }

func (r *mergeRule) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '[' {
		return parseTuple(b, &r.left, &r.right)
	}
	var both string
	if err := json.Unmarshal(b, &both); err != nil {
		return err
	}
	var ok bool
	if r.left, r.right, ok = strings.Cut(both, " "); !ok || strings.Contains(r.right, " ") {
		return fmt.Errorf("merge %q is not two tokens", both)
	}
	return nil
}
