package engine

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"retort/orchestrator/fault"
)

// parseLogprobs reads the log probabilities that the vLLM backend sends with a piece: a JSON list with one object for
// each new token. An object's members are named by token ids, and each holds {"logprob", "rank", "decoded_token"}. The
// first member is the token that was chosen, the others are the top ones. Where the chosen token is among the top ones,
// it has no second member: its rank tells. null is no log probabilities for this piece.
func parseLogprobs(text []byte, top int) ([]Logprob, error) {
	decoder := jsontext.NewDecoder(bytes.NewBuffer(text))
	if decoder.PeekKind() != '[' {
		return nil, nil
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

// parseAlternatives reads the object of one token. The order of its members is what counts, so it is read member by
// member.
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

// ordered sorts the alternatives, likeliest first, and keeps as many as were asked for.
func ordered(l Logprob, top int) Logprob {
	slices.SortStableFunc(l.Top, func(a, b Logprob) int { return cmp.Compare(b.Logprob, a.Logprob) })
	l.Top = l.Top[:min(top, len(l.Top))]
	return l
}
