package main

import (
	"context"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"retort/orchestrator/triton"
	"retort/orchestrator/triton/inferencepb"
	"retort/orchestrator/triton/tritontest"
)

// A request from inside the program ends when its caller leaves, and counts as a request of the API.
func TestInternalRequestEndsWithItsCaller(t *testing.T) {
	slow := entry(t, "minilm_embed")
	started := make(chan struct{}, 8)
	ended := make(chan struct{}, 8)
	slow.Infer = func(ctx context.Context, _ *triton.Request) (*triton.Response, error) {
		started <- struct{}{}
		<-ctx.Done()
		ended <- struct{}{}
		return nil, ctx.Err()
	}
	server := tritontest.Start(t, slow)
	var out console
	a := assemble(t, server, &out)
	awaitModels(t, a, "embedding", 1)
	caller, leave := context.WithCancel(t.Context())
	answered := make(chan int, 1)
	go func() {
		status, _ := a.callAPI(caller, "embedding", "POST", "/embed", []byte(`{"inputs":"a"}`))
		answered <- status
	}()
	<-started
	leave()
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		t.Fatal("the work continued")
	}
	if status := <-answered; status != 499 {
		t.Errorf("answered with %d", status)
	}
	if log := out.String(); !strings.Contains(log, `"path":"/embed","status":499`) {
		t.Errorf("not logged as the API's: %s", log)
	}
}

// read_drawing and the model list know which models take images.
func TestImageModels(t *testing.T) {
	var models []tritontest.Model
	for id, images := range map[string]string{"lab/a-writer": "0", "lab/b-reader": "1", "lab/c-writer": "0",
		"lab/d-reader": "2"} {
		config := tritontest.ConfigFile(t, "chat/testdata/models/scripted_llmapi/config.pbtxt")
		config.Name = path.Base(id)
		config.Parameters["model_id"] = &inferencepb.ModelParameter{StringValue: id}
		config.Parameters["max_images"] = &inferencepb.ModelParameter{StringValue: images}
		models = append(models, tritontest.Model{Name: config.Name, Config: config})
	}
	var out console
	a := assemble(t, tritontest.Start(t, models...), &out)
	awaitModels(t, a, "chat", len(models))
	if got := a.imageModels(); !slices.Equal(got, []string{"lab/b-reader", "lab/d-reader"}) {
		t.Errorf("%q", got)
	}
	for _, card := range a.modelCards() {
		if want := card.ID == "lab/b-reader" || card.ID == "lab/d-reader"; card.Images != want {
			t.Errorf("in the list, images of %s is %v", card.ID, card.Images)
		}
	}
}

// assemble builds the program in front of a Triton. It listens, but answers nothing yet.
func assemble(t *testing.T, triton *tritontest.Server, out *console) *server {
	t.Helper()
	var line commandLine
	parser, err := newParser(&line)
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"serve", "--host=127.0.0.1", "--port=-1", "--triton-url=" + triton.URL(),
		"--model-repository=../model_repository", "--discovery=50ms", "--no-jobs"}
	for _, api := range services {
		args = append(args, "--"+api.name+"-port=0")
	}
	if _, err := parser.Parse(args); err != nil {
		t.Fatal(err)
	}
	s, err := newServer(&line.Config, zerolog.New(out))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.close)
	return s
}

// awaitModels returns when an API serves that many models.
func awaitModels(t *testing.T, s *server, api string, count int) {
	t.Helper()
	g, _ := s.gateway(api)
	for until := time.Now().Add(10 * time.Second); len(g.API().Models()) < count; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("%d of %d models", len(g.API().Models()), count)
		}
	}
}
