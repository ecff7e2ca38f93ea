package tokenizers

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// charsmap is sentencepiece's compiled table of replacements: a double-array trie (in the layout of darts-clone) from
// texts to offsets in a list of replacements, each terminated by a zero byte (https://github.com/google/sentencepiece,
// src/normalizer.cc).
type charsmap struct {
	units        []uint32
	replacements []byte
	ascii        [utf8.RuneSelf]bool // ASCII characters that do not change
}

func parsePrecompiled(raw json.RawMessage) (*charsmap, error) {
	var c struct {
		component
		Map string `json:"precompiled_charsmap"`
	}
	if err := decodeComponent(raw, &c); err != nil {
		return nil, err
	}
	data, err := base64.StdEncoding.DecodeString(c.Map)
	if err != nil {
		return nil, fmt.Errorf("Precompiled: %w", err)
	}
	if len(data) < 8 {
		return nil, errors.New("Precompiled: charsmap is too short")
	}
	size := binary.LittleEndian.Uint32(data)
	data = data[4:]
	if size < 4 || int64(size) > int64(len(data)) {
		return nil, fmt.Errorf("Precompiled: trie of %d bytes in a charsmap of %d", size, len(data))
	}
	m := &charsmap{replacements: data[size:]}
	for i := uint32(0); i+4 <= size; i += 4 {
		m.units = append(m.units, binary.LittleEndian.Uint32(data[i:]))
	}
	if !utf8.Valid(m.replacements) {
		return nil, errors.New("Precompiled: replacements are not UTF-8")
	}
	for c := range m.ascii {
		_, changed := m.replacement([]byte{byte(c)})
		m.ascii[c] = !changed && c != '\r' // \r\n is one grapheme cluster
	}
	return m, nil
}

// replacement finds the shortest prefix of b in the table. As in the reference, the bytes of b after the prefix are
// dropped.
func (m *charsmap) replacement(b []byte) ([]byte, bool) {
	at := offset(m.units[0])
	for _, c := range b {
		if c == 0 {
			return nil, false
		}
		at ^= uint32(c)
		if int(at) >= len(m.units) {
			return nil, false
		}
		u := m.units[at]
		if u&(1<<31|0xFF) != uint32(c) {
			return nil, false
		}
		at ^= offset(u)
		if u>>8&1 == 1 && int(at) < len(m.units) {
			return m.entry(m.units[at] &^ (1 << 31))
		}
	}
	return nil, false
}

func offset(u uint32) uint32 { return (u >> 10) << ((u & (1 << 9)) >> 6) }

func (m *charsmap) entry(start uint32) ([]byte, bool) {
	if int64(start) > int64(len(m.replacements)) {
		return nil, false
	}
	b := m.replacements[start:]
	if end := bytes.IndexByte(b, 0); end >= 0 {
		b = b[:end]
	}
	return b, true
}

func (m *charsmap) apply(p *pass) {
	p.rewrite(func(piece []byte) {
		if m.unchanged(piece) {
			p.out = append(p.out, piece...)
		} else {
			p.out = m.rewrite(p.out, piece)
		}
	})
}

func (m *charsmap) unchanged(b []byte) bool {
	for _, c := range b {
		if c >= utf8.RuneSelf || !m.ascii[c] {
			return false
		}
	}
	return true
}

// rewrite appends the new form of b to out. It looks up a grapheme cluster of less than 6 bytes as a whole; if that
// fails, or the cluster is longer, it looks up each character.
func (m *charsmap) rewrite(out, b []byte) []byte {
	for len(b) > 0 {
		if n := m.plainRun(b); n > 0 {
			out = append(out, b[:n]...)
			b = b[n:]
			continue
		}
		cluster, _, _, _ := uniseg.FirstGraphemeCluster(b, -1)
		b = b[len(cluster):]
		if len(cluster) < 6 {
			if to, ok := m.replacement(cluster); ok {
				out = append(out, to...)
				continue
			}
		}
		for len(cluster) > 0 {
			_, size := utf8.DecodeRune(cluster)
			to, ok := m.replacement(cluster[:size])
			if !ok {
				to = cluster[:size]
			}
			out = append(out, to...)
			cluster = cluster[size:]
		}
	}
	return out
}

// plainRun returns the length of the longest prefix of b of ASCII characters that do not change and are grapheme
// clusters by themselves: the next character is ASCII too.
func (m *charsmap) plainRun(b []byte) int {
	n := 0
	for n < len(b) && b[n] < utf8.RuneSelf && m.ascii[b[n]] && (n+1 == len(b) || b[n+1] < utf8.RuneSelf) {
		n++
	}
	return n
}
