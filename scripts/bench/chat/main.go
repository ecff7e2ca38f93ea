// Command chat measures the chat API with the model that reads drawings, in one run: the first token and the whole
// answer of a lone conversation, tokens a second of one and of eight conversations, and what the gateway adds to a
// token beside the same request straight to Triton. `make bench` starts the servers. Every drawing is one that was not
// read before, but for the last figure, where the reading would hide the gateway. The model's answer is computed from
// what it read and sent in pieces, so tokens a second are those pieces: they say how fast drawings are read and answers
// are sent, not how fast a language model draws tokens.
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
	tritonURL  = flag.String("triton", "127.0.0.1:8701", "gRPC address of the Triton behind it")
	publicID   = flag.String("model", "retort/molecule-reader-v3", "public id of the model")
	entry      = flag.String("entry", "molecule_reader", "its name in Triton")
	molecules  = flag.String("molecules", "chem/testdata/molecules.smi",
		"SMILES to draw, one a line; those of 12 to 30 heavy atoms are taken")
	lone   = flag.Int("lone", 60, "answers to one conversation")
	rounds = flag.Int("rounds", 5,
		"rounds of one and of eight conversations in turn, after one that is not counted")
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
	fmt.Printf("%d molecules in RDKit's default style, each drawing with a margin of its own; tokens are the pieces of a text "+
		"that is computed before the first is sent\n\n", len(drawings.pictures))
	fmt.Print("| measured | median (lowest to highest) | wanted |\n| --- | --- | --- |\n")
	for _, part := range []func(context.Context, *album, *triton.Client) error{first, several, added} {
		if err := part(ctx, drawings, client); err != nil {
			return err
		}
	}
	return nil
}

func row(name string, values []float64, unit, wanted string) {
	slices.Sort(values)
	fmt.Printf("| %s | %.3g %s (%.3g to %.3g) | %s |\n", name, values[len(values)/2], unit, values[0],
		values[len(values)-1], wanted)
}

// first measures a lone conversation, an answer after another.
func first(ctx context.Context, drawings *album, _ *triton.Client) error {
	var begins, ends []float64
	drawings.prepare(*lone + 5)
	for i := range *lone + 5 {
		a, err := ask(ctx, question, drawings.next())
		if err != nil {
			return err
		}
		if i >= 5 { // the first ones warm up
			begins = append(begins, milliseconds(a.first))
			ends = append(ends, milliseconds(a.whole))
		}
	}
	row("first token, one conversation", begins, "ms", "at most 40 ms")
	row("whole answer with the SMILES", ends, "ms", "at most 120 ms")
	return nil
}

// several compares the tokens a second of one conversation and of eight.
func several(ctx context.Context, drawings *album, _ *triton.Client) error {
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

// rate is the tokens a second of some conversations at once.
func rate(ctx context.Context, drawings *album, conversations int) (float64, error) {
	const fastest = 150 // answers a second
	drawings.prepare(int(fastest * period.Seconds()))
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

// added compares the same long answer about one drawing, read before, through the gateway and straight from Triton.
// What the gateway does once a request, the image too, is counted among the tokens.
func added(ctx context.Context, drawings *album, client *triton.Client) error {
	const about = "Describe this molecule. What are its mass, logP, InChI and functional groups?"
	drawings.prepare(1)
	picture := drawings.next()
	var through, straight, each []float64
	for i := range *lone + 5 {
		a, err := ask(ctx, about, picture)
		if err != nil {
			return err
		}
		b, err := askTriton(ctx, client, about, picture)
		if err != nil {
			return err
		}
		if a.tokens != b.tokens {
			return fmt.Errorf("%d tokens through the gateway, %d from Triton", a.tokens, b.tokens)
		}
		if i >= 5 {
			through = append(through, milliseconds(a.whole))
			straight = append(straight, milliseconds(b.whole))
			each = append(each, (milliseconds(a.whole)-milliseconds(b.whole))/float64(a.tokens))
		}
	}
	row("an answer about a known drawing, through the gateway", through, "ms", "")
	row("the same straight from Triton", straight, "ms", "")
	row("added by the gateway to a token", each, "ms", "at most 1 ms")
	return nil
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1e3 }
