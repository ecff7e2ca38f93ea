package tokenizers

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// parsePostProcessor reads the post-processor into a template.
func parsePostProcessor(raw json.RawMessage) (postProcessor, error) {
	if absent(raw) {
		return plain(), nil
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
		t := plain()
		s := &byteLevelSplit{}
		err := strict(raw, s)
		t.trim, t.prefixed = s.Trim, s.Prefix
		return t, err
	case "Sequence":
		return parseProcessors(raw)
	}
	return postProcessor{}, unknown(name)
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

func parseTemplate(raw json.RawMessage) (postProcessor, error) {
	var c struct {
		head
		Single  []templatePiece          `json:"single"`
		Pair    []templatePiece          `json:"pair"`
		Special map[string]templateToken `json:"special_tokens"`
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
func parseBertProcessing(raw json.RawMessage) (postProcessor, error) {
	var c struct {
		head
		Sep namedID `json:"sep"`
		Cls namedID `json:"cls"`
	}
	err := strict(raw, &c)
	cls := slot{added, c.Cls.id, 0}
	sep := slot{added, c.Sep.id, 0}
	sep1 := slot{added, c.Sep.id, 1}
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
	cls := slot{source: added, id: c.Cls.id}
	sep := slot{source: added, id: c.Sep.id}
	return postProcessor{
		single: []slot{cls, {source: 0}, sep},
		pair:   []slot{cls, {source: 0}, sep, sep, {source: 1}, sep},
		trim:   c.Trim, prefixed: c.Prefix,
	}, err
}

// parseProcessors reads a sequence: one template, and ByteLevel, which only trims offsets, before it.
func parseProcessors(raw json.RawMessage) (postProcessor, error) {
	var c struct {
		head
		Parts []json.RawMessage `json:"processors"`
	}
	if err := strict(raw, &c); err != nil {
		return postProcessor{}, err
	}
	all := plain()
	for i, part := range c.Parts {
		name, err := kind(part)
		if err != nil {
			return postProcessor{}, err
		}
		t, err := parsePostProcessor(part)
		if err != nil {
			return postProcessor{}, err
		}
		if all.trim && t.trim || i+1 < len(c.Parts) && name != "ByteLevel" {
			return postProcessor{}, fmt.Errorf("Sequence: %s at place %d of %d is not known", name, i+1, len(c.Parts))
		}
		t.trim = t.trim || all.trim
		t.prefixed = t.prefixed || all.prefixed
		all = t
	}
	return all, nil
}

// slot is a place in the finished encoding: a whole text, or one added token.
type slot struct {
	source int8 // 0 or 1 for a text, added for a token
	id     int32
	typeID int32
}

const added = -1

// template is what a post-processor does: where the texts go, and which tokens stand around them.
type postProcessor struct {
	single, pair []slot
	trim         bool // offsets leave out the white space at a token's ends
	prefixed     bool // but keep the space before the first word, which the pre-tokenizer put there
}

// plain puts one text after the other and adds nothing.
func plain() postProcessor {
	return postProcessor{single: []slot{{source: 0}}, pair: []slot{{source: 0}, {source: 1, typeID: 1}}}
}

func countAdded(slots []slot) int {
	n := 0
	for _, s := range slots {
		if s.source == added {
			n++
		}
	}
	return n
}

// clear empties the encoding and makes room for n tokens.
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

// trim takes the white space off both ends of the tokens' spans, as far as the tokens say they have any. A single space
// that begins the first token stays if the pre-tokenizer may have put it there. Spans shrink by characters of the
// input.
func (t *Tokenizer) trim(s *sequence) {
	for i, id := range s.ids {
		o := &s.spans[i]
		before, after := t.edges(id, s.input[o.Start:o.End])
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

// edge is how much white space a token has at its ends, in characters.
type edge struct{ before, after uint8 }

// edges looks a token of the model up; an added token is what it took out of the text.
func (t *Tokenizer) edges(id int32, taken string) (before, after uint8) {
	e := edge{}
	if t.added[id] != nil {
		e = edgeOf(taken)
	} else if int(id) < len(t.edgesOf) {
		e = t.edgesOf[id]
	}
	return e.before, e.after
}

func edgeOf(token string) edge {
	u := codepoints()
	white := func(r rune) bool { return r == byteAlphabet[' '] || u.is(r, isWhitespace) }
	count := func(cut string) uint8 {
		return uint8(min(255, utf8.RuneCountInString(token)-utf8.RuneCountInString(cut)))
	}
	return edge{count(strings.TrimLeftFunc(token, white)), count(strings.TrimRightFunc(token, white))}
}

// edgesOf makes the table of a model's tokens, by id.
func edgesOf(m model) []edge {
	var table []edge
	for id, left := int32(0), m.size(); left > 0 && id <= maxID; id++ {
		e := edge{}
		if token, ok := m.token(id); ok {
			e = edgeOf(token)
			left--
		}
		table = append(table, e)
	}
	return table
}
