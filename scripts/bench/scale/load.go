package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"
	"golang.org/x/sync/errgroup"

	"retort/scripts/bench/comparison"
)

// load is the requests of a stand. Their bodies are made beforehand, and answers are not parsed, so that the load
// generator needs little of the machine.
type load struct {
	client *fasthttp.HostClient
	url    string
	bodies [][]byte // sent in turn, each to another model
	next   atomic.Uint64
}

// variants is the number of different requests to each model.
const variants = 16

func newLoad(url string, of size) *load {
	host, _, _ := strings.Cut(strings.TrimPrefix(url, "http://"), "/")
	l := &load{client: &fasthttp.HostClient{Addr: host, MaxConns: 4096}, url: url + "/embeddings"}
	for v := range variants {
		for m := range of.models {
			body, _ := json.Marshal(map[string]any{ // strings only: no error
				"model": modelID(m), "input": questions(v), "encoding_format": of.format,
			})
			l.bodies = append(l.bodies, body)
		}
	}
	return l
}

// questions are the texts of a request, of about a dozen tokens each.
func questions(variant int) []string {
	subjects := []string{"aspirin", "caffeine", "the liver", "a kinase", "insulin", "vitamin D", "an enzyme", "copper"}
	all := make([]string, *texts)
	for i := range all {
		all[i] = fmt.Sprintf("When did %s first dissolve in %d mg of water?", subjects[i%len(subjects)], variant*len(all)+i)
	}
	return all
}

// send sends the next request.
func (l *load) send() error {
	req := fasthttp.AcquireRequest()
	res := fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(req)
	defer fasthttp.ReleaseResponse(res)
	req.SetRequestURI(l.url)
	req.Header.SetMethod(http.MethodPost)
	req.Header.SetContentType("application/json")
	req.SetBodyRaw(l.bodies[l.next.Add(1)%uint64(len(l.bodies))])
	if err := l.client.Do(req, res); err != nil {
		return err
	}
	if res.StatusCode() != http.StatusOK {
		return fmt.Errorf("status %d: %.200s", res.StatusCode(), res.Body())
	}
	return nil
}

// traffic sends requests until ctx ends. It calls record for each answer.
type traffic func(ctx context.Context, record func(latency time.Duration)) error

// closed returns the traffic of clients that each send their next request when the last one is answered.
func (l *load) closed(clients int) traffic {
	return func(ctx context.Context, record func(time.Duration)) error {
		workers, ctx := errgroup.WithContext(ctx)
		for range clients {
			workers.Go(func() error {
				for ctx.Err() == nil {
					start := time.Now()
					if err := l.send(); err != nil {
						return err
					}
					record(time.Since(start))
				}
				return nil
			})
		}
		return workers.Wait()
	}
}

// open returns traffic at even intervals, whether or not answers come. A latency counts from when its request was due.
func (l *load) open(perSecond float64) traffic {
	return func(ctx context.Context, record func(time.Duration)) error {
		requests, ctx := errgroup.WithContext(ctx)
		start := time.Now()
		for i := 0; ctx.Err() == nil; i++ {
			due := start.Add(time.Duration(float64(i) / perSecond * float64(time.Second)))
			time.Sleep(time.Until(due))
			requests.Go(func() error {
				if err := l.send(); err != nil {
					return err
				}
				record(time.Since(due))
				return nil
			})
		}
		return requests.Wait()
	}
}

// result is what a measurement gave.
type result struct {
	rate                    float64 // requests a second
	p50, p99                float64 // milliseconds
	gateway, replicas, load float64 // cores
	others                  float64 // share of the machine
}

// cost returns the gateway's processor time of a request in milliseconds.
func (r result) cost() float64 { return 1000 * r.gateway / r.rate }

// warmUp is how long traffic flows before it is measured.
const warmUp = time.Second

// measure measures traffic for one period.
func (l *load) measure(ctx context.Context, s *stand, send traffic) (r result, err error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var mu sync.Mutex
	var latencies []time.Duration
	record := func(latency time.Duration) {
		mu.Lock()
		defer mu.Unlock()
		latencies = append(latencies, latency)
	}
	ended := make(chan error, 1)
	go func() { ended <- send(ctx, record) }()
	if err := sleep(ended, warmUp); err != nil {
		return r, err
	}
	mu.Lock()
	latencies = nil
	mu.Unlock()
	self := comparison.Processes{os.Getpid()}
	start := time.Now()
	before := comparison.Now(append(s.gateway, s.replicas...))
	gateway, replicas, total := s.gateway.Used(), s.replicas.Used(), self.Used()
	if err := sleep(ended, *period); err != nil {
		return r, err
	}
	seconds := time.Since(start).Seconds()
	r.gateway = (s.gateway.Used() - gateway).Seconds() / seconds
	r.replicas = (s.replicas.Used() - replicas).Seconds() / seconds
	// The gateway and the replicas are children of this process.
	r.load = (self.Used()-total).Seconds()/seconds - r.gateway - r.replicas
	r.others = comparison.Now(append(s.gateway, s.replicas...)).Others(before)
	mu.Lock()
	all := slices.Clone(latencies)
	mu.Unlock()
	stop()
	if err := <-ended; err != nil {
		return r, err
	}
	if len(all) == 0 {
		return r, errors.New("no request was answered in the period")
	}
	slices.Sort(all)
	r.rate = float64(len(all)) / seconds
	r.p50 = quantile(all, 0.50)
	r.p99 = quantile(all, 0.99)
	return r, nil
}

// sleep waits, or returns the error of traffic that has ended before.
func sleep(ended <-chan error, d time.Duration) error {
	select {
	case err := <-ended:
		return err
	case <-time.After(d):
		return nil
	}
}

// quantile returns a quantile of sorted latencies in milliseconds.
func quantile(sorted []time.Duration, q float64) float64 {
	return float64(sorted[int(q*float64(len(sorted)-1))].Microseconds()) / 1000
}
