// Package load is steady traffic of outside clients, who request embeddings, rankings and latent molecules over HTTP
// and check each answer. A client sends its next request after the answer, and never repeats a request that failed.
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

// Kind is a kind of request with a check of its answer.
type Kind struct {
	Name, Path, Body string
	Check            func(answer map[string]any) bool
}

// Kinds are the kinds of requests that the clients send in turns.
var Kinds = []Kind{
	{
		Name: "embedding", Path: "/embedding/v1/embeddings",
		Body: `{"model":"retort/minilm-embedqa-v2","input_type":"query",` +
			`"input":["What eases pain?","Aspirin is an analgesic."]}`,
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

// Result is the outcome of a request.
type Result struct {
	Kind  string
	Start time.Time
	Took  time.Duration
	Err   error
}

// Options describe a group of clients.
type Options struct {
	Address string // host:port
	Clients int
	// Pause is the time between an answer and the client's next request.
	Pause time.Duration
	// Reuse is the number of requests on a connection; 0: as many as the server allows.
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

// Start starts the clients. They end with ctx or Stop.
func Start(ctx context.Context, o Options) *Load {
	l := &Load{}
	ctx, l.stop = context.WithCancel(ctx)
	for i := range o.Clients {
		l.running.Go(func() {
			c := &client{options: o}
			c.reconnect()
			for n := i; ctx.Err() == nil; n++ {
				l.add(c.send(o.Kinds[n%len(o.Kinds)], n))
				pause(ctx, o.Pause)
			}
		})
	}
	return l
}

// Stop waits for the requests in flight.
func (l *Load) Stop() {
	l.stop()
	l.running.Wait()
}

func (l *Load) add(r Result) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.results = append(l.results, r)
}

// Between returns the requests that were in flight at any time of a period.
func (l *Load) Between(from, to time.Time) (found []Result) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range l.results {
		if r.Start.Before(to) && r.Start.Add(r.Took).After(from) {
			found = append(found, r)
		}
	}
	return found
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

type client struct {
	options Options
	http    *http.Client
}

// reconnect makes the following requests use a new connection.
func (c *client) reconnect() {
	if c.http != nil {
		c.http.CloseIdleConnections()
	}
	dialer := &net.Dialer{Timeout: 5 * time.Second}
	c.http = &http.Client{
		Timeout:   60 * time.Second,
		Transport: &http.Transport{DialContext: dialer.DialContext, MaxIdleConnsPerHost: 1},
	}
}

// send sends the n-th request of this client.
func (c *client) send(k Kind, n int) Result {
	if c.options.Reuse > 0 && n%c.options.Reuse == 0 {
		c.reconnect()
	}
	r := Result{Kind: k.Name, Start: time.Now()}
	r.Err = c.post(k)
	r.Took = time.Since(r.Start)
	return r
}

func (c *client) post(k Kind) error {
	// The request does not end with the load: every request that is started counts.
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
		return fmt.Errorf("wrong answer: %.200s", text)
	}
	return nil
}

// Failed returns the requests that failed or got a wrong answer.
func Failed(results []Result) (failed []Result) {
	for _, r := range results {
		if r.Err != nil {
			failed = append(failed, r)
		}
	}
	return failed
}

// Quantile returns a quantile of the latencies, such as 0.99.
func Quantile(results []Result, q float64) time.Duration {
	if len(results) == 0 {
		return 0
	}
	took := make([]time.Duration, len(results))
	for i, r := range results {
		took[i] = r.Took
	}
	slices.Sort(took)
	return took[min(int(q*float64(len(took))), len(took)-1)]
}
