package tokenizers

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

// parseNormalizer reads the normalizer, the stages that rewrite the text before it is split.
func parseNormalizer(raw json.RawMessage) ([]stage, error) {
	if isAbsent(raw) {
		return nil, nil
	}
	name, err := componentType(raw)
	if err != nil {
		return nil, err
	}
	if st, ok := plainNormalizers[name]; ok {
		return []stage{st}, decodeComponent(raw, &component{})
	}
	switch name {
	case "Sequence":
		return parseSequence(raw, "normalizers", parseNormalizer)
	case "BertNormalizer":
		n := &bertNormalizer{}
		err := decodeComponent(raw, n)
		n.prepare()
		return []stage{n}, err
	case "Strip":
		n := &strip{}
		return []stage{n}, decodeComponent(raw, n)
	case "Prepend":
		n := &prepend{}
		return []stage{n}, decodeComponent(raw, n)
	case "Replace":
		n, err := parseReplace(raw)
		return []stage{n}, err
	case "Precompiled":
		n, err := parsePrecompiled(raw)
		return []stage{n}, err
	}
	return nil, unsupported(name)
}

// plainNormalizers have no options.
var plainNormalizers = map[string]stage{
	"NFC":          normalForm{composed: true},
	"NFD":          normalForm{},
	"NFKC":         normalForm{composed: true, compatible: true},
	"NFKD":         normalForm{compatible: true},
	"Lowercase":    eachChar(lowercase),
	"StripAccents": eachChar(stripAccent),
	"Nmt":          eachChar(nmt),
}

// normalForm is a Unicode normalization form.
type normalForm struct{ composed, compatible bool }

func (n normalForm) apply(p *pass) {
	p.rewrite(func(piece []byte) {
		if isASCII(piece) {
			p.out = append(p.out, piece...)
			return
		}
		for _, c := range p.normalForm(piece, n.compatible, n.composed) {
			p.out = utf8.AppendRune(p.out, c.r)
		}
	})
}

func isASCII(b []byte) bool {
	for _, c := range b {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// eachChar rewrites each character by itself: it appends the new form to out.
type eachChar func(u *unicodeData, out []byte, r rune) []byte

func (f eachChar) apply(p *pass) {
	u := codepoints()
	p.rewrite(func(piece []byte) {
		for len(piece) > 0 {
			r, size := utf8.DecodeRune(piece)
			p.out = f(u, p.out, r)
			if len(p.out) == 0 {
				p.startDropped = true
			}
			piece = piece[size:]
		}
	})
}

func lowercase(u *unicodeData, out []byte, r rune) []byte {
	if !u.is(r, hasLower) {
		return utf8.AppendRune(out, r)
	}
	for _, lower := range u.lower[r] {
		out = utf8.AppendRune(out, lower)
	}
	return out
}

func stripAccent(u *unicodeData, out []byte, r rune) []byte {
	if u.is(r, isCombining) {
		return out
	}
	return utf8.AppendRune(out, r)
}

// nmt applies sentencepiece's nmt rules: it drops control characters and replaces unusual ones with spaces.
func nmt(_ *unicodeData, out []byte, r rune) []byte {
	switch {
	case r >= 1 && r <= 8, r == 0xB, r >= 0xE && r <= 0x1F, r == 0x7F, r == 0x8F, r == 0x9F:
		return out
	case r == '\t', r == '\n', r == '\f', r == '\r', r == 0x1680, r >= 0x200B && r <= 0x200F, r == 0x2028, r == 0x2029,
		r == 0x2581, r == 0xFEFF, r == 0xFFFD:
		return append(out, ' ')
	}
	return utf8.AppendRune(out, r)
}

// strip removes white space from the ends.
type strip struct {
	component
	Left  bool `json:"strip_left"`
	Right bool `json:"strip_right"`
}

func (n *strip) apply(p *pass) {
	isSpace := func(r rune) bool { return codepoints().is(r, isWhitespace) }
	p.rewrite(func(piece []byte) {
		stripped := piece
		if n.Left {
			stripped = bytes.TrimLeftFunc(stripped, isSpace)
		}
		if len(p.out) == 0 && len(stripped) < len(piece) {
			p.startDropped = true
		}
		if n.Right {
			stripped = bytes.TrimRightFunc(stripped, isSpace)
		}
		p.out = append(p.out, stripped...)
	})
}

// prepend puts a text before each piece.
type prepend struct {
	component
	Text string `json:"prepend"`
}

func (n *prepend) apply(p *pass) {
	p.rewrite(func(piece []byte) {
		p.out = append(p.out, n.Text...)
		p.out = append(p.out, piece...)
	})
}

// pattern is what Replace and Split search for: {"String": …} or {"Regex": …}.
type pattern struct {
	String *string `json:"String,omitempty"`
	Regex  *string `json:"Regex,omitempty"`
}

// replace replaces what match finds.
type replace struct {
	match   func([]byte) int // returns the length of the match at the start, or 0
	content string
}

// patterns are the supported regular expressions of Replace, which sentencepiece-like tokenizers use.
var patterns = map[string]func([]byte) int{
	" {2,}":               matchSpaces,
	"\\s{2,}|[\\n\\r\\t]": matchWhitespace, // DeBERTa-v2
}

// matchSpaces matches two or more spaces.
func matchSpaces(b []byte) int {
	run := len(b) - len(bytes.TrimLeft(b, " "))
	if run < 2 {
		return 0
	}
	return run
}

// matchWhitespace matches two or more characters of white space, or one newline, carriage return or tab.
func matchWhitespace(b []byte) int {
	isSpace := func(r rune) bool { return codepoints().is(r, isWhitespace) }
	run := len(b) - len(bytes.TrimLeftFunc(b, isSpace))
	if utf8.RuneCount(b[:run]) > 1 || run == 1 && b[0] != ' ' && b[0] != '\v' && b[0] != '\f' {
		return run
	}
	return 0
}

func parseReplace(raw json.RawMessage) (*replace, error) {
	var c struct {
		component
		Pattern pattern `json:"pattern"`
		Content string  `json:"content"`
	}
	if err := decodeComponent(raw, &c); err != nil {
		return nil, err
	}
	switch {
	case c.Pattern.String != nil && *c.Pattern.String != "":
		old := []byte(*c.Pattern.String)
		match := func(b []byte) int {
			if bytes.HasPrefix(b, old) {
				return len(old)
			}
			return 0
		}
		return &replace{match: match, content: c.Content}, nil
	case c.Pattern.Regex != nil:
		if match, ok := patterns[*c.Pattern.Regex]; ok {
			return &replace{match: match, content: c.Content}, nil
		}
		return nil, fmt.Errorf("Replace: regular expression %q is not supported", *c.Pattern.Regex)
	}
	return nil, errors.New("Replace: pattern is empty")
}

// apply replaces matches. As in the reference, the new text stands for the last character that it replaces.
func (n *replace) apply(p *pass) {
	p.rewrite(func(piece []byte) {
		for len(piece) > 0 {
			size := n.match(piece)
			if size == 0 {
				p.out = append(p.out, piece[0])
				piece = piece[1:]
				continue
			}
			if len(p.out) == 0 && (n.content == "" || utf8.RuneCount(piece[:size]) > 1) {
				p.startDropped = true
			}
			p.out = append(p.out, n.content...)
			piece = piece[size:]
		}
	})
}
