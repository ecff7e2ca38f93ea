package ranking

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"retort/orchestrator/encoder"
	"retort/tokenizers"
)

// Placeholders of a pair template.
const (
	queryMark   = "{query}"
	passageMark = "{passage}"
)

// PairTemplate is the text of a query and a passage for models that read a pair as one text: rankers made of language
// models. Special tokens in the template are recognized, and so are those in the texts of clients, as in the published
// code.
type PairTemplate struct {
	start, middle string // before the query, and between query and passage
	// end are the tokens after the passage. They are tokenized by themselves, so that they are never truncated.
	end []int32
}

// ParsePairTemplate reads the parameter pair_template.
func ParsePairTemplate(text string, t *tokenizers.Tokenizer) (*PairTemplate, error) {
	if strings.Count(text, queryMark) != 1 || strings.Count(text, passageMark) != 1 {
		return nil, fmt.Errorf("it must have %s and %s once each, not %q", queryMark, passageMark, text)
	}
	start, rest, _ := strings.Cut(text, queryMark)
	middle, end, ok := strings.Cut(rest, passageMark)
	if !ok {
		return nil, fmt.Errorf("%s must be before %s", queryMark, passageMark)
	}
	p := &PairTemplate{start: start, middle: middle}
	if end == "" {
		return p, nil
	}
	var rows [3]*tokenizers.Encoding
	for i, text := range []string{"", "a", end} {
		row, err := t.Encode(text, tokenizers.Options{})
		if err != nil {
			return nil, err
		}
		rows[i] = row
	}
	special := len(rows[0].IDs)
	if special > 0 && rows[0].IDs[special-1] == rows[1].IDs[len(rows[1].IDs)-1] {
		return nil, errors.New("the tokenizer puts a special token after each text, so the template must end with " +
			passageMark)
	}
	p.end = rows[2].IDs[special:]
	return p, nil
}

// Encode tokenizes a pair. Only the passage is truncated.
func (p *PairTemplate) Encode(
	e *encoder.Encoder, query, passage string, o tokenizers.Options,
) (*tokenizers.Encoding, error) {
	limit := o.MaxLength
	o.MaxLength -= len(p.end)
	head := p.start + query + p.middle
	if o.Strategy == tokenizers.OnlySecond {
		alone := tokenizers.Options{MaxLength: o.MaxLength, Strategy: tokenizers.Refuse}
		if passage != "" {
			alone.MaxLength-- // of which at least one token must be left
		}
		if _, err := e.Encode(head, alone); err != nil {
			return nil, p.withEnd(err, limit)
		}
		o.Strategy = tokenizers.OnlyFirst
	}
	row, err := e.Encode(head+passage, o)
	if err != nil {
		return nil, p.withEnd(err, limit)
	}
	p.addEnd(row)
	return row, nil
}

// EncodeChunks tokenizes a pair in rows that overlap in the passage. Each has the text of the template and the whole
// query. cut reports whether passage tokens beyond o.MostTokens were left out.
func (p *PairTemplate) EncodeChunks(
	e *encoder.Encoder, query, passage string, o encoder.ChunkOptions,
) (chunks []tokenizers.Chunk, cut bool, err error) {
	o.Reserved = len(p.end)
	chunks, cut, err = e.EncodeChunksWithin(p.start+query+p.middle, passage, o)
	if err != nil {
		return nil, false, p.withEnd(err, e.MaxTokens)
	}
	for _, chunk := range chunks {
		p.addEnd(chunk.Encoding)
	}
	return chunks, cut, nil
}

// addEnd adds the tokens after the passage to a row.
func (p *PairTemplate) addEnd(row *tokenizers.Encoding) {
	row.IDs = append(row.IDs, p.end...)
	row.TypeIDs = append(row.TypeIDs, slices.Repeat([]int32{0}, len(p.end))...)
	row.Length += len(p.end)
}

// withEnd counts the tokens after the passage in a LengthError.
func (p *PairTemplate) withEnd(err error, limit int) error {
	if long, ok := errors.AsType[*tokenizers.LengthError](err); ok {
		return &tokenizers.LengthError{Length: long.Length + len(p.end), Max: limit}
	}
	return err
}
