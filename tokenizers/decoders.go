package tokenizers

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// byteFallbackDecoder puts runs of <0x..> tokens together; a run that is not UTF-8 becomes as many U+FFFD.
type byteFallbackDecoder struct{}

func (byteFallbackDecoder) decode(tokens []string) []string {
	var out []string
	var run []byte
	flush := func() {
		switch {
		case len(run) == 0:
		case utf8.Valid(run):
			out = append(out, string(run))
		default:
			out = append(out, strings.Repeat("\uFFFD", len(run)))
		}
		run = run[:0]
	}
	for _, t := range tokens {
		if len(t) == 6 && strings.HasPrefix(t, "<0x") && t[5] == '>' {
			if c, err := strconv.ParseUint(t[3:5], 16, 8); err == nil {
				run = append(run, byte(c))
				continue
			}
		}
		flush()
		out = append(out, t)
	}
	flush()
	return out
}

// fuseDecoder makes one text of all tokens.
type fuseDecoder struct{}

func (fuseDecoder) decode(tokens []string) []string { return []string{strings.Join(tokens, "")} }

// stripDecoder takes at most so many of a character off each end of every token.
type stripDecoder struct {
	head
	Content string `json:"content"`
	Start   int    `json:"start"`
	Stop    int    `json:"stop"`
}

func (d *stripDecoder) decode(tokens []string) []string {
	for i, t := range tokens {
		for range d.Start {
			t = strings.TrimPrefix(t, d.Content)
		}
		for range d.Stop {
			t = strings.TrimSuffix(t, d.Content)
		}
		tokens[i] = t
	}
	return tokens
}

// metaspaceDecoder writes the visible character as a space, and leaves it out of the first token where it was put in
// front.
type metaspaceDecoder struct {
	replacement string
	prefixed    bool
}

func (d *metaspaceDecoder) decode(tokens []string) []string {
	for i, t := range tokens {
		to := " "
		if i == 0 && d.prefixed {
			to = ""
		}
		tokens[i] = strings.ReplaceAll(t, d.replacement, to)
	}
	return tokens
}

// replaceDecoder puts one text in the place of another in every token.
type replaceDecoder struct{ *replace }

func (d *replaceDecoder) decode(tokens []string) []string {
	for i, t := range tokens {
		tokens[i] = strings.ReplaceAll(t, d.old, d.content)
	}
	return tokens
}
