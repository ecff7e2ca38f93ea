package tokenizers

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// parsePostProcessor reads the post-processor.
func parsePostProcessor(raw json.RawMessage) (postProcessor, error) {
	if absent(raw) {
		return plainPostProcessor(), nil
	}
	name, err := kind(raw)
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
		t := plainPostProcessor()
		s := &byteLevelSplit{}
		err := strict(raw, s)
		t.trim = s.Trim
		t.prefixed = s.Prefix
		return t, err
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
		head
		Single  []templatePiece         `json:"single"`
		Pair    []templatePiece         `json:"pair"`
		Special map[string]specialToken `json:"special_tokens"`
	}
	if err := strict(raw, &c); err != nil {
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
		head
		Sep namedID `json:"sep"`
		Cls namedID `json:"cls"`
	}
	err := strict(raw, &c)
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
		head
		Sep    namedID `json:"sep"`
		Cls    namedID `json:"cls"`
		Trim   bool    `json:"trim_offsets"`
		Prefix bool    `json:"add_prefix_space"`
	}
	err := strict(raw, &c)
	cls := slot{source: specialSource, id: c.Cls.id}
	sep := slot{source: specialSource, id: c.Sep.id}
	return postProcessor{
		single: []slot{cls, {source: 0}, sep},
		pair:   []slot{cls, {source: 0}, sep, sep, {source: 1}, sep},
		trim:   c.Trim, prefixed: c.Prefix,
	}, err
}

// parseProcessors reads a Sequence: a template, which may have a ByteLevel before it that only trims offsets.
func parseProcessors(raw json.RawMessage) (postProcessor, error) {
	parts, err := sequenceParts(raw, "processors")
	if err != nil {
		return postProcessor{}, err
	}
	all := plainPostProcessor()
	for i, part := range parts {
		name, err := kind(part)
		if err != nil {
			return postProcessor{}, err
		}
		t, err := parsePostProcessor(part)
		if err != nil {
			return postProcessor{}, err
		}
		if all.trim && t.trim || i+1 < len(parts) && name != "ByteLevel" {
			return postProcessor{}, fmt.Errorf("Sequence: %s as processor %d of %d is not supported",
				name, i+1, len(parts))
		}
		t.trim = t.trim || all.trim
		t.prefixed = t.prefixed || all.prefixed
		all = t
	}
	return all, nil
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
	trim         bool // offsets do not include white space at the ends of tokens
	prefixed     bool // but include the space before the first word, which the pre-tokenizer adds
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

// clear empties the encoding and allocates memory for n tokens.
func (e *Encoding) clear(n int) {
	e.IDs = slices.Grow(e.IDs[:0], n)
	e.TypeIDs = slices.Grow(e.TypeIDs[:0], n)
	e.Offsets = slices.Grow(e.Offsets[:0], n)
	e.Source = slices.Grow(e.Source[:0], n)
}

func (e *Encoding) push(id, typeID int32, from Span, source int8) {
	e.IDs = append(e.IDs, id)
	e.TypeIDs = append(e.TypeIDs, typeID)
	e.Offsets = append(e.Offsets, from)
	e.Source = append(e.Source, source)
}

func (e *Encoding) text(s slot, of sequence) {
	e.IDs = append(e.IDs, of.ids...)
	e.Offsets = append(e.Offsets, of.spans...)
	for range of.ids {
		e.TypeIDs = append(e.TypeIDs, s.typeID)
		e.Source = append(e.Source, s.source)
	}
}

// trim removes white space from both ends of spans: as many characters of the input as the token has there. A single
// space at the start of the first token stays if the pre-tokenizer may have added it.
func (t *Tokenizer) trim(s *sequence) {
	for i, id := range s.ids {
		o := &s.spans[i]
		before, after := t.marginsAt(id, s.input[o.Start:o.End])
		if (i == 0 || o.Start == 0) && t.post.prefixed && before == 1 {
			before = 0
		}
		end := o.End
		for ; before > 0 && o.Start < end; before-- {
			_, n := utf8.DecodeRuneInString(s.input[o.Start:])
			o.Start += int32(n)
		}
		for ; after > 0 && o.End > o.Start; after-- {
			_, n := utf8.DecodeLastRuneInString(s.input[:o.End])
			o.End -= int32(n)
		}
	}
}

// margin is the amount of white space at the ends of a token, in characters.
type margin struct{ before, after uint8 }

// marginsAt looks up a token of the model. The text of an added token is what it matched.
func (t *Tokenizer) marginsAt(id int32, matched string) (before, after uint8) {
	e := margin{}
	if t.added[id] != nil {
		e = marginOf(matched)
	} else if int(id) < len(t.margins) {
		e = t.margins[id]
	}
	return e.before, e.after
}

func marginOf(token string) margin {
	u := codepoints()
	isSpace := func(r rune) bool { return r == byteAlphabet[' '] || u.is(r, isWhitespace) }
	count := func(cut string) uint8 {
		return uint8(min(255, utf8.RuneCountInString(token)-utf8.RuneCountInString(cut)))
	}
	return margin{count(strings.TrimLeftFunc(token, isSpace)), count(strings.TrimRightFunc(token, isSpace))}
}

// marginsOf returns the margins of a model's tokens by id.
func marginsOf(m model) []margin {
	var table []margin
	for id, remaining := int32(0), m.size(); remaining > 0 && id <= maxID; id++ {
		e := margin{}
		if token, ok := m.token(id); ok {
			e = marginOf(token)
			remaining--
		}
		table = append(table, e)
	}
	return table
}
