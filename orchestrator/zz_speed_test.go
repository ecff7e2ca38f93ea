package main

import (
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

func cpu() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(0, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func TestZZSpeed(t *testing.T) {
	p := start(t)
	rows, _ := strconv.Atoi(os.Getenv("ROWS"))
	conc, _ := strconv.Atoi(os.Getenv("CONC"))
	texts := make([]string, rows)
	for i := range texts {
		texts[i] = `"Why does aspirin dissolve in water?"`
	}
	body := `{"model":"sentence-transformers/all-MiniLM-L6-v2","input":[` + strings.Join(texts, ",") + `]}`
	c := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	var n atomic.Int64
	var wg sync.WaitGroup
	for round := range 4 {
		n.Store(0)
		c0, t0 := cpu(), time.Now()
		for range conc {
			wg.Go(func() {
				for time.Since(t0) < 3*time.Second {
					res, err := c.Post(p.doors["embedding"]+"/v1/embeddings", "application/json", strings.NewReader(body))
					if err != nil {
						t.Error(err)
						return
					}
					_, _ = io.Copy(io.Discard, res.Body)
					res.Body.Close()
					n.Add(1)
				}
			})
		}
		wg.Wait()
		t.Logf("round %d: %d requests, %.1f µs CPU each", round, n.Load(), float64((cpu()-c0).Microseconds())/float64(n.Load()))
	}
}
