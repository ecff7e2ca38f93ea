package tokenizers

import (
	"encoding/json"
	"errors"
	"fmt"
)

// pattern is what Replace and Split look for: {"String": …} or {"Regex": …}.
type pattern struct {
	String *string `json:"String,omitempty"`
	Regex  *string `json:"Regex,omitempty"`
}

// replace puts one text in the place of another, or of each run of two and more spaces.
type replace struct {
	old, content string
	spaces       bool
}

// twoSpaces is the one regular expression that sentencepiece-like tokenisers replace.
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
		return nil, fmt.Errorf("Replace: regular expression %q is not known", *c.Pattern.Regex)
	}
	return nil, errors.New("Replace: pattern is empty")
}

// match is the length of what is replaced at the start of b, or 0.
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

// apply gives the new text the input bytes of the last character that it replaces.
func (n *replace) apply(p *pass) {
	p.rewrite(func(lo, hi int32) {
		for i := lo; i < hi; {
			size := n.match(p.text.b[i:hi])
			if size == 0 {
				p.out.copyOf(&p.text, i, i+1)
				i++
				continue
			}
			i += size
			p.out.stringAt(n.content, p.text.from[i-1])
		}
	})
}
