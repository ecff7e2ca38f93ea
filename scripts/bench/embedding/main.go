// Command embedding measures the embedding API side by side with the same tensors sent straight to the same Triton,
// with ONNX Runtime alone on those tensors, and with another server of the same weights, all in one run (see package
// comparison). `make bench` starts the servers.
//
//	go run ./scripts/bench/embedding -gateway http://127.0.0.1:8003 -triton 127.0.0.1:8701
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"slices"
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
	only      = flag.String("only", "", "singles, batches, lone, lengths or clients: one of the comparisons")
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
		plan: comparison.Plan{Rounds: *times, Period: *period, Unit: "text"},
		gateway: comparison.Side{
			Name: "gateway", Call: embed(*gatewayURL+"/v1/embeddings", *publicID),
			Served: comparison.Known(*gatewayPID, *tritonPID),
		},
		direct: &comparison.Direct{
			Client: client, Triton: comparison.Known(*tritonPID), Entry: filepath.Base(*entry),
			Graph: filepath.Join(*entry, "1", "model.onnx"), Python: *python, PadID: tokenizer.PadID(),
			Encode: func(text string) (*tokenizers.Encoding, error) {
				return tokenizer.Encode(text, tokenizers.Options{MaxLength: 256, Strategy: tokenizers.OnlyFirst})
			},
		},
		short: shortTexts(),
		mixed: mixed,
	}
	if *peerURL != "" {
		b.peer = []comparison.Side{{
			Name: "peer", Call: embed(*peerURL+"/embeddings", *peerModel), Served: comparison.Known(*peerPID),
			Goal: comparison.Goal{Bound: 1.4},
		}}
	}
	b.table = b.plan.NewTable(os.Stdout)
	if *twin != "" {
		return b.twins(ctx)
	}
	return b.compare(ctx)
}

// embed requests embeddings from a server with OpenAI's interface.
func embed(url, model string) comparison.Call {
	return func(ctx context.Context, texts []string, lo, hi int) error {
		return comparison.Post(ctx, url, map[string]any{"model": model, "input": texts[lo:hi]})
	}
}

type bench struct {
	plan         comparison.Plan
	table        *comparison.Table
	gateway      comparison.Side
	peer         []comparison.Side // one or none
	direct       *comparison.Direct
	short, mixed []string
}

// compare runs the loads; each prints its rows, and the last one a table of its own.
func (b *bench) compare(ctx context.Context) error {
	for _, load := range []struct {
		name string
		run  func(context.Context) error
	}{
		{"singles", b.singles}, {"batches", b.batches}, {"lone", b.lone}, {"lengths", b.lengths},
		{"clients", b.clients},
	} {
		if *only != "" && *only != load.name {
			continue
		}
		if err := load.run(ctx); err != nil {
			return err
		}
	}
	return nil
}

// twins compares the model in int8 with the model, both served by the gateway.
func (b *bench) twins(ctx context.Context) error {
	int8 := b.gateway
	int8.Name = "in int8"
	int8.Call = embed(*gatewayURL+"/v1/embeddings", *twin)
	fp32 := b.gateway
	fp32.Name = "the same model in fp32, the same gateway"
	fp32.Goal = comparison.Goal{Bound: 1.5}
	for _, w := range []struct {
		title             string
		texts             []string
		concurrency, size int
	}{
		{"in int8: single short texts, 32 at once", b.short, 32, 1},
		{"in int8: requests of 32 short texts, 4 at once", b.short, 4, 32},
		{"in int8: requests of 128 texts of 10 to 256 tokens, 2 at once", b.mixed, 2, 128},
	} {
		load := comparison.Requests(w.texts, w.size)
		c, err := b.plan.Throughput(ctx, w.title, w.concurrency, load, []comparison.Side{int8, fp32})
		if err != nil {
			return err
		}
		b.table.Ratios(c)
	}
	return nil
}

func (b *bench) singles(ctx context.Context) error {
	return b.throughput(ctx, "single short texts, 32 at once", 32, 1, comparison.Goal{Bound: 0.90})
}

func (b *bench) batches(ctx context.Context) error {
	return b.throughput(ctx, "requests of 32 short texts, 4 at once", 4, 32, comparison.Goal{Bound: 0.95})
}

// throughput compares the texts per second of requests of size short texts. best is the goal for ONNX Runtime alone.
func (b *bench) throughput(ctx context.Context, title string, concurrency, size int, best comparison.Goal) error {
	load := comparison.Requests(b.short, size)
	ready, err := b.direct.ReadyTensors(load)
	if err != nil {
		return err
	}
	runtime, stop, err := b.direct.Best(ctx, b.short, len(b.short), best)
	if err != nil {
		return err
	}
	defer stop()
	c, err := b.plan.Throughput(ctx, title, concurrency, load, b.sides(b.peer, ready, runtime))
	if err != nil {
		return err
	}
	b.table.Ratios(c)
	return nil
}

// sides are the gateway and what it is compared with.
func (b *bench) sides(peer []comparison.Side, triton comparison.Side, runtime []comparison.Side) []comparison.Side {
	return slices.Concat([]comparison.Side{b.gateway}, peer, []comparison.Side{triton}, runtime)
}

func (b *bench) lone(ctx context.Context) error {
	load := comparison.Requests(b.short, 1)
	ready, err := b.direct.ReadyTensors(load)
	if err != nil {
		return err
	}
	runtime, stop, err := b.direct.SameTensors(load)
	if err != nil {
		return err
	}
	defer stop()
	sides := b.sides(b.peer, ready, runtime)
	c, err := b.plan.Latency(ctx, "one short text, alone", b.short, sides)
	if err != nil {
		return err
	}
	for i, side := range sides[1:] {
		switch side.Name {
		case ready.Name:
			b.table.Added(c, i+1, comparison.Goal{Bound: 0.50, Most: true})
		case "peer":
			b.table.Ratio(c, i+1, comparison.Goal{Bound: 0.5, Most: true})
		default:
			b.table.Added(c, i+1, comparison.Goal{Bound: 1.50, Most: true})
		}
	}
	return nil
}

// lengths compares requests of texts of 10 to 256 tokens with calls of 32 rows in the order of arrival, whose padding
// is computed, and with ONNX Runtime alone on the texts of two requests at a time.
func (b *bench) lengths(ctx context.Context) error {
	load := comparison.Requests(b.mixed, 128)
	arrival, err := b.direct.ComputedPadding(load)
	if err != nil {
		return err
	}
	arrival.Goal = comparison.Goal{Bound: 2.5}
	runtime, stop, err := b.direct.Best(ctx, b.mixed, 256, comparison.Goal{Bound: 0.90})
	if err != nil {
		return err
	}
	defer stop()
	c, err := b.plan.Throughput(ctx, "requests of 128 texts of 10 to 256 tokens, 2 at once", 2, load,
		b.sides(nil, arrival, runtime))
	if err != nil {
		return err
	}
	b.table.Ratios(c)
	return nil
}

// clients compares throughput and latency of single short texts for 1 to 64 clients. ONNX Runtime alone computes the
// texts of all clients as one request.
func (b *bench) clients(ctx context.Context) error {
	texts := slices.Repeat(b.short, 8) // so many that all numbers of clients divide them
	load := comparison.Requests(texts, 1)
	var all []comparison.Clients
	for count := 1; count <= 64; count *= 2 {
		runtime, stop, err := b.direct.SameTensors(comparison.Requests(texts, count))
		if err != nil {
			return err
		}
		for i := range runtime {
			runtime[i].Name = "ONNX Runtime alone"
		}
		c, err := b.plan.Clients(ctx, count, load, slices.Concat([]comparison.Side{b.gateway}, b.peer, runtime))
		stop()
		if err != nil {
			return err
		}
		all = append(all, c)
	}
	fmt.Print("\nSingle short texts, throughput and latency (median of a round) by the number of clients. ONNX Runtime " +
		"alone computes the texts of all clients in one call, of at most 32 texts\n")
	b.plan.WriteClients(os.Stdout, all)
	return nil
}
