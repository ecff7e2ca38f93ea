package tokenizers

import (
	"encoding/json"
	"regexp"
)

// safePattern matches the symbols of a SAFE string (safe/tokenizer.py of datamol-io/safe, SAFESplitter). What is
// between them is dropped.
const safePattern = `(\[[^\]]+]|Br?|Cl?|N|O|S|P|F|I|b|c|n|o|s|p|` +
	`\(|\)|\.|=|#|-|\+|\\|\/|:|~|@|\?|>>?|\*|\$|\%[0-9]{2}|[0-9])`

// SAFEPreTokenizer is the section pre_tokenizer of a tokenizer.json for SAFE strings.
var SAFEPreTokenizer = json.RawMessage(func() []byte {
	text, err := json.Marshal(map[string]any{
		"type": "Split", "pattern": map[string]string{"Regex": safePattern}, "behavior": "Removed", "invert": true,
	})
	if err != nil {
		panic(err) // the value is constant
	}
	return text
}())

var safeSymbol = regexp.MustCompile(safePattern)

// safeSplit keeps the symbols of SAFE strings.
type safeSplit struct{}

func (safeSplit) apply(p *pass) {
	p.split(func(lo, hi int32) {
		for _, at := range safeSymbol.FindAllIndex(p.text[lo:hi], -1) {
			p.cut(lo+int32(at[0]), lo+int32(at[1]))
		}
	})
}
