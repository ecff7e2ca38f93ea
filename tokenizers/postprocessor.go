package tokenizers

import (
	"encoding/json"
	"fmt"
)

// parsePostProcessor reads the post-processor into a template.
func parsePostProcessor(raw json.RawMessage) (template, error) {
	if absent(raw) {
		return plain(), nil
	}
	name, err := kind(raw)
	if err != nil {
		return template{}, err
	}
	switch name {
	case "TemplateProcessing":
		return parseTemplate(raw)
	case "BertProcessing":
		return parseBertProcessing(raw)
	case "RobertaProcessing":
		return parseRobertaProcessing(raw)
	case "ByteLevel":
		t := plain()
		s := &byteLevelSplit{}
		err := strict(raw, s)
		t.trim, t.prefixed = s.Trim, s.Prefix
		return t, err
	case "Sequence":
		return parseProcessors(raw)
	}
	return template{}, unknown(name)
}

// templatePiece is one element of a TemplateProcessing: a text or a special token.
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

type templateToken struct {
	ID     string   `json:"id"`
	IDs    []int32  `json:"ids"`
	Tokens []string `json:"tokens"`
}

func parseTemplate(raw json.RawMessage) (template, error) {
	var c struct {
		head
		Single  []templatePiece          `json:"single"`
		Pair    []templatePiece          `json:"pair"`
		Special map[string]templateToken `json:"special_tokens"`
	}
	if err := strict(raw, &c); err != nil {
		return template{}, err
	}
	single, err := slots(c.Single, c.Special, "A")
	if err != nil {
		return template{}, fmt.Errorf("TemplateProcessing: single: %w", err)
	}
	pair, err := slots(c.Pair, c.Special, "AB")
	if err != nil {
		return template{}, fmt.Errorf("TemplateProcessing: pair: %w", err)
	}
	return template{single: single, pair: pair}, nil
}

// slots reads one template, in which each of the texts wanted must stand once.
func slots(pieces []templatePiece, special map[string]templateToken, wanted string) ([]slot, error) {
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
				out = append(out, slot{source: added, id: id, typeID: p.SpecialToken.Type})
			}
		default:
			return nil, fmt.Errorf("a piece is neither Sequence A or B nor SpecialToken")
		}
	}
	for i, n := range seen {
		if want := min(1, max(0, len(wanted)-i)); n != want {
			return nil, fmt.Errorf("sequence %c stands there %d times instead of %d", 'A'+i, n, want)
		}
	}
	return out, nil
}

// namedID is a token as BertProcessing and RobertaProcessing write it: ["[SEP]", 102].
type namedID struct {
	name string
	id   int32
}

func (n *namedID) UnmarshalJSON(b []byte) error { return fixed(b, &n.name, &n.id) }

// parseBertProcessing reads the older form of the template [CLS] A [SEP] B [SEP].
func parseBertProcessing(raw json.RawMessage) (template, error) {
	var c struct {
		head
		Sep namedID `json:"sep"`
		Cls namedID `json:"cls"`
	}
	err := strict(raw, &c)
	cls := slot{added, c.Cls.id, 0}
	sep := slot{added, c.Sep.id, 0}
	sep1 := slot{added, c.Sep.id, 1}
	return template{
		single: []slot{cls, {source: 0}, sep},
		pair:   []slot{cls, {source: 0}, sep, {source: 1, typeID: 1}, sep1},
	}, err
}

// parseRobertaProcessing reads the template <s> A </s></s> B </s>, in which every segment id is 0.
func parseRobertaProcessing(raw json.RawMessage) (template, error) {
	var c struct {
		head
		Sep    namedID `json:"sep"`
		Cls    namedID `json:"cls"`
		Trim   bool    `json:"trim_offsets"`
		Prefix bool    `json:"add_prefix_space"`
	}
	err := strict(raw, &c)
	cls := slot{source: added, id: c.Cls.id}
	sep := slot{source: added, id: c.Sep.id}
	return template{
		single: []slot{cls, {source: 0}, sep},
		pair:   []slot{cls, {source: 0}, sep, sep, {source: 1}, sep},
		trim:   c.Trim, prefixed: c.Prefix,
	}, err
}

// parseProcessors reads a sequence: one template, and ByteLevel, which only trims offsets, before it.
func parseProcessors(raw json.RawMessage) (template, error) {
	var c struct {
		head
		Parts []json.RawMessage `json:"processors"`
	}
	if err := strict(raw, &c); err != nil {
		return template{}, err
	}
	all := plain()
	for i, part := range c.Parts {
		name, err := kind(part)
		if err != nil {
			return template{}, err
		}
		t, err := parsePostProcessor(part)
		if err != nil {
			return template{}, err
		}
		if all.trim && t.trim || i+1 < len(c.Parts) && name != "ByteLevel" {
			return template{}, fmt.Errorf("Sequence: %s at place %d of %d is not known", name, i+1, len(c.Parts))
		}
		t.trim = t.trim || all.trim
		t.prefixed = t.prefixed || all.prefixed
		all = t
	}
	return all, nil
}
