// Command ranking measures the ranking API side by side with the same pairs as tensors sent straight to the same
// Triton, with ONNX Runtime alone on those tensors, and with another server of the same graph, all in one run (see
// package comparison); then the latency of requests of one passage among requests of a hundred. `make bench
// PART=ranking` starts the servers.
//
//	go run ./scripts/bench/ranking -gateway http://127.0.0.1:8004 -triton 127.0.0.1:8701 -entry model_repository/NAME
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"retort/orchestrator/triton"
	"retort/scripts/bench/comparison"
	"retort/tokenizers"
)

var (
	gatewayURL = flag.String("gateway", "http://127.0.0.1:8004", "base URL of the ranking API")
	gatewayPID = flag.Int("gateway-pid", 0, "its process, to measure processor time")
	tritonURL  = flag.String("triton", "127.0.0.1:8701", "gRPC address of the Triton behind it")
	tritonPID  = flag.Int("triton-pid", 0, "its process")
	python     = flag.String("python", "", "a Python with onnxruntime, to measure it alone on the same graph")
	peerURL    = flag.String("peer", "", "base URL of another server with a Cohere style /rerank, such as infinity")
	peerPID    = flag.Int("peer-pid", 0, "its process")
	peerModel  = flag.String("peer-model", "ranker", "the model's name at the peer")
	publicID   = flag.String("model", "retort/rankqa-minilm-v2", "public id of the model")
	entry      = flag.String("entry", "model_repository/minilm_rank_qa", "its folder in the model repository")
	maxLength  = flag.Int("max-length", 512, "longest pair in tokens")
	times      = flag.Int("rounds", 9, "rounds per measurement, after one that is not counted")
	period     = flag.Duration("period", 2*time.Second, "length of a round of one side")
)

func main() {
	flag.Parse()
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, out io.Writer) error {
	tokenizer, err := tokenizers.Load(filepath.Join(*entry, "tokenizer.json"))
	if err != nil {
		return err
	}
	client, err := triton.Dial(triton.Config{URLs: []string{*tritonURL}})
	if err != nil {
		return err
	}
	defer client.Close()
	b := &bench{
		plan: comparison.Plan{Rounds: *times, Period: *period, Unit: "pair"},
		gateway: comparison.Side{
			Name: "gateway", Call: callGateway, Served: comparison.Known(*gatewayPID, *tritonPID),
		},
		direct: &comparison.Direct{
			Client: client, Triton: comparison.Known(*tritonPID), Entry: filepath.Base(*entry),
			Graph: filepath.Join(*entry, "1", "model.onnx"), Python: *python, PadID: tokenizer.PadID(),
			Encode: func(text string) (*tokenizers.Encoding, error) {
				options := tokenizers.Options{MaxLength: *maxLength, Strategy: tokenizers.OnlySecond}
				return tokenizer.EncodePair(query, text, options)
			},
		},
	}
	b.table = b.plan.NewTable(out)
	if err := b.throughput(ctx, 32, 4); err != nil {
		return err
	}
	if err := b.throughput(ctx, 100, 2); err != nil {
		return err
	}
	return fairness(ctx, out, b.gateway)
}

type bench struct {
	plan    comparison.Plan
	table   *comparison.Table
	gateway comparison.Side
	direct  *comparison.Direct
}

// throughput compares the pairs per second of requests of size passages.
func (b *bench) throughput(ctx context.Context, size, concurrency int) error {
	load := comparison.Requests(passages(4*size), size)
	ready, err := b.direct.ReadyTensors(load)
	if err != nil {
		return err
	}
	runtime, stop, err := b.direct.Best(ctx, load.Texts, size*concurrency, comparison.Goal{Bound: 0.95})
	if err != nil {
		return err
	}
	defer stop()
	sides := append([]comparison.Side{b.gateway, ready}, runtime...)
	if *peerURL != "" {
		sides = append(sides, comparison.Side{
			Name: "peer", Call: callPeer, Served: comparison.Known(*peerPID), Goal: comparison.Goal{Bound: 1.4},
		})
	}
	title := fmt.Sprintf("a query and %d passages of 10 to 120 tokens, %d at once", size, concurrency)
	c, err := b.plan.Throughput(ctx, title, concurrency, load, sides)
	if err != nil {
		return err
	}
	b.table.Ratios(c)
	return nil
}

// fairness prints the latency of requests of one passage, alone and while ten requests of a hundred passages are in
// flight. If requests were served in the order of arrival, a single passage would wait for most of the ten.
func fairness(ctx context.Context, out io.Writer, gateway comparison.Side) error {
	lists := comparison.Requests(passages(300), 100)
	one := passages(20)
	alone, err := latencies(ctx, gateway, one)
	if err != nil {
		return err
	}
	var over atomic.Bool // no more lists are sent; those in flight are awaited
	var mu sync.Mutex
	var took []float64
	var workers sync.WaitGroup
	for w := range 10 {
		workers.Go(func() {
			for i := w; !over.Load(); i++ {
				lo := i % 3 * lists.Size
				start := time.Now()
				if gateway.Call(ctx, lists.Texts, lo, lo+lists.Size) == nil {
					mu.Lock()
					took = append(took, milliseconds(start))
					mu.Unlock()
				}
			}
		})
	}
	time.Sleep(*period)
	among, err := latencies(ctx, gateway, one)
	over.Store(true)
	workers.Wait()
	if err == nil && len(took) == 0 {
		err = errors.New("none of ten lists at once was answered")
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out,
		"\nOne passage: %.1f ms alone, %.1f ms among ten requests of 100 passages, which take %.0f ms each (medians)\n",
		comparison.Median(alone), comparison.Median(among), comparison.Median(took))
	return err
}

// latencies measures requests of one passage, one after another, in milliseconds: all of texts, or three if these take
// long.
func latencies(ctx context.Context, gateway comparison.Side, texts []string) (took []float64, err error) {
	began := time.Now()
	for i := range texts {
		start := time.Now()
		if i >= 3 && start.Sub(began) > 15*time.Second {
			break
		}
		if err := gateway.Call(ctx, texts, i, i+1); err != nil {
			return nil, err
		}
		took = append(took, milliseconds(start))
	}
	return took, nil
}

func milliseconds(start time.Time) float64 { return float64(time.Since(start).Microseconds()) / 1e3 }
