package main

import (
	"context"
	"math/rand/v2"
	"strings"

	"retort/scripts/bench/comparison"
)

const query = "Which enzyme does aspirin block, and how does that ease pain?"

// passages returns texts of 10 to about 120 tokens in random order, the same in each run.
func passages(count int) []string {
	words := strings.Fields("aspirin blocks the enzyme cyclooxygenase so that less prostaglandin is made and pain fever " +
		"and swelling ease while caffeine binds to receptors of adenosine and keeps people awake the river flows north " +
		"past the old town and a bank lends money")
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

// callGateway ranks passages with the gateway.
func callGateway(ctx context.Context, texts []string, lo, hi int) error {
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

// callPeer ranks passages with the peer, through the interface of Cohere.
func callPeer(ctx context.Context, texts []string, lo, hi int) error {
	return comparison.Post(ctx, *peerURL+"/rerank",
		map[string]any{"model": *peerModel, "query": query, "documents": texts[lo:hi]})
}
