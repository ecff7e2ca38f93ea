package chat_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"image"
	"image/color"
	"image/png"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"retort/orchestrator/chat"
	"retort/orchestrator/chat/openai"
	"retort/orchestrator/chat/stack"
	"retort/orchestrator/chat/vision"
	"retort/orchestrator/gateway"
	"retort/orchestrator/telemetry"
	"retort/orchestrator/triton"
	"retort/orchestrator/triton/tritontest"
)

var scriptedModels = []string{"scripted_vllm", "scripted_ensemble", "scripted_llmapi"}

// stand is the API over HTTP, in front of a Triton.
type stand struct {
	t   testing.TB
	url string
}

// fakeTriton is the in-process server with the scripted models.
func fakeTriton(t testing.TB) (url, repository string) {
	var models []tritontest.Model
	for _, name := range scriptedModels {
		models = append(models, scriptedModel(t, name))
	}
	return tritontest.Start(t, models...).URL(), "testdata/models"
}

// realTriton is the server that the environment names, under explicit model
// control, with the scripted models loaded into it.
func realTriton(t *testing.T) (url, repository string) {
	url, repository = os.Getenv("RETORT_TEST_TRITON_URL"), os.Getenv("RETORT_TEST_TRITON_REPOSITORY")
	if url == "" || repository == "" {
		t.Skip("RETORT_TEST_TRITON_URL and RETORT_TEST_TRITON_REPOSITORY do not name a tritonserver under explicit model control")
	}
	client, err := triton.Dial(triton.Config{URLs: []string{url}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	code, err := os.ReadFile("testdata/scripted/model.py")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range scriptedModels {
		folder := filepath.Join(repository, name)
		install(t, name, folder, code)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		if err := client.Admin().Load(ctx, name, nil); err != nil {
			t.Fatal(err)
		}
		cancel()
		t.Cleanup(func() {
			_ = client.Admin().Unload(context.Background(), name)
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

// serve puts the API in front of a Triton.
func serve(t testing.TB, tritonURL, repository string, change func(*chat.Config, *gateway.Config)) *stand {
	t.Helper()
	config := chat.DefaultConfig()
	config.Image.FetchAllow = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	limits := gateway.Config{Concurrency: 64, Queue: 64, BodyLimit: 32 << 20, Timeout: 30 * time.Second}
	if change != nil {
		change(&config, &limits)
	}
	client, err := triton.Dial(triton.Config{URLs: []string{tritonURL}, ProbeEvery: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	registry := triton.NewRegistry(client, triton.RegistryConfig{Every: 20 * time.Millisecond, Repository: repository})
	images := vision.NewLoader(config.Image, nil)
	log := zerolog.New(zerolog.NewTestWriter(t)).Level(zerolog.WarnLevel)
	models := triton.NewCatalog(registry, "chat", log, func(int) {}, chat.Opener(client))
	service := chat.New(config, images, models)
	service.Mount(openai.New(service), stack.New(service))
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
	server := gateway.NewServer(g.Handler(), gateway.ServerConfig{})
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() {
		end()
		_ = server.Shutdown(time.Second)
		registry.Close()
		client.Close()
	})
	for until := time.Now().Add(20 * time.Second); len(service.Models()) < len(scriptedModels); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("the models are not found: %v, %v", service.Models(), service.Ready())
		}
	}
	return &stand{t: t, url: "http://" + listener.Addr().String()}
}

func (s *stand) get(path string) (int, string) {
	s.t.Helper()
	res, err := http.Get(s.url + path)
	if err != nil {
		s.t.Fatal(err)
	}
	return read(s.t, res)
}

func read(t testing.TB, res *http.Response) (int, string) {
	t.Helper()
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(text)
}

func (s *stand) post(path string, body any) (int, string) {
	s.t.Helper()
	res, err := http.Post(s.url+path, "application/json", encoded(s.t, body))
	if err != nil {
		s.t.Fatal(err)
	}
	return read(s.t, res)
}

func encoded(t testing.TB, body any) io.Reader {
	if text, ok := body.(string); ok {
		return strings.NewReader(text)
	}
	data, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.NewReader(data)
}

// answered posts what must succeed and decodes the answer.
func answered[T any](s *stand, path string, body any) (out T) {
	s.t.Helper()
	status, text := s.post(path, body)
	if status != http.StatusOK {
		s.t.Fatalf("%d: %s", status, text)
	}
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		s.t.Fatalf("%v: %s", err, text)
	}
	return out
}

// events posts a request for a stream and returns the data of its events.
func (s *stand) events(path string, body any) (events []string) {
	s.t.Helper()
	res, err := http.Post(s.url+path, "application/json", encoded(s.t, body))
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	if kind := res.Header.Get("Content-Type"); res.StatusCode != 200 || !strings.HasPrefix(kind, "text/event-stream") {
		_, text := read(s.t, res)
		s.t.Fatalf("%d %s: %s", res.StatusCode, kind, text)
	}
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		data, found := strings.CutPrefix(lines.Text(), "data: ")
		switch {
		case found:
			events = append(events, data)
		case lines.Text() != "" && !strings.HasPrefix(lines.Text(), ":"):
			s.t.Errorf("no line of a stream: %q", lines.Text())
		}
	}
	return events
}

type object = map[string]any

// said is a request whose model says these pieces.
func said(model string, extra object, pieces ...string) object {
	text, _ := json.Marshal(object{"say": pieces})
	return told(model, string(text), extra)
}

// told is a request with a script.
func told(model, script string, extra object) object {
	return asked(model, "script "+script, extra)
}

func asked(model string, content any, extra object) object {
	body := object{"model": model, "messages": []any{object{"role": "user", "content": content}}}
	for name, value := range extra {
		body[name] = value
	}
	return body
}

// drawing is a small PNG as a data URL.
func drawing(width, height int, c color.Color) string {
	img := image.NewNRGBA(image.Rect(0, 0, width, height))
	for i := range width * height {
		img.Set(i%width, i/width, c)
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		panic(err)
	}
	return "data:image/png;base64," + base64.StdEncoding.EncodeToString(b.Bytes())
}

func imagePart(url string) object {
	return object{"type": "image_url", "image_url": object{"url": url}}
}

func textPart(text string) object { return object{"type": "text", "text": text} }
