package main

import (
	"context"
	"math/rand/v2"
	"path/filepath"
	"strings"

	"retort/orchestrator/triton"
	"retort/scripts/bench/comparison"
	"retort/tokenizers"
)

const query = "Which enzyme does aspirin block, and how does that ease pain?"

// passages are texts of 10 to about 120 tokens in random order, the same in every run.
func passages(count int) []string {
	words := strings.Fields("aspirin blocks the enzyme cyclooxygenase so that less prostaglandin is made and pain fever and swelling ease " +
		"while caffeine binds to receptors of adenosine and keeps people awake the river flows north past the old town and a bank lends money")
	random := rand.New(rand.NewPCG(3, 4))
	texts := make([]string, count)
	for i := range texts {
		var b strings.Builder
		for range 8 + random.IntN(90) {
			b.WriteString(words[random.IntN(len(words))])
			b.WriteByte(' ')
		}
		texts[i] = b.String() + "."
	}
	return texts
}

// documented asks the gateway.
func documented(ctx context.Context, texts []string, lo, hi int) error {
	type text struct {
		Text string `json:"text"`
	}
	list := make([]text, hi-lo)
	for i := range list {
		list[i].Text = texts[lo+i]
	}
	return comparison.Post(ctx, *gatewayURL+"/v1/ranking",
		map[string]any{"model": *publicID, "query": text{query}, "passages": list, "truncate": "END"})
}

// cohere asks the peer.
func cohere(ctx context.Context, texts []string, lo, hi int) error {
	return comparison.Post(ctx, *peerURL+"/rerank",
		map[string]any{"model": *peerModel, "query": query, "documents": texts[lo:hi]})
}

// direct sends tensors made beforehand.
type direct struct {
	client    *triton.Client
	tokenizer *tokenizers.Tokenizer
}

// most is how many pairs go into one call.
const most = 32

// calls tokenises the pairs of each request of size passages, padded in the order they come, in calls of at most 32.
// first are the numbers of the first call of each request, and of the end.
func (d *direct) calls(texts []string, size int) (calls []*triton.Request, first []int, err error) {
	for lo := 0; lo < len(texts); lo += size {
		first = append(first, len(calls))
		for at := lo; at < lo+size; at += most {
			call, err := d.request(texts[at:min(at+most, lo+size)])
			if err != nil {
				return nil, nil, err
			}
			calls = append(calls, call)
		}
	}
	return calls, append(first, len(calls)), nil
}

const (
	ready = "ready tensors to the same Triton"
	peer  = "peer"
)

// sides are the same pairs as tensors sent to the same Triton, and ONNX Runtime alone at its best on as many of them as
// are under way at once, where there is a Python that has it. stop ends what they started.
func (d *direct) sides(ctx context.Context, texts []string, size, group int) (sides []comparison.Side, stop func(), err error) {
	calls, first, err := d.calls(texts, size)
	if err != nil {
		return nil, nil, err
	}
	each := func(run func(context.Context, int) error) func(context.Context, []string, int, int) error {
		return func(ctx context.Context, _ []string, lo, _ int) error {
			for call := first[lo/size]; call < first[lo/size+1]; call++ {
				if err := run(ctx, call); err != nil {
					return err
				}
			}
			return nil
		}
	}
	infer := func(ctx context.Context, call int) error {
		_, err := d.client.Infer(ctx, calls[call])
		return err
	}
	sides = []comparison.Side{{Name: ready, Call: each(infer), Served: comparison.Known(*tritonPID)}}
	if *python == "" {
		return sides, func() {}, nil
	}
	best, stop, err := comparison.Best(ctx, *python, *entry, texts, group, d.request)
	return append(sides, best), stop, err
}

func (d *direct) request(texts []string) (*triton.Request, error) {
	rows := make([]*tokenizers.Encoding, len(texts))
	for i, text := range texts {
		var err error
		if rows[i], err = d.tokenizer.EncodePair(query, text,
			tokenizers.Options{MaxLength: *maxLength, Strategy: tokenizers.OnlySecond}); err != nil {
			return nil, err
		}
	}
	var batch tokenizers.Batch
	batch.Fill(rows, d.tokenizer.PadID())
	return &triton.Request{Model: filepath.Base(*entry), Inputs: []triton.Tensor{
		triton.Int64s("input_ids", batch.Shape(), batch.InputIDs),
		triton.Int64s("attention_mask", batch.Shape(), batch.AttentionMask),
		triton.Int64s("token_type_ids", batch.Shape(), batch.TokenTypeIDs),
	}}, nil
}
