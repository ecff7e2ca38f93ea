package engine

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"retort/orchestrator/fault"
)

// parseLogprobs reads the log probabilities that the vLLM backend sends with a piece: null if it has none, else a JSON
// list with one object for each new token. An object's members are named by token ids and have {"logprob", "rank",
// "decoded_token"}. The first member is the chosen token, the others are the likeliest ones. A chosen token among the
// top likeliest, as its rank tells, is not repeated there.
func parseLogprobs(text []byte, top int) ([]Logprob, error) {
	decoder := jsontext.NewDecoder(bytes.NewBuffer(text))
	if decoder.PeekKind() != '[' {
		return nil, nil
	}
	var all []Logprob
	_, err := decoder.ReadToken()
	for err == nil && decoder.PeekKind() == '{' {
		var one Logprob
		one, err = parseAlternatives(decoder, top)
		all = append(all, one)
	}
	if err != nil {
		return nil, fault.Wrap(fault.Internal, err, "the model's logprobs cannot be read")
	}
	return all, nil
}

// parseAlternatives reads the object of one token, member by member because their order matters.
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
	slices.SortStableFunc(chosen.Top, func(a, b Logprob) int { return cmp.Compare(b.Logprob, a.Logprob) })
	chosen.Top = chosen.Top[:min(top, len(chosen.Top))]
	return chosen, err
}
