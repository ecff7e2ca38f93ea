// Command scale measures how one gateway grows with the replicas of Triton behind it, and with their models. The load
// is requests to the embedding API, tokenization included, to bin/retort in its own process on one core. The replicas
// are gRPC servers in another process (package fleet): each computes one batch at a time, in a fixed time.
//
//	go run ./scripts/bench/scale -replicas 1,64 -models 1
//
// Terms:
//   - replica: a server that stands in for a Triton.
//   - capacity: the requests a second that all replicas together compute.
//   - stand: a gateway in front of some replicas with some models.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"retort/scripts/bench/comparison"
)

var (
	program        = flag.String("retort", "bin/retort", "program of the gateway")
	entry          = flag.String("entry", "model_repository/minilm_embed", "entry that all models copy, without its weights")
	replicas       = flag.String("replicas", "1,4,16,64", "numbers of replicas, each with one model")
	models         = flag.String("models", "8,64", "numbers of models on -model-replicas replicas")
	base64         = flag.Bool("base64", true, "also measure the last of -replicas with vectors in base64 instead of numbers")
	modelSet       = flag.Int("model-replicas", 16, "replicas of the rows with several models")
	batchTime      = flag.Duration("batch", 5*time.Millisecond, "time in which a replica computes a batch")
	texts          = flag.Int("texts", 8, "texts of a request, which fill a batch")
	rate           = flag.Int("rate", 100, "requests a second of the second table, below the capacity of one replica")
	period         = flag.Duration("period", 6*time.Second, "length of each measurement")
	cores          = flag.Int("cores", 1, "cores that the gateway may use")
	servedReplicas = flag.Int("serve-replicas", 0, "run as the process of that many replicas")
	servedModels   = flag.Int("serve-models", 0, "models of these replicas")
)

func main() {
	flag.Parse()
	run := measure
	if *servedReplicas > 0 {
		run = serve
	}
	if err := run(); err != nil {
		log.Fatal(err)
	}
}

// size is the size of a stand, and the form of the vectors in its answers.
type size struct {
	replicas, models int
	format           string // encoding_format of requests
}

// row is what is measured on a stand.
type row struct {
	size
	clients   int
	saturated result // with so many clients that every replica has a request in its queue
	steady    result // at -rate requests a second
	atRest    float64
	resident  float64 // bytes of the gateway after both loads
}

// capacity returns the requests a second that the replicas compute.
func (s size) capacity() float64 { return float64(s.replicas) / batchTime.Seconds() }

// measure prints both tables and the verdict.
func measure() error {
	runtime.LockOSThread() // Linux kills a child with Pdeathsig when the thread that started it ends
	sizes, err := parseSizes()
	if err != nil {
		return err
	}
	rows := make([]row, len(sizes))
	for i, s := range sizes {
		fmt.Fprintf(os.Stderr, "measuring: %d replicas, %d models\n", s.replicas, s.models)
		if rows[i], err = measureStand(context.Background(), s); err != nil {
			return fmt.Errorf("%d replicas, %d models: %w", s.replicas, s.models, err)
		}
	}
	write(os.Stdout, rows)
	return nil
}

// parseSizes returns the sizes that the flags name.
func parseSizes() (sizes []size, err error) {
	add := func(list string, of func(int) size) {
		for text := range strings.SplitSeq(list, ",") {
			n, failed := strconv.Atoi(text)
			if failed != nil || n < 1 {
				err = fmt.Errorf("%q is not a list of numbers", list)
			}
			sizes = append(sizes, of(n))
		}
	}
	add(*replicas, func(n int) size { return size{replicas: n, models: 1, format: "float"} })
	largest := sizes[len(sizes)-1]
	if *models != "" {
		add(*models, func(n int) size { return size{replicas: *modelSet, models: n, format: "float"} })
	}
	if *base64 {
		largest.format = "base64"
		sizes = append(sizes, largest)
	}
	return sizes, err
}

// settlingTime is how long a gateway runs before it is measured at rest: it has then opened all models.
const settlingTime = time.Second

// measureStand starts a stand and measures it at rest and under both loads.
func measureStand(ctx context.Context, s size) (r row, err error) {
	stand, err := startStand(s)
	if err != nil {
		return r, err
	}
	defer stand.close()
	r = row{size: s, clients: 2 * s.replicas}
	time.Sleep(settlingTime)
	before := stand.gateway.Used()
	time.Sleep(*period / 2)
	r.atRest = (stand.gateway.Used() - before).Seconds() / (*period / 2).Seconds()
	load := newLoad(stand.url, s)
	if r.saturated, err = load.measure(ctx, stand, load.closed(r.clients)); err != nil {
		return r, err
	}
	if r.steady, err = load.measure(ctx, stand, load.open(float64(*rate))); err != nil {
		return r, err
	}
	r.resident, err = comparison.Resident(stand.gateway[0])
	return r, err
}

// maxGrowth is the upper bound of the processor time of a request with the most replicas over that with the fewest.
const maxGrowth = 1.2

func write(out io.Writer, rows []row) {
	fmt.Fprintf(out, "The gateway has %d core(s). A request has %d texts, one batch; a replica takes %v for it.\n",
		*cores, *texts, *batchTime)
	fmt.Fprint(out, "\nAs many requests as possible, with two clients for each replica:\n\n"+
		"| replicas | models | vectors as | requests/s | of the replicas' capacity | p50, p99, ms | gateway: CPU ms a request | "+
		"cores of gateway, replicas, load generator | others |\n|---:|---:|---|---:|---:|---:|---:|---:|---:|\n")
	for _, r := range rows {
		s := r.saturated
		fmt.Fprintf(out, "| %d | %d | %s | %.0f | %.0f %% | %.1f, %.1f | %.3f | %.2f, %.2f, %.2f | %.0f %% |\n",
			r.replicas, r.models, r.format, s.rate, 100*s.rate/r.capacity(), s.p50, s.p99, s.cost(),
			s.gateway, s.replicas, s.load, 100*s.others)
	}
	fmt.Fprintf(out, "\n%d requests a second, at even intervals:\n\n"+
		"| replicas | models | vectors as | p50, p99, ms | gateway: CPU ms a request | cores at rest | memory after both loads, MB | "+
		"others |\n|---:|---:|---|---:|---:|---:|---:|---:|\n", *rate)
	for _, r := range rows {
		s := r.steady
		fmt.Fprintf(out, "| %d | %d | %s | %.1f, %.1f | %.3f | %.3f | %.0f | %.0f %% |\n",
			r.replicas, r.models, r.format, s.p50, s.p99, s.cost(), r.atRest, r.resident/1e6, 100*s.others)
	}
	first, last := rows[0], rows[0]
	for _, r := range rows {
		if r.models == first.models && r.format == first.format {
			last = r
		}
	}
	growth := last.saturated.cost() / first.saturated.cost()
	others := max(first.saturated.others, last.saturated.others)
	verdict := "met"
	switch {
	case others > comparison.MaxOthers:
		verdict = fmt.Sprintf("not judged: others took %.0f %%", 100*others)
	case growth > maxGrowth:
		verdict = "missed"
	}
	fmt.Fprintf(out, "\nCPU of a request with %d replicas against %d: %.2f times (at most %.2f wanted): %s\n",
		last.replicas, first.replicas, growth, maxGrowth, verdict)
}

// serve runs in the process of the replicas. It prints their addresses and ends with its standard input.
func serve() error {
	f, err := startReplicas(*servedReplicas, *servedModels)
	if err != nil {
		return err
	}
	if err := json.NewEncoder(os.Stdout).Encode(f.Addresses); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}
