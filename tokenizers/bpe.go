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
	vocabulary
	raw          map[string]int32   // by the text of the token; for a byte-level vocabulary, by its bytes
	merges       map[[2]int32]merge // by the two ids
	bytes        [256]int32         // tokens of single bytes, for a byte-level vocabulary
	byteLevel    bool
	fallback     *[256]int32 // tokens <0x00> … <0xFF> for unknown characters
	unknown      int32       // or noToken: unknown characters are dropped
	fuseUnknown  bool
	ignoreMerges bool // a word that is a token is not split
}

// merge is the token that replaces two others. Merges with a lower rank come first.
type merge struct{ rank, id int32 }

const (
	maxCacheBytes = 1 << 20 // memory of the cache of a pass
	maxCachedWord = 64      // bytes of a word
)

func (m *bpe) tokenize(p *pass, word []byte, ids []int32) []int32 {
	if m.ignoreMerges {
		if id, ok := m.raw[string(word)]; ok {
			return append(ids, id)
		}
	}
	w := &p.merging
	if cached, ok := w.cache[string(word)]; ok {
		return append(ids, cached...)
	}
	w.symbols = w.symbols[:0]
	if m.byteLevel {
		m.addBytes(w, word)
	} else {
		m.addChars(w, word)
	}
	m.merge(w)
	before := len(ids)
	for _, s := range w.symbols {
		if s.id != noToken {
			ids = append(ids, s.id)
		}
	}
	w.store(word, ids[before:])
	return ids
}

// store caches the tokens of a short word if there is room.
func (w *merging) store(word []byte, ids []int32) {
	size := len(word) + len(ids)*4 + 64
	if len(word) > maxCachedWord || w.cacheBytes+size > maxCacheBytes {
		return
	}
	if w.cache == nil {
		w.cache = map[string][]int32{}
	}
	w.cache[string(word)] = slices.Clone(ids)
	w.cacheBytes += size
}

func (m *bpe) addBytes(w *merging, word []byte) {
	for _, c := range word {
		w.add(m.bytes[c])
	}
}

// addChars adds a symbol per character. A character that is not a token becomes its bytes, or unknown, or nothing.
func (m *bpe) addChars(w *merging, word []byte) {
	afterUnknown := false
	for len(word) > 0 {
		_, n := utf8.DecodeRune(word)
		id, ok := m.raw[string(word[:n])]
		switch {
		case ok:
			w.add(id)
		case m.fallback != nil:
			for _, c := range word[:n] {
				w.add(m.fallback[c])
			}
		case m.unknown != noToken && !(m.fuseUnknown && afterUnknown):
			w.add(m.unknown)
		}
		afterUnknown = !ok
		word = word[n:]
	}
}

// newBPE refuses a merge whose parts or result are not tokens.
func newBPE(v vocabulary, merges []mergeRule, byteLevel bool) (*bpe, error) {
	m := &bpe{
		vocabulary: v,
		raw:        v,
		byteLevel:  byteLevel,
		unknown:    noToken,
		merges:     make(map[[2]int32]merge, len(merges)),
	}
	for rank, parts := range merges {
		a, okA := v[parts.left]
		b, okB := v[parts.right]
		both, ok := v[parts.left+parts.right]
		if !okA || !okB || !ok {
			return nil, fmt.Errorf("BPE: merge %d of %q and %q is not in the vocabulary", rank, parts.left, parts.right)
		}
		m.merges[[2]int32{a, b}] = merge{rank: int32(rank), id: both}
	}
	if !byteLevel {
		return m, nil
	}
	m.raw = make(map[string]int32, len(v))
	for token, id := range v {
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
		component
		Dropout      *float64    `json:"dropout,omitempty"`
		Unknown      *string     `json:"unk_token,omitempty"`
		Prefix       *string     `json:"continuing_subword_prefix,omitempty"`
		Suffix       *string     `json:"end_of_word_suffix,omitempty"`
		FuseUnknown  bool        `json:"fuse_unk,omitempty"`
		Fallback     bool        `json:"byte_fallback,omitempty"`
		IgnoreMerges bool        `json:"ignore_merges,omitempty"`
		Vocab        vocabulary  `json:"vocab"`
		Merges       []mergeRule `json:"merges"`
	}
	if err := decodeComponent(raw, &c); err != nil {
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
	if err := c.Vocab.check(); err != nil {
		return nil, err
	}
	m, err := newBPE(c.Vocab, c.Merges, byteLevel)
	if err != nil {
		return nil, err
	}
	m.fuseUnknown = c.FuseUnknown
	m.ignoreMerges = c.IgnoreMerges
	if c.Fallback {
		m.fallback = c.Vocab.byteTokens()
	}
	if c.Unknown != nil {
		id, ok := c.Vocab.id(*c.Unknown)
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
