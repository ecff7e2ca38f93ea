// Command embedding measures the embedding API side by side with the same tensors sent straight to the same Triton,
// with ONNX Runtime alone on those tensors, and with another server of the same weights, in one run: rounds alternate,
// so that a machine whose speed drifts shifts all sides alike. It prints a table of medians with lowest and highest,
// and of the ratios round by round. `make bench` starts the servers.
//
//	go run ./scripts/bench/embedding -gateway http://127.0.0.1:8003 -triton 127.0.0.1:8701
package main

import (
	"context"
	"flag"
	"log"
	"os"
	"path/filepath"
	"time"

	"retort/orchestrator/triton"
	"retort/scripts/bench/comparison"
	"retort/tokenizers"
)

var (
	gatewayURL = flag.String("gateway", "http://127.0.0.1:8003", "base URL of the embedding API")
	gatewayPID = flag.Int("gateway-pid", 0, "its process, to measure processor time and memory")
	tritonURL  = flag.String("triton", "127.0.0.1:8701", "gRPC address of the Triton behind it")
	tritonPID  = flag.Int("triton-pid", 0, "its process")
	python     = flag.String("python", "", "a Python with onnxruntime, to measure it alone on the same graph")
	peerURL    = flag.String("peer", "",
		"base URL of another server with an OpenAI style /embeddings, such as infinity")
	peerPID   = flag.Int("peer-pid", 0, "its process")
	peerModel = flag.String("peer-model", "all-MiniLM-L6-v2", "the model's name at the peer")
	publicID  = flag.String("model", "sentence-transformers/all-MiniLM-L6-v2", "public id of the model")
	entry     = flag.String("entry", "model_repository/minilm_embed", "its folder in the model repository")
	times     = flag.Int("rounds", 7, "rounds per measurement, after one that is not counted")
	period    = flag.Duration("period", 2*time.Second, "length of a round of one side")
	twin      = flag.String("twin", "", "public id of the model in int8: only it is measured, against the model")
	only      = flag.String("only", "", "singles, batches, lone or lengths: one of the comparisons")
)

func main() {
	flag.Parse()
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	tokenizer, err := tokenizers.Load(filepath.Join(*entry, "tokenizer.json"))
	if err != nil {
		return err
	}
	client, err := triton.Dial(triton.Config{URLs: []string{*tritonURL}})
	if err != nil {
		return err
	}
	defer client.Close()
	mixed, err := mixedTexts(tokenizer)
	if err != nil {
		return err
	}
	b := &bench{
		gateway: comparison.Side{Name: "gateway", Call: (&server{*gatewayURL + "/v1/embeddings", *publicID}).embed,
			Served: comparison.Known(*gatewayPID, *tritonPID)},
		straight: &direct{client: client, tokenizer: tokenizer, model: filepath.Base(*entry)},
		peer: comparison.Side{Name: "peer", Call: (&server{*peerURL + "/embeddings", *peerModel}).embed,
			Served: comparison.Known(*peerPID)},
		short: shortTexts(), mixed: mixed,
	}
	return b.compare(ctx)
}

func plan() comparison.Plan { return comparison.Plan{Rounds: *times, Period: *period, Each: "text"} }

type bench struct {
	gateway, peer comparison.Side
	straight      *direct
	short, mixed  []string
}

// sides are the gateway, the peer if there is one, and the same texts as tensors in calls of size rows
// (see direct.sides). stop ends what they started.
func (b *bench) sides(ctx context.Context, name string, texts []string, size, group int) (sides []comparison.Side, stop func(), err error) {
	sides = []comparison.Side{b.gateway}
	if *peerURL != "" {
		sides = append(sides, b.peer)
	}
	straight, stop, err := b.straight.sides(ctx, name, texts, size, group, b.straight.request)
	return append(sides, straight...), stop, err
}

const (
	ready = "ready tensors to the same Triton"
	bare  = "ONNX Runtime alone, the same tensors"
)

// compare runs the workloads and prints their rows as they come.
func (b *bench) compare(ctx context.Context) error {
	t := comparison.NewTable(os.Stdout, plan().Each)
	if *twin != "" {
		return b.twins(ctx)
	}
	workloads := []struct {
		name string
		run  func(context.Context, *comparison.Table) error
	}{{"singles", b.singles}, {"batches", b.batches}, {"lone", b.lone}, {"lengths", b.lengths}}
	for _, w := range workloads {
		if *only != "" && *only != w.name {
			continue
		}
		if err := w.run(ctx, t); err != nil {
			return err
		}
	}
	return nil
}

// twins compares the model in int8 with the model, both served by the gateway.
func (b *bench) twins(ctx context.Context) error {
	t := comparison.NewTable(os.Stdout, plan().Each)
	int8 := comparison.Side{Name: "in int8", Call: (&server{*gatewayURL + "/v1/embeddings", *twin}).embed,
		Served: b.gateway.Served}
	fp32 := b.gateway
	fp32.Name = "the same model in fp32, the same gateway"
	for _, w := range []struct {
		title             string
		texts             []string
		concurrency, size int
	}{
		{"in int8: single short texts, 32 at once", b.short, 32, 1},
		{"in int8: requests of 32 short texts, 4 at once", b.short, 4, 32},
		{"in int8: requests of 128 texts of 10 to 256 tokens, 2 at once", b.mixed, 2, 128},
	} {
		c, err := plan().Throughput(ctx, w.title, w.concurrency, comparison.Requests(w.texts, w.size),
			[]comparison.Side{int8, fp32})
		if err != nil {
			return err
		}
		t.Ratio(c, 1, comparison.Goal{Bound: 1.5})
	}
	return nil
}

func (b *bench) singles(ctx context.Context, t *comparison.Table) error {
	return b.throughput(ctx, t, "single short texts, 32 at once", 32, 1, comparison.Goal{Bound: 0.90})
}

func (b *bench) batches(ctx context.Context, t *comparison.Table) error {
	return b.throughput(ctx, t, "requests of 32 short texts, 4 at once", 4, 32, comparison.Goal{Bound: 0.95})
}

func (b *bench) throughput(ctx context.Context, t *comparison.Table, title string, concurrency, size int, ofBest comparison.Goal) error {
	sides, stop, err := b.sides(ctx, ready, b.short, size, len(b.short))
	if err != nil {
		return err
	}
	defer stop()
	c, err := plan().Throughput(ctx, title, concurrency, comparison.Requests(b.short, size), sides)
	if err != nil {
		return err
	}
	for i, side := range sides[1:] {
		switch {
		case side.Name == b.peer.Name:
			t.Ratio(c, i+1, comparison.Goal{Bound: 1.4})
		case side.Own != nil:
			t.Ratio(c, i+1, ofBest)
		default:
			t.Ratio(c, i+1, comparison.Goal{})
		}
	}
	return nil
}

func (b *bench) lone(ctx context.Context, t *comparison.Table) error {
	sides, stop, err := b.sides(ctx, ready, b.short, 1, 0)
	if err != nil {
		return err
	}
	defer stop()
	c, err := plan().Latency(ctx, "one short text, alone", b.short, sides)
	if err != nil {
		return err
	}
	for i, side := range sides[1:] {
		switch side.Name {
		case ready:
			t.Added(c, i+1, comparison.Goal{Bound: 0.50, Most: true})
		case b.peer.Name:
			t.Ratio(c, i+1, comparison.Goal{Bound: 0.5, Most: true})
		default:
			t.Added(c, i+1, comparison.Goal{Bound: 1.50, Most: true})
		}
	}
	return nil
}

// lengths are texts of 10 to 256 tokens, against calls of 32 rows in the order of arrival, padded to the longest of
// each call and computed with the padding, and against ONNX Runtime alone on as many of them sorted as two requests
// have.
func (b *bench) lengths(ctx context.Context, t *comparison.Table) error {
	const arrival = "arrival order, 32 rows padded, padding computed"
	straight, stop, err := b.straight.sides(ctx, arrival, b.mixed, 32, 256, b.straight.computed)
	if err != nil {
		return err
	}
	defer stop()
	sides := append([]comparison.Side{b.gateway}, straight...)
	c, err := plan().Throughput(ctx, "requests of 128 texts of 10 to 256 tokens, 2 at once", 2,
		comparison.Requests(b.mixed, 128), sides)
	if err != nil {
		return err
	}
	for i, side := range sides[1:] {
		if side.Own != nil {
			t.Ratio(c, i+1, comparison.Goal{Bound: 0.90})
		} else {
			t.Ratio(c, i+1, comparison.Goal{Bound: 2.5})
		}
	}
	return nil
}
