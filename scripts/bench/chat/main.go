// Command chat measures the chat API with the model that reads drawings, in one run: the first token and the whole
// answer of a single conversation, tokens per second of one and of eight conversations, and the latency that the
// gateway adds to each token compared with Triton alone. `make bench` starts the servers.
//
// Each drawing is new to the model, except in the last measurement, where the time to read it would hide the gateway's.
// The model computes its answer from the drawing and sends it in pieces, which count as tokens: they show how fast
// drawings are read and answers are sent, not how fast a language model generates.
//
//	go run ./scripts/bench/chat -gateway http://127.0.0.1:8005 -triton 127.0.0.1:8701
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"retort/orchestrator/triton"
)

var (
	gatewayURL = flag.String("gateway", "http://127.0.0.1:8005", "base URL of the chat API")
	tritonURL  = flag.String("triton", "127.0.0.1:8701", "gRPC address of the gateway's Triton")
	publicID   = flag.String("model", "retort/molecule-reader-v8", "public id of the model")
	entry      = flag.String("entry", "molecule_reader", "the model's name in Triton")
	molecules  = flag.String("molecules", "chem/testdata/molecules.smi",
		"SMILES to draw, one a line; only molecules of 12 to 30 heavy atoms are drawn")
	lone   = flag.Int("lone", 60, "answers of the single conversation")
	rounds = flag.Int("rounds", 5,
		"rounds of one and of eight conversations in turns, after one that is not counted")
	period = flag.Duration("period", 4*time.Second, "length of a round")
)

const question = "What is the SMILES of this molecule?"

func main() {
	flag.Parse()
	if *lone < 1 || *rounds < 1 {
		log.Fatal("-lone and -rounds must be at least 1")
	}
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	drawings, err := newAlbum(*molecules)
	if err != nil {
		return err
	}
	client, err := triton.Dial(triton.Config{URLs: []string{*tritonURL}})
	if err != nil {
		return err
	}
	defer client.Close()
	fmt.Printf("%d molecules in RDKit's default style, each drawing with another margin; tokens are the pieces of a text "+
		"that is computed before the first is sent\n\n", len(drawings.pictures))
	fmt.Print("| measured | median (lowest to highest) | wanted |\n| --- | --- | --- |\n")
	if err := single(ctx, drawings); err != nil {
		return err
	}
	if err := parallel(ctx, drawings); err != nil {
		return err
	}
	return overhead(ctx, drawings, client)
}

func row(name string, values []float64, unit, wanted string) {
	slices.Sort(values)
	fmt.Printf("| %s | %.3g %s (%.3g to %.3g) | %s |\n", name, values[len(values)/2], unit, values[0],
		values[len(values)-1], wanted)
}

// single measures one conversation, one answer after another.
func single(ctx context.Context, drawings *album) error {
	var firsts, wholes []float64
	drawings.prepare(*lone + 5)
	for i := range *lone + 5 {
		a, err := ask(ctx, question, drawings.next())
		if err != nil {
			return err
		}
		if i >= 5 { // the first answers warm up
			firsts = append(firsts, milliseconds(a.first))
			wholes = append(wholes, milliseconds(a.last))
		}
	}
	row("first token, one conversation", firsts, "ms", "at most 40 ms")
	row("whole answer with the SMILES", wholes, "ms", "at most 120 ms")
	return nil
}

// parallel compares the tokens per second of one and of eight conversations.
func parallel(ctx context.Context, drawings *album) error {
	var one, eight, ratio []float64
	for round := range *rounds + 1 {
		a, err := rate(ctx, drawings, 1)
		if err != nil {
			return err
		}
		b, err := rate(ctx, drawings, 8)
		if err != nil {
			return err
		}
		if round > 0 {
			one = append(one, a)
			eight = append(eight, b)
			ratio = append(ratio, b/a)
		}
	}
	row("one conversation", one, "tokens/s", "")
	row("eight conversations at once", eight, "tokens/s", "")
	row("eight against one, by round", ratio, "times", "at least 1.5")
	return nil
}

// rate returns the tokens per second of parallel conversations.
func rate(ctx context.Context, drawings *album, conversations int) (float64, error) {
	const maxRate = 150 // answers per second
	drawings.prepare(int(maxRate * period.Seconds()))
	var tokens atomic.Int64
	var failed atomic.Value
	var work sync.WaitGroup
	start := time.Now()
	for range conversations {
		work.Go(func() {
			for time.Since(start) < *period && failed.Load() == nil {
				a, err := ask(ctx, question, drawings.next())
				if err != nil {
					failed.Store(err)
				}
				tokens.Add(int64(a.tokens))
			}
		})
	}
	work.Wait()
	if err, ok := failed.Load().(error); ok {
		return 0, err
	}
	return float64(tokens.Load()) / time.Since(start).Seconds(), nil
}

// overhead compares the same long answer about a drawing that the model has read before, through the gateway and
// straight from Triton. What the gateway does once per request, such as decoding the image, is divided among the
// tokens.
func overhead(ctx context.Context, drawings *album, client *triton.Client) error {
	const question = "Describe this molecule. What are its mass, logP, InChI and functional groups?"
	drawings.prepare(1)
	picture := drawings.next()
	var through, straight, each []float64
	for i := range *lone + 5 {
		a, err := ask(ctx, question, picture)
		if err != nil {
			return err
		}
		b, err := askTriton(ctx, client, question, picture)
		if err != nil {
			return err
		}
		if a.tokens != b.tokens {
			return fmt.Errorf("%d tokens through the gateway, %d from Triton", a.tokens, b.tokens)
		}
		if i >= 5 {
			through = append(through, milliseconds(a.last))
			straight = append(straight, milliseconds(b.last))
			each = append(each, milliseconds(a.last-b.last)/float64(a.tokens))
		}
	}
	row("an answer about a known drawing, through the gateway", through, "ms", "")
	row("the same straight from Triton", straight, "ms", "")
	row("added by the gateway to a token", each, "ms", "at most 1 ms")
	return nil
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1e3 }
