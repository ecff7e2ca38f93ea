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

// replace replaces a text, or each run of two or more spaces.
type replace struct {
	old, content string
	spaces       bool
}

// twoSpaces is the only supported regular expression; sentencepiece-like tokenizers use it.
const twoSpaces = " {2,}"

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
		return &replace{old: *c.Pattern.String, content: c.Content}, nil
	case c.Pattern.Regex != nil && *c.Pattern.Regex == twoSpaces:
		return &replace{spaces: true, content: c.Content}, nil
	case c.Pattern.Regex != nil:
		return nil, fmt.Errorf("Replace: regular expression %q is not supported", *c.Pattern.Regex)
	}
	return nil, errors.New("Replace: pattern is empty")
}

// match returns the length of the match at the start of b, or 0.
func (n *replace) match(b []byte) int {
	if !n.spaces {
		if len(b) >= len(n.old) && string(b[:len(n.old)]) == n.old {
			return len(n.old)
		}
		return 0
	}
	run := len(b) - len(bytes.TrimLeft(b, " "))
	if run < 2 {
		return 0
	}
	return run
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
