// Package load is steady traffic of outside clients: embeddings, rankings and latent molecules over HTTP, each answer
// checked. A client asks again only after its answer, and never repeats a request that failed.
package load

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

// Kind is one kind of request and what its answer has to hold.
type Kind struct {
	Name, Path, Body string
	Check            func(answer map[string]any) bool
}

// Kinds are the requests that the clients send in turns.
var Kinds = []Kind{
	{
		Name: "embedding", Path: "/embedding/v1/embeddings",
		Body:  `{"model":"retort/minilm-embedqa-v2","input":["What eases pain?","Aspirin is an analgesic."],"input_type":"query"}`,
		Check: func(a map[string]any) bool { return length(a["data"]) == 2 },
	},
	{
		Name: "ranking", Path: "/ranking/v1/ranking",
		Body: `{"model":"retort/rankqa-minilm-v2","query":{"text":"Which drug eases pain?"},"truncate":"END",` +
			`"passages":[{"text":"Caffeine is a stimulant."},{"text":"Aspirin is an analgesic."}]}`,
		Check: func(a map[string]any) bool { return length(a["rankings"]) == 2 },
	},
	{
		Name: "latent", Path: "/latent/sampling",
		Body:  `{"sequences":["CC(Cc1ccc(cc1)C(C(=O)O)C)C"],"num_molecules":1,"scaled_radius":0.5}`,
		Check: func(a map[string]any) bool { return length(a["generated"]) == 1 },
	},
}

func length(list any) int {
	items, _ := list.([]any)
	return len(items)
}

// Result is one request.
type Result struct {
	Kind  string
	Begun time.Time
	Took  time.Duration
	Err   error
}

// Options are those of a group of clients.
type Options struct {
	Address string // host:port
	Clients int
	// Pause is how long a client waits between an answer and its next request.
	Pause time.Duration
	// Reuse is how many requests share a connection; 0: as many as the server lets.
	Reuse int
	Kinds []Kind
}

// Load is a running group of clients.
type Load struct {
	stop    context.CancelFunc
	running sync.WaitGroup
	mu      sync.Mutex
	results []Result
}

// Start lets the clients begin. They end with ctx, or with Stop.
func Start(ctx context.Context, o Options) *Load {
	l := &Load{}
	ctx, l.stop = context.WithCancel(ctx)
	for i := range o.Clients {
		l.running.Go(func() {
			c := &client{options: o}
			c.renew()
			for n := i; ctx.Err() == nil; n++ {
				l.add(c.ask(o.Kinds[n%len(o.Kinds)], n))
				pause(ctx, o.Pause)
			}
		})
	}
	return l
}

// Stop lets requests under way end.
func (l *Load) Stop() {
	l.stop()
	l.running.Wait()
}

func (l *Load) add(r Result) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.results = append(l.results, r)
}

// Between returns the requests that were under way in any part of a time.
func (l *Load) Between(from, to time.Time) (found []Result) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range l.results {
		if r.Begun.Before(to) && r.Begun.Add(r.Took).After(from) {
			found = append(found, r)
		}
	}
	return found
}

func pause(ctx context.Context, long time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(long):
	}
}

type client struct {
	options Options
	http    *http.Client
}

// renew takes a connection of its own for what follows.
func (c *client) renew() {
	if c.http != nil {
		c.http.CloseIdleConnections()
	}
	dialer := &net.Dialer{Timeout: 5 * time.Second}
	c.http = &http.Client{Timeout: 60 * time.Second,
		Transport: &http.Transport{DialContext: dialer.DialContext, MaxIdleConnsPerHost: 1}}
}

// ask sends the n-th request of this client.
func (c *client) ask(k Kind, n int) Result {
	if c.options.Reuse > 0 && n%c.options.Reuse == 0 {
		c.renew()
	}
	r := Result{Kind: k.Name, Begun: time.Now()}
	r.Err = c.post(k)
	r.Took = time.Since(r.Begun)
	return r
}

func (c *client) post(k Kind) error {
	// A context that never ends: a request that was begun is a request that counts.
	answer, err := c.http.Post("http://"+c.options.Address+k.Path, "application/json", bytes.NewBufferString(k.Body))
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d: %.200s", answer.StatusCode, text)
	}
	var body map[string]any
	if err := json.Unmarshal(text, &body); err != nil {
		return err
	}
	if !k.Check(body) {
		return fmt.Errorf("not the answer: %.200s", text)
	}
	return nil
}

// Failed returns the requests that were not answered well.
func Failed(results []Result) (failed []Result) {
	for _, r := range results {
		if r.Err != nil {
			failed = append(failed, r)
		}
	}
	return failed
}

// Quantile is a share of the times that requests took, such as 0.99.
func Quantile(results []Result, share float64) time.Duration {
	if len(results) == 0 {
		return 0
	}
	took := make([]time.Duration, len(results))
	for i, r := range results {
		took[i] = r.Took
	}
	slices.Sort(took)
	return took[min(int(share*float64(len(took))), len(took)-1)]
}
