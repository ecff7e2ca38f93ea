package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rs/zerolog"

	"retort/chem"
	"retort/orchestrator/fault"
	"retort/orchestrator/gateway"
	"retort/orchestrator/gateway/httpserver"
	"retort/orchestrator/telemetry"
)

// TestMain runs the tests or, for scripts/tests/test_mcp_conformance.py, serves the fixtures until SIGTERM.
func TestMain(m *testing.M) {
	if os.Getenv("RETORT_TEST_MCP_FIXTURES") == "" {
		os.Exit(m.Run())
	}
	if err := serveFixtures(); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

// serveFixtures serves tools with the names and results that the conformance suite of the protocol expects, through the
// service and the gateway of the product. Only the tools, their APIs and the storage of tasks are made for the suite.
func serveFixtures() error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	g, err := gateway.New(ctx, newFixtures(), func() bool { return false }, gateway.Options{
		Config:  gateway.Config{Concurrency: 16, Queue: 64, BodyLimit: 1 << 20, Timeout: time.Minute},
		Metrics: telemetry.NewMetrics(), Logger: zerolog.Nop(),
	})
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := httpserver.New(g.Handler(), httpserver.Config{})
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	fmt.Printf("serving http://%s%s\n", listener.Addr(), Path)
	<-ctx.Done()
	return errors.Join(server.Shutdown(time.Second), <-served)
}

// newFixtures returns the service with the tools of the suite.
func newFixtures() *Service {
	s := &Service{tasks: &fixtureTasks{tasks: map[string]*fixtureTask{}}, version: "1.0.0", logger: zerolog.Nop()}
	s.callAPI = func(ctx context.Context, api, _, _ string, body []byte) (int, []byte) {
		status, answer, _ := s.followAPI(ctx, api, "", body, func([]byte) error { return nil })
		return status, answer
	}
	s.followAPI = followFixture
	for name, answer := range fixtureTools() {
		s.addTool(name, name, "A tool of the conformance suite.", schemaOf(name),
			func(context.Context, json.RawMessage) *mcp.CallToolResult { return answer })
	}
	addTypedTool(s, "greet", "Greet", "Greets.",
		func(_ context.Context, in struct {
			Name string `json:"name"`
		}) *mcp.CallToolResult {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "Hello, " + in.Name + "!"}}}
		})
	for _, name := range []string{
		"test_tool_with_progress", "test_streaming_elicitation", "slow_compute", "failing_job", "protocol_error_job",
		"confirm_delete",
	} {
		t := forwardedTool{name: name, api: name, path: "/generate", isSearch: true}
		added := s.addTool(name, name, "A search of the conformance suite.", map[string]any{"type": "object"},
			func(ctx context.Context, arguments json.RawMessage) *mcp.CallToolResult {
				return s.forward(ctx, t.api, t.path, arguments, nil)
			})
		added.search = &search{forwardedTool: t}
	}
	s.http = newHandler(s.server, "")
	return s
}

// fixtureTools are the tools whose result is always the same.
func fixtureTools() map[string]*mcp.CallToolResult {
	benzene, err := chem.Parse("c1ccccc1")
	if err != nil {
		panic(err)
	}
	picture, err := chem.PNG(benzene, 100, 100)
	if err != nil {
		panic(err)
	}
	text := &mcp.TextContent{Text: "This is a simple text response for testing."}
	image := &mcp.ImageContent{Data: picture, MIMEType: "image/png"}
	resource := &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{
		URI: "test://embedded", MIMEType: "text/plain", Text: "An embedded resource.",
	}}
	return map[string]*mcp.CallToolResult{
		"test_simple_text":            {Content: []mcp.Content{text}},
		"test_image_content":          {Content: []mcp.Content{image}},
		"test_audio_content":          {Content: []mcp.Content{&mcp.AudioContent{Data: []byte("RIFF"), MIMEType: "audio/wav"}}},
		"test_embedded_resource":      {Content: []mcp.Content{resource}},
		"test_multiple_content_types": {Content: []mcp.Content{text, image, resource}},
		"test_error_handling":         refusal("this tool intentionally returns an error for testing"),
		"test_x_mcp_header":           {Content: []mcp.Content{text}},
		"json_schema_2020_12_tool":    {Content: []mcp.Content{text}},
	}
}

// schemaOf returns the schema of a tool's arguments that the suite expects.
func schemaOf(name string) any {
	switch name {
	case "test_x_mcp_header":
		return json.RawMessage(`{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}`)
	case "json_schema_2020_12_tool":
		return json.RawMessage(`{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",
			"$defs":{"address":{"$anchor":"addressDef","type":"object",
				"properties":{"street":{"type":"string"},"city":{"type":"string"}}}},
			"properties":{"name":{"type":"string"},"address":{"$ref":"#/$defs/address"},
				"contactMethod":{"type":"string","enum":["phone","email"]},
				"phone":{"type":"string"},"email":{"type":"string"}},
			"allOf":[{"anyOf":[{"required":["phone"]},{"required":["email"]}]}],
			"if":{"properties":{"contactMethod":{"const":"phone"}},"required":["contactMethod"]},
			"then":{"required":["phone"]},"else":{"required":["email"]},"additionalProperties":false}`)
	}
	return map[string]any{"type": "object"}
}

// followFixture is the API of a search: it reports three iterations and ends with the answer, or with a failure.
func followFixture(
	ctx context.Context, tool, _ string, body []byte, onEvent func([]byte) error,
) (status int, answer []byte, err error) {
	var request struct{ Seconds float64 }
	_ = json.Unmarshal(body, &request)
	for i := 1; i <= 3; i++ {
		if err := onEvent(fmt.Appendf(nil, `{"iteration":%d}`, i)); err != nil {
			return 0, nil, err
		}
	}
	select {
	case <-ctx.Done():
		return 499, []byte("left"), ctx.Err()
	case <-time.After(time.Duration(request.Seconds * float64(time.Second))):
	}
	if tool == "failing_job" {
		return http.StatusBadRequest, []byte(`{"detail":"the job failed"}`), nil
	}
	return http.StatusOK, []byte(`{"generated":[]}`), nil
}

// fixtureTasks runs the searches of the suite as tasks, in memory.
type fixtureTasks struct {
	mu    sync.Mutex
	tasks map[string]*fixtureTask
}

type fixtureTask struct {
	Task
	cancel context.CancelFunc
}

func (f *fixtureTasks) Start(_ context.Context, tool string, body []byte) (Task, error) {
	ctx, cancel := context.WithCancel(context.Background())
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	t := &fixtureTask{cancel: cancel, Task: Task{
		ID: fmt.Sprintf("task_%d", len(f.tasks)), Status: Working, CreatedAt: now, UpdatedAt: now, ExpiresAt: now.Add(time.Hour),
	}}
	f.tasks[t.ID] = t
	created := t.Task
	go func() {
		status, answer, err := followFixture(ctx, tool, "", body, func([]byte) error { return nil })
		f.mu.Lock()
		defer f.mu.Unlock()
		switch {
		case err != nil:
			t.Status = Cancelled
		case tool == "protocol_error_job":
			t.Status = Failed
			t.Error = "the job broke"
		case status != http.StatusOK:
			t.Status = Completed
			t.Refusal = string(answer)
		default:
			t.Status = Completed
			t.Answer = answer
		}
	}()
	return created, nil
}

func (f *fixtureTasks) Get(_ context.Context, id string) (Task, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if t := f.tasks[id]; t != nil {
		return t.Task, nil
	}
	return Task{}, fault.Missing(fault.Job, "There is no such job.")
}

func (f *fixtureTasks) Cancel(ctx context.Context, id string) error {
	if _, err := f.Get(ctx, id); err != nil {
		return err
	}
	f.tasks[id].cancel()
	return nil
}
