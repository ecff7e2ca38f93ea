package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"retort/orchestrator/triton"
	"retort/orchestrator/triton/tritontest"
)

// What a caller of the program's own asks for ends when the caller leaves, and counts as a request of the API.
func TestAskingAnAPIEndsWithItsCaller(t *testing.T) {
	slow := entry(t, "minilm_embed")
	began := make(chan struct{}, 8)
	ended := make(chan struct{}, 8)
	slow.Infer = func(ctx context.Context, _ *triton.Request) (*triton.Response, error) {
		began <- struct{}{}
		<-ctx.Done()
		ended <- struct{}{}
		return nil, ctx.Err()
	}
	server := tritontest.Start(t, slow)
	var cli commands
	parser, err := newParser(&cli)
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"serve", "--host=127.0.0.1", "--port=-1", "--triton-url=" + server.URL(), "--model-repository=../model_repository", "--discovery=50ms", "--no-jobs"}
	for _, s := range services {
		args = append(args, "--"+s.name+"-port=0")
	}
	if _, err := parser.Parse(args); err != nil {
		t.Fatal(err)
	}
	var out console
	a, err := build(&cli.Config, zerolog.New(&out), &out)
	if err != nil {
		t.Fatal(err)
	}
	defer a.close()
	for until := time.Now().Add(10 * time.Second); len(a.modelsOf("embedding")) == 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatal("no model")
		}
	}
	caller, leave := context.WithCancel(t.Context())
	answered := make(chan int, 1)
	go func() {
		status, _ := a.ask(caller, "embedding", "POST", "/embed", []byte(`{"inputs":"a"}`))
		answered <- status
	}()
	<-began
	leave()
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		t.Fatal("the work went on")
	}
	if status := <-answered; status != 499 {
		t.Errorf("answered with %d", status)
	}
	if log := out.String(); !strings.Contains(log, `"path":"/embed","status":499`) {
		t.Errorf("not logged as the API's: %s", log)
	}
}
