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
	peerURL    = flag.String("peer", "", "base URL of another server with an OpenAI style /embeddings, such as infinity")
	peerPID    = flag.Int("peer-pid", 0, "its process")
	peerModel  = flag.String("peer-model", "all-MiniLM-L6-v2", "the model's name at the peer")
	publicID   = flag.String("model", "sentence-transformers/all-MiniLM-L6-v2", "public id of the model")
	entry      = flag.String("entry", "model_repository/minilm_embed", "its folder in the model repository")
	times      = flag.Int("rounds", 15, "rounds per measurement, after one that is not counted")
	period     = flag.Duration("period", 2*time.Second, "length of a round of one side")
	only       = flag.String("only", "", "singles, batches, lone or lengths: one of the comparisons")
	soakFor    = flag.Duration("soak", time.Minute, "how long to watch the gateway's memory under load; 0 for not")
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
		gateway:  comparison.Side{Name: "gateway", Call: (&server{*gatewayURL + "/v1/embeddings", *publicID}).embed, Served: comparison.Known(*gatewayPID, *tritonPID)},
		straight: &direct{client: client, tokenizer: tokenizer, model: filepath.Base(*entry)},
		peer:     comparison.Side{Name: "peer", Call: (&server{*peerURL + "/embeddings", *peerModel}).embed, Served: comparison.Known(*peerPID)},
		short:    shortTexts(), mixed: mixed,
	}
	if err := b.compare(ctx); err != nil {
		return err
	}
	if *soakFor > 0 && *gatewayPID > 0 {
		return soak(ctx, os.Stdout, b.gateway, b.short, b.mixed, *soakFor)
	}
	return nil
}

func plan() comparison.Plan { return comparison.Plan{Rounds: *times, Period: *period, Each: "text"} }

type bench struct {
	gateway, peer comparison.Side
	straight      *direct
	short, mixed  []string
}

// sides are the gateway, the peer if there is one and it is wanted, and the same texts as tensors in calls of size
// rows. stop ends what they started.
func (b *bench) sides(name string, texts []string, size int, peer bool) (sides []comparison.Side, stop func(), err error) {
	sides = []comparison.Side{b.gateway}
	if peer && *peerURL != "" {
		sides = append(sides, b.peer)
	}
	straight, stop, err := b.straight.sides(name, texts, size)
	return append(sides, straight...), stop, err
}

const ready = "ready tensors to the same Triton"

// goals are the bounds by the name of the side that the gateway is compared with; ONNX Runtime alone has none.
type goals map[string]comparison.Goal

// compare runs the workloads and prints their rows as they come.
func (b *bench) compare(ctx context.Context) error {
	t := comparison.NewTable(os.Stdout, plan().Each)
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

func (b *bench) singles(ctx context.Context, t *comparison.Table) error {
	return b.throughput(ctx, t, "single short texts, 32 at once", 32, 1)
}

func (b *bench) batches(ctx context.Context, t *comparison.Table) error {
	return b.throughput(ctx, t, "requests of 32 short texts, 4 at once", 4, 32)
}

func (b *bench) throughput(ctx context.Context, t *comparison.Table, title string, concurrency, size int) error {
	sides, stop, err := b.sides(ready, b.short, size, true)
	if err != nil {
		return err
	}
	defer stop()
	c, err := plan().Throughput(ctx, title, concurrency, comparison.Requests(b.short, size), sides)
	if err != nil {
		return err
	}
	wanted := goals{ready: {Bound: 0.90}, b.peer.Name: {Bound: 1.4}}
	for i, side := range sides[1:] {
		t.Ratio(c, i+1, wanted[side.Name])
	}
	return nil
}

func (b *bench) lone(ctx context.Context, t *comparison.Table) error {
	sides, stop, err := b.sides(ready, b.short, 1, true)
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
			t.Added(c, i+1, comparison.Goal{})
		}
	}
	return nil
}

// lengths are texts of 10 to 256 tokens, against calls of 32 rows in the order of arrival, padded to the longest of
// each call.
func (b *bench) lengths(ctx context.Context, t *comparison.Table) error {
	const arrival = "arrival order, 32 rows padded"
	sides, stop, err := b.sides(arrival, b.mixed, 32, false)
	if err != nil {
		return err
	}
	defer stop()
	c, err := plan().Throughput(ctx, "requests of 128 texts of 10 to 256 tokens, 2 at once", 2, comparison.Requests(b.mixed, 128), sides)
	if err != nil {
		return err
	}
	wanted := goals{arrival: {Bound: 2.5}}
	for i, side := range sides[1:] {
		t.Ratio(c, i+1, wanted[side.Name])
	}
	return nil
}
