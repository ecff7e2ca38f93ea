package chat_test

import (
	"context"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"github.com/rs/zerolog"

	"retort/orchestrator/chat"
	"retort/orchestrator/chat/anthropic"
	"retort/orchestrator/chat/openai"
	"retort/orchestrator/chat/stack"
	"retort/orchestrator/chat/vision"
	"retort/orchestrator/gateway"
	"retort/orchestrator/gateway/httpserver"
	"retort/orchestrator/telemetry"
	"retort/orchestrator/triton"
	"retort/orchestrator/triton/discovery"
	"retort/orchestrator/triton/tritontest"
)

var scriptedModels = []string{"scripted_vllm", "scripted_ensemble", "scripted_llmapi"}

// testServer is the API over HTTP with a Triton behind it.
type testServer struct {
	t   testing.TB
	url string
}

// fakeTriton starts an in-process Triton with the scripted models.
func fakeTriton(t testing.TB) (url, repository string) {
	var models []tritontest.Model
	for _, name := range scriptedModels {
		models = append(models, scriptedModel(t, name))
	}
	return tritontest.Start(t, models...).URL(), "testdata/models"
}

// realTriton loads the scripted models into the Triton that the environment names.
func realTriton(t *testing.T) (url, repository string) {
	url = os.Getenv("RETORT_TEST_TRITON_URL")
	repository = os.Getenv("RETORT_TEST_TRITON_REPOSITORY")
	if url == "" || repository == "" {
		t.Skip("RETORT_TEST_TRITON_URL and RETORT_TEST_TRITON_REPOSITORY name no Triton with explicit model control")
	}
	admin := tritontest.NewAdmin(t, url)
	code, err := os.ReadFile("testdata/scripted/model.py")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range scriptedModels {
		folder := filepath.Join(repository, name)
		install(t, name, folder, code)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		if err := admin.Load(ctx, name, ""); err != nil {
			t.Fatal(err)
		}
		cancel()
		t.Cleanup(func() {
			_ = admin.Unload(context.Background(), name)
			os.RemoveAll(folder)
		})
	}
	return url, repository
}

func install(t *testing.T, name, folder string, code []byte) {
	os.RemoveAll(folder)
	if err := os.CopyFS(folder, os.DirFS(filepath.Join("testdata/models", name))); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(folder, "1"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "1", "model.py"), code, 0o644); err != nil {
		t.Fatal(err)
	}
}

// defaults returns the settings of a command line without flags.
func defaults(t testing.TB) (config chat.Config) {
	t.Helper()
	parser, err := kong.New(&config)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parser.Parse(nil); err != nil {
		t.Fatal(err)
	}
	return config
}

// serve starts the API over HTTP with a Triton behind it.
func serve(t testing.TB, tritonURL, repository string, change func(*chat.Config, *gateway.Config)) *testServer {
	t.Helper()
	config := defaults(t)
	config.Image.FetchAllow = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	limits := gateway.Config{Concurrency: 64, Queue: 64, BodyLimit: 32 << 20, Timeout: 30 * time.Second}
	if change != nil {
		change(&config, &limits)
	}
	client, err := triton.Dial(triton.Config{URLs: []string{tritonURL}, ProbeEvery: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	registry := discovery.NewRegistry(client, discovery.Config{Every: 20 * time.Millisecond, Repository: repository})
	images := vision.NewLoader(config.Image, nil)
	log := zerolog.New(zerolog.NewTestWriter(t)).Level(zerolog.WarnLevel)
	models := discovery.NewCatalog(registry, "chat", log, func(int) {}, chat.Opener(client))
	service := chat.New(config, images, models)
	service.Mount(openai.New(service, nil), stack.New(service), anthropic.New(service))
	life, end := context.WithCancel(context.Background())
	g, err := gateway.New(life, service, func() bool { return false }, gateway.Options{
		Config: limits, Version: "test", Logger: zerolog.Nop(), Metrics: telemetry.NewMetrics(),
	})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := httpserver.New(g.Handler(), httpserver.Config{})
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() {
		end()
		_ = server.Shutdown(time.Second)
		registry.Close()
		client.Close()
	})
	deadline := time.Now().Add(20 * time.Second)
	for len(service.Models()) < len(scriptedModels) {
		if time.Now().After(deadline) {
			t.Fatalf("found only the models %v, %v", service.Models(), service.Ready())
		}
		time.Sleep(5 * time.Millisecond)
	}
	return &testServer{t: t, url: "http://" + listener.Addr().String()}
}
