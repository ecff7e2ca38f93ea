package tokenizers

import (
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

// parseNormalizer reads the normalizer, the stages that rewrite the text before it is split.
func parseNormalizer(raw json.RawMessage) ([]stage, error) {
	if absent(raw) {
		return nil, nil
	}
	name, err := kind(raw)
	if err != nil {
		return nil, err
	}
	if st, ok := plainNormalizers[name]; ok {
		return []stage{st}, strict(raw, &head{})
	}
	switch name {
	case "Sequence":
		return parseSequence(raw, "normalizers", parseNormalizer)
	case "BertNormalizer":
		n := &bertNormalizer{}
		err := strict(raw, n)
		n.prepare()
		return []stage{n}, err
	case "Strip":
		n := &strip{}
		return []stage{n}, strict(raw, n)
	case "Prepend":
		n := &prepend{}
		return []stage{n}, strict(raw, n)
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
	p.rewrite(func(lo, hi int32) {
		if isASCII(p.text.b[lo:hi]) {
			p.out.appendText(&p.text, lo, hi)
			return
		}
		p.appendChars(p.normalForm(p.decodeChars(lo, hi), n.compatible, n.composed))
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

// eachChar rewrites each character by itself.
type eachChar func(u *unicodeData, out *text, c char)

func (f eachChar) apply(p *pass) {
	u := codepoints()
	p.rewrite(func(lo, hi int32) {
		for i := lo; i < hi; {
			r, n := utf8.DecodeRune(p.text.b[i:hi])
			f(u, &p.out, char{r, p.text.from[i]})
			i += int32(n)
		}
	})
}

func lowercase(u *unicodeData, out *text, c char) {
	if !u.is(c.r, hasLower) {
		out.appendRune(c.r, c.from)
		return
	}
	for _, r := range u.lower[c.r] {
		out.appendRune(r, c.from)
	}
}

func stripAccent(u *unicodeData, out *text, c char) {
	if !u.is(c.r, isCombining) {
		out.appendRune(c.r, c.from)
	}
}

// nmt applies sentencepiece's nmt rules: it drops control characters and replaces unusual ones with spaces.
func nmt(_ *unicodeData, out *text, c char) {
	switch r := c.r; {
	case r >= 1 && r <= 8, r == 0xB, r >= 0xE && r <= 0x1F, r == 0x7F, r == 0x8F, r == 0x9F:
	case r == '\t', r == '\n', r == '\f', r == '\r', r == 0x1680, r >= 0x200B && r <= 0x200F, r == 0x2028, r == 0x2029,
		r == 0x2581, r == 0xFEFF, r == 0xFFFD:
		out.appendByte(' ', c.from)
	default:
		out.appendRune(r, c.from)
	}
}

// strip removes white space from the ends.
type strip struct {
	head
	Left  bool `json:"strip_left"`
	Right bool `json:"strip_right"`
}

func (n *strip) apply(p *pass) {
	u := codepoints()
	p.rewrite(func(lo, hi int32) {
		for n.Left && lo < hi {
			r, size := utf8.DecodeRune(p.text.b[lo:hi])
			if !u.is(r, isWhitespace) {
				break
			}
			lo += int32(size)
		}
		for n.Right && lo < hi {
			r, size := utf8.DecodeLastRune(p.text.b[lo:hi])
			if !u.is(r, isWhitespace) {
				break
			}
			hi -= int32(size)
		}
		p.out.appendText(&p.text, lo, hi)
	})
}

// prepend puts a text before each piece. It stands for the same input bytes as the first character.
type prepend struct {
	head
	Text string `json:"prepend"`
}

func (n *prepend) apply(p *pass) {
	p.rewrite(func(lo, hi int32) {
		if lo < hi {
			p.out.appendString(n.Text, p.text.from[lo])
			p.out.appendText(&p.text, lo, hi)
		}
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
		head
		Pattern pattern `json:"pattern"`
		Content string  `json:"content"`
	}
	if err := strict(raw, &c); err != nil {
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
func (n *replace) match(b []byte) int32 {
	if !n.spaces {
		if len(b) >= len(n.old) && string(b[:len(n.old)]) == n.old {
			return int32(len(n.old))
		}
		return 0
	}
	run := 0
	for run < len(b) && b[run] == ' ' {
		run++
	}
	if run < 2 {
		return 0
	}
	return int32(run)
}

// apply replaces matches. The new text stands for the input bytes of the last character that it replaces.
func (n *replace) apply(p *pass) {
	p.rewrite(func(lo, hi int32) {
		for i := lo; i < hi; {
			size := n.match(p.text.b[i:hi])
			if size == 0 {
				p.out.appendText(&p.text, i, i+1)
				i++
				continue
			}
			i += size
			p.out.appendString(n.content, p.text.from[i-1])
		}
	})
}
