package tokenizers

// byteOf maps the byte-level alphabet to bytes. It has a printable character for every byte, so that a vocabulary of
// bytes can be written as text (Radford et al. 2019, GPT-2, bytes_to_unicode): printable Latin-1 stands for itself, and
// the characters from U+0100 on for the other bytes.
var byteOf = func() map[rune]byte {
	alphabet := map[rune]byte{}
	next := rune(256)
	for c := range rune(256) {
		switch {
		case c >= '!' && c <= '~', c >= 0xA1 && c <= 0xAC, c >= 0xAE:
			alphabet[c] = byte(c)
		default:
			alphabet[next] = byte(c)
			next++
		}
	}
	return alphabet
}()

// fromByteLevel returns the bytes of a token. ok is false if a character is not in the alphabet.
func fromByteLevel(token string) (raw string, ok bool) {
	b := make([]byte, 0, len(token))
	for _, r := range token {
		c, ok := byteOf[r]
		if !ok {
			return token, false
		}
		b = append(b, c)
	}
	return string(b), true
}

// byteLevelSplit splits into words by the GPT-2 pattern. It does not rewrite the text in the byte-level alphabet;
// instead, the model's vocabulary is decoded to bytes.
type byteLevelSplit struct {
	component
	Prefix bool `json:"add_prefix_space"` // add a space before every piece without one
	Trim   bool `json:"trim_offsets"`     // for offsets only
	Regex  bool `json:"use_regex,omitempty"`
}

func (s *byteLevelSplit) apply(p *pass) {
	if s.Prefix {
		p.rewrite(func(piece []byte) {
			if piece[0] != ' ' {
				p.out = append(p.out, ' ')
			}
			p.out = append(p.out, piece...)
		})
	}
	if s.Regex {
		wordPattern(gpt2Word).apply(p)
	}
}
