package tokenizers

import (
	"encoding/json"
	"fmt"
)

// parsePostProcessor reads the post-processor.
func parsePostProcessor(raw json.RawMessage) (postProcessor, error) {
	if isAbsent(raw) {
		return plainPostProcessor(), nil
	}
	name, err := componentType(raw)
	if err != nil {
		return postProcessor{}, err
	}
	switch name {
	case "TemplateProcessing":
		return parseTemplate(raw)
	case "BertProcessing":
		return parseBertProcessing(raw)
	case "RobertaProcessing":
		return parseRobertaProcessing(raw)
	case "ByteLevel":
		var c byteLevelSplit
		err := decodeComponent(raw, &c)
		plain := plainPostProcessor()
		plain.trim, plain.prefixed = c.Trim, c.Prefix
		return plain, err
	case "Sequence":
		return parseProcessors(raw)
	}
	return postProcessor{}, unsupported(name)
}

// templatePiece is an element of a TemplateProcessing: a text or a special token.
type templatePiece struct {
	Sequence *struct {
		ID   string `json:"id"`
		Type int32  `json:"type_id"`
	} `json:"Sequence"`
	SpecialToken *struct {
		ID   string `json:"id"`
		Type int32  `json:"type_id"`
	} `json:"SpecialToken"`
}

type specialToken struct {
	ID     string   `json:"id"`
	IDs    []int32  `json:"ids"`
	Tokens []string `json:"tokens"`
}

func parseTemplate(raw json.RawMessage) (postProcessor, error) {
	var c struct {
		component
		Single  []templatePiece         `json:"single"`
		Pair    []templatePiece         `json:"pair"`
		Special map[string]specialToken `json:"special_tokens"`
	}
	if err := decodeComponent(raw, &c); err != nil {
		return postProcessor{}, err
	}
	single, err := slots(c.Single, c.Special, "A")
	if err != nil {
		return postProcessor{}, fmt.Errorf("TemplateProcessing: single: %w", err)
	}
	pair, err := slots(c.Pair, c.Special, "AB")
	if err != nil {
		return postProcessor{}, fmt.Errorf("TemplateProcessing: pair: %w", err)
	}
	return postProcessor{single: single, pair: pair}, nil
}

// slots reads a template. Each of the texts, "A" or "AB", must occur once.
func slots(pieces []templatePiece, special map[string]specialToken, texts string) ([]slot, error) {
	var out []slot
	seen := [2]int{}
	for _, p := range pieces {
		switch {
		case p.Sequence != nil && (p.Sequence.ID == "A" || p.Sequence.ID == "B"):
			i := int8(p.Sequence.ID[0] - 'A')
			seen[i]++
			out = append(out, slot{source: i, typeID: p.Sequence.Type})
		case p.SpecialToken != nil:
			token, ok := special[p.SpecialToken.ID]
			if !ok {
				return nil, fmt.Errorf("special token %q is not defined", p.SpecialToken.ID)
			}
			for _, id := range token.IDs {
				out = append(out, slot{source: specialSource, id: id, typeID: p.SpecialToken.Type})
			}
		default:
			return nil, fmt.Errorf("a piece is neither Sequence A or B nor SpecialToken")
		}
	}
	for i, n := range seen {
		if want := min(1, max(0, len(texts)-i)); n != want {
			return nil, fmt.Errorf("sequence %c occurs %d times, not %d", 'A'+i, n, want)
		}
	}
	return out, nil
}

// namedID is a token of BertProcessing and RobertaProcessing: ["[SEP]", 102].
type namedID struct {
	name string
	id   int32
}

func (n *namedID) UnmarshalJSON(b []byte) error { return parseTuple(b, &n.name, &n.id) }

// parseBertProcessing reads the older form of the template [CLS] A [SEP] B [SEP].
func parseBertProcessing(raw json.RawMessage) (postProcessor, error) {
	var c struct {
		component
		Sep namedID `json:"sep"`
		Cls namedID `json:"cls"`
	}
	err := decodeComponent(raw, &c)
	cls := slot{specialSource, c.Cls.id, 0}
	sep := slot{specialSource, c.Sep.id, 0}
	sep1 := slot{specialSource, c.Sep.id, 1}
	return postProcessor{
		single: []slot{cls, {source: 0}, sep},
		pair:   []slot{cls, {source: 0}, sep, {source: 1, typeID: 1}, sep1},
	}, err
}

// parseRobertaProcessing reads the template <s> A </s></s> B </s>, in which every segment id is 0.
func parseRobertaProcessing(raw json.RawMessage) (postProcessor, error) {
	var c struct {
		component
		Sep    namedID `json:"sep"`
		Cls    namedID `json:"cls"`
		Trim   bool    `json:"trim_offsets"`
		Prefix bool    `json:"add_prefix_space"`
	}
	err := decodeComponent(raw, &c)
	cls := slot{source: specialSource, id: c.Cls.id}
	sep := slot{source: specialSource, id: c.Sep.id}
	return postProcessor{
		single:   []slot{cls, {source: 0}, sep},
		pair:     []slot{cls, {source: 0}, sep, sep, {source: 1}, sep},
		trim:     c.Trim,
		prefixed: c.Prefix,
	}, err
}

// parseProcessors reads a Sequence: a template, which may have a ByteLevel before it that only trims offsets.
func parseProcessors(raw json.RawMessage) (postProcessor, error) {
	parts, err := sequenceParts(raw, "processors")
	if err != nil {
		return postProcessor{}, err
	}
	last := plainPostProcessor()
	for i, part := range parts {
		name, err := componentType(part)
		if err != nil {
			return postProcessor{}, err
		}
		if i+1 < len(parts) && name != "ByteLevel" {
			return postProcessor{}, fmt.Errorf("Sequence: %s as processor %d of %d is not supported",
				name, i+1, len(parts))
		}
		trim, prefixed := last.trim, last.prefixed
		if last, err = parsePostProcessor(part); err != nil {
			return postProcessor{}, err
		}
		if trim && !last.trim {
			last.trim, last.prefixed = trim, prefixed
		}
	}
	return last, nil
}

// slot is a part of the encoding: a text or a special token.
type slot struct {
	source int8 // 0 or 1 for a text, or specialSource
	id     int32
	typeID int32
}

const specialSource = -1

// postProcessor is the layout of encodings: texts and special tokens in order.
type postProcessor struct {
	single, pair []slot
	trim         bool // places of tokens leave out spaces at their ends
	prefixed     bool // the space before the first text is none of its own
}

// plainPostProcessor adds no special tokens.
func plainPostProcessor() postProcessor {
	return postProcessor{single: []slot{{source: 0}}, pair: []slot{{source: 0}, {source: 1, typeID: 1}}}
}

func countSpecial(slots []slot) int {
	n := 0
	for _, s := range slots {
		if s.source == specialSource {
			n++
		}
	}
	return n
}
