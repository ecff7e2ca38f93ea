// Command embedding measures the embedding API side by side with the same
// tensors sent straight to the same Triton, and with another server of the
// same weights, in one run: rounds alternate, so that a machine whose speed
// drifts shifts all sides alike. It prints each side's minimum, median and
// maximum over the rounds, and the ratio of the medians.
//
//	go run ./scripts/bench/embedding -gateway http://127.0.0.1:8003 -triton 127.0.0.1:8701
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"strings"
	"time"

	"retort/orchestrator/triton"
	"retort/tokenizers"
)

var (
	gatewayURL = flag.String("gateway", "http://127.0.0.1:8003", "base URL of the embedding API")
	tritonURL  = flag.String("triton", "127.0.0.1:8701", "gRPC address of the Triton behind it")
	peerURL    = flag.String("peer", "", "base URL of another server with an OpenAI style /embeddings, such as infinity")
	publicID   = flag.String("model", "sentence-transformers/all-MiniLM-L6-v2", "public id of the model")
	entry      = flag.String("entry", "model_repository/minilm_embed", "its folder in the model repository")
	peerModel  = flag.String("peer-model", "all-MiniLM-L6-v2", "the model's name at the peer")
	rounds     = flag.Int("rounds", 5, "rounds per measurement")
	period     = flag.Duration("period", 4*time.Second, "length of a round of one side")
)

func main() {
	flag.Parse()
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	tokenizer, err := tokenizers.Load(*entry + "/tokenizer.json")
	if err != nil {
		return err
	}
	client, err := triton.Dial(triton.Config{URLs: []string{*tritonURL}})
	if err != nil {
		return err
	}
	defer client.Close()
	straight := &direct{client: client, tokenizer: tokenizer, model: (*entry)[strings.LastIndexByte(*entry, '/')+1:]}
	gateway := &server{url: *gatewayURL + "/v1/embeddings", model: *publicID}
	table := newTable(os.Stdout)
	short, mixed := shortTexts(), mixedTexts(tokenizer)

	sides := []side{{"gateway", gateway.embed}, {"Triton, ready tensors", straight.prepare(short, 1)}}
	table.compare(ctx, "single short texts, 32 at once (requests/s)", 32, throughput(short, 1), sides, "at least 0.90")
	sides[1].call = straight.prepare(short, 32)
	table.compare(ctx, "32 short texts a request, 4 at once (texts/s)", 4, throughput(short, 32), sides, "at least 0.90")
	sides[1].call = straight.prepare(short, 1)
	table.latency(ctx, "one short text at a time (ms)", short, sides, "under 0.5 ms added")
	sides[1] = side{"Triton, arrival order, padded", straight.prepare(mixed, 32)}
	table.compare(ctx, "128 mixed texts a request, 10 to 256 tokens, 2 at once (texts/s)", 2, throughput(mixed, 128), sides, "at least 2.5")

	if *peerURL != "" {
		peer := &server{url: *peerURL + "/embeddings", model: *peerModel}
		sides = []side{{"gateway", gateway.embed}, {"peer", peer.embed}}
		table.compare(ctx, "single short texts, 32 at once (requests/s)", 32, throughput(short, 1), sides, "at least 1.4, aiming at 1.6")
		table.compare(ctx, "32 short texts a request, 4 at once (texts/s)", 4, throughput(short, 32), sides, "at least 1.4, aiming at 1.6")
		table.latency(ctx, "one short text at a time (ms)", short, sides, "at most half")
	}
	return table.err
}

// shortTexts are questions of 8 to 16 tokens.
func shortTexts() []string {
	subjects := []string{"aspirin", "caffeine", "the liver", "a kinase", "insulin", "the river", "a bank card", "vitamin D", "an enzyme", "copper"}
	verbs := []string{"dissolve in water", "bind to its receptor", "work so quickly", "cost more this year", "change with age", "react with acids"}
	var texts []string
	for _, s := range subjects {
		for _, v := range verbs {
			texts = append(texts, fmt.Sprintf("Why does %s %s?", s, v), fmt.Sprintf("When did %s first %s, and where?", s, v))
		}
	}
	return texts
}

// mixedTexts are 1,024 texts of 10 to 256 tokens in random order.
func mixedTexts(t *tokenizers.Tokenizer) []string {
	words := strings.Fields(strings.Join(shortTexts(), " "))
	random := rand.New(rand.NewPCG(1, 2))
	texts := make([]string, 1024)
	for i := range texts {
		want := 10 + random.IntN(247)
		var b strings.Builder
		for n := 2; n < want; n++ { // a word is a token or a little more
			b.WriteString(words[random.IntN(len(words))])
			b.WriteByte(' ')
		}
		texts[i] = cut(t, b.String(), want)
	}
	return texts
}

// cut shortens text to at most n tokens.
func cut(t *tokenizers.Tokenizer, text string, n int) string {
	e, err := t.Encode(text, tokenizers.Options{})
	if err != nil {
		log.Fatal(err)
	}
	if len(e.IDs) <= n {
		return text
	}
	return text[:e.Offsets[n-2].End]
}
