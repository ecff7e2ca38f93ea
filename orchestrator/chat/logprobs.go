package chat

import (
	"bytes"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"retort/orchestrator/fault"
)

// Logprob is a token that was written, its natural log probability, and the
// likeliest tokens in its place, likeliest first.
type Logprob struct {
	Token   string
	Logprob float64
	Top     []Logprob
}

// parseLogprobs reads the output logprobs of the vLLM backend: per new token
// an object of token ids, each {"logprob", "rank", "decoded_token"}. The first
// is the token that was chosen; it is there twice over in rank when it is
// among the top ones too, but only once in the object.
func parseLogprobs(text []byte, top int) ([]Logprob, error) {
	decoder := jsontext.NewDecoder(bytes.NewBuffer(text))
	if decoder.PeekKind() != '[' {
		return nil, nil // null: none for this piece
	}
	if _, err := decoder.ReadToken(); err != nil {
		return nil, badLogprobs(err)
	}
	var all []Logprob
	for decoder.PeekKind() == '{' {
		one, err := parseAlternatives(decoder, top)
		if err != nil {
			return nil, badLogprobs(err)
		}
		all = append(all, one)
	}
	return all, nil
}

func badLogprobs(err error) error {
	return fault.Wrap(fault.Internal, err, "the model's logprobs cannot be read")
}

// parseAlternatives reads the object of one token, in its own order.
func parseAlternatives(decoder *jsontext.Decoder, top int) (chosen Logprob, err error) {
	if _, err := decoder.ReadToken(); err != nil {
		return chosen, err
	}
	for first := true; decoder.PeekKind() != '}'; first = false {
		if err := decoder.SkipValue(); err != nil { // the token's id
			return chosen, err
		}
		var one struct {
			Logprob float64 `json:"logprob"`
			Rank    int     `json:"rank"`
			Token   *string `json:"decoded_token"`
		}
		if err := json.UnmarshalDecode(decoder, &one); err != nil {
			return chosen, err
		}
		l := Logprob{Logprob: one.Logprob}
		if one.Token != nil {
			l.Token = *one.Token
		}
		if first {
			chosen = l
		}
		if !first || one.Rank <= top {
			chosen.Top = append(chosen.Top, l)
		}
	}
	_, err = decoder.ReadToken()
	return ordered(chosen, top), err
}

// ordered puts the alternatives in order of their probability and leaves out
// what was not asked for.
func ordered(l Logprob, top int) Logprob {
	for i := 1; i < len(l.Top); i++ {
		for j := i; j > 0 && l.Top[j].Logprob > l.Top[j-1].Logprob; j-- {
			l.Top[j], l.Top[j-1] = l.Top[j-1], l.Top[j]
		}
	}
	l.Top = l.Top[:min(top, len(l.Top))]
	return l
}
