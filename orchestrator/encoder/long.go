package encoder

import (
	"strings"
	"unicode/utf8"

	"retort/tokenizers"
)

// longText is how many bytes of a text are tokenized at once. Tokenizing takes fifty times as much memory, and no model
// reads so much: 512 tokens have two thousand bytes each to be in it.
const longText = 1 << 20

// Encode makes a row of a text. Of one above longText, the end that is cut away by truncation is not looked at; where
// it would be refused, its tokens are counted piece by piece.
func (e *Encoder) Encode(text string, o tokenizers.Options) (*tokenizers.Encoding, error) {
	if len(text) > longText {
		if o.Strategy == tokenizers.Refuse {
			return e.refuse(text, "", o)
		}
		text = shorten(text, o.Direction)
	}
	return e.Tokenizer.Encode(text, o)
}

// EncodePair is Encode for a pair of texts, of which only the second is cut.
func (e *Encoder) EncodePair(first, second string, o tokenizers.Options) (*tokenizers.Encoding, error) {
	if len(first) > longText || len(second) > longText && o.Strategy == tokenizers.Refuse {
		return e.refuse(first, second, o)
	}
	if len(second) > longText {
		second = shorten(second, o.Direction)
	}
	return e.Tokenizer.EncodePair(first, second, o)
}

// shorten keeps longText bytes of a text, up to a space where there is one.
func shorten(text string, direction tokenizers.Direction) string {
	if direction == tokenizers.Left {
		rest := text[len(text)-longText:]
		for len(rest) > 0 && !utf8.RuneStart(rest[0]) {
			rest = rest[1:]
		}
		if _, after, found := strings.Cut(rest, " "); found {
			return after
		}
		return rest
	}
	rest := text[:longText]
	for len(rest) > 0 && !utf8.RuneStart(text[len(rest)]) {
		rest = rest[:len(rest)-1]
	}
	if space := strings.LastIndexByte(rest, ' '); space > 0 {
		return rest[:space]
	}
	return rest
}

// refuse returns the LengthError of texts of which one is long, or their row where they turn out to have few tokens.
func (e *Encoder) refuse(first, second string, o tokenizers.Options) (*tokenizers.Encoding, error) {
	empty, err := e.Tokenizer.EncodePair("", "", tokenizers.Options{})
	if err != nil {
		return nil, err
	}
	single, err := e.Tokenizer.Encode("", tokenizers.Options{})
	if err != nil {
		return nil, err
	}
	length := len(single.IDs)
	if second != "" {
		length = len(empty.IDs)
	}
	for _, text := range []string{first, second} {
		tokens, err := e.count(text, len(single.IDs))
		if err != nil {
			return nil, err
		}
		length += tokens
	}
	if length > o.MaxLength {
		return nil, &tokenizers.LengthError{Length: length, Max: o.MaxLength}
	}
	if second != "" {
		return e.Tokenizer.EncodePair(first, second, o)
	}
	return e.Tokenizer.Encode(first, o)
}

// count is the number of tokens of a text without the special ones, of which every row has so many.
func (e *Encoder) count(text string, special int) (int, error) {
	const piece = 64 << 10
	total := 0
	for len(text) > 0 {
		end := min(piece, len(text))
		if end < len(text) {
			if space := strings.LastIndexByte(text[:end], ' '); space > 0 {
				end = space
			}
			for end < len(text) && !utf8.RuneStart(text[end]) {
				end++
			}
		}
		row, err := e.Tokenizer.Encode(text[:end], tokenizers.Options{})
		if err != nil {
			return 0, err
		}
		total += len(row.IDs) - special
		text = text[end:]
	}
	return total, nil
}
