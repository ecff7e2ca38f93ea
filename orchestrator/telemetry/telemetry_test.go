package telemetry

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/rs/zerolog"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/propagation"
)

// samples returns the program's own metrics as they are scraped, without the buckets of histograms and without lines
// that begin with one of the excluded prefixes.
func samples(t *testing.T, m *Metrics, excluded ...string) string {
	t.Helper()
	answer := httptest.NewRecorder()
	request := httptest.NewRequest(http.MethodGet, "/metrics", nil)
	promhttp.HandlerFor(m.Registry, promhttp.HandlerOpts{}).ServeHTTP(answer, request)
	var lines []string
	for line := range strings.Lines(answer.Body.String()) {
		skip := slices.ContainsFunc(excluded, func(prefix string) bool { return strings.HasPrefix(line, prefix) })
		if strings.HasPrefix(line, "retort_") && !strings.Contains(line, "_bucket{") && !skip {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return strings.Join(lines, "\n")
}

// The metrics of requests: the parts of a request's time add up to all of it, and its labels are few.
func TestRequestsAreCounted(t *testing.T) {
	m := NewMetrics()
	m.AddAPI("chat")
	plain := &Request{API: "chat"}
	m.ObserveRequest(plain, "/v1/models", "GET", 200, 250*time.Millisecond)
	inferred := &Request{API: "chat"}
	inferred.AddTriton(time.Second)
	inferred.AddQueued(2 * time.Second)
	inferred.AddTokens(30)
	inferred.AddTokens(12)
	inferred.AddRows(2)
	m.ObserveRequest(inferred, "/v1/chat/completions", "POST", 200, 4*time.Second)
	concurrent := &Request{API: "chat"} // its rows were in two calls at a time
	concurrent.AddTriton(6 * time.Second)
	concurrent.AddQueued(3 * time.Second)
	m.ObserveRequest(concurrent, "/v1/chat/completions", "POST", 504, 4*time.Second)
	for _, invented := range []string{"BREW", "brew", "\xff", ""} {
		m.ObserveRequest(&Request{API: "chat"}, OtherRoute, invented, 405, 0)
	}
	m.AddInFlight("chat", 1)
	m.AddInFlight("chat", 1)
	m.AddInFlight("chat", -1)
	m.AddWaiting("chat", 3)
	m.CountRefusal("chat")
	m.CountUnfinished("chat", "deadline")
	const want = `retort_http_in_flight{api="chat"} 1
retort_http_own_seconds_sum{api="chat",route="/v1/chat/completions"} 1
retort_http_own_seconds_count{api="chat",route="/v1/chat/completions"} 2
retort_http_queued_seconds_sum{api="chat",route="/v1/chat/completions"} 2
retort_http_queued_seconds_count{api="chat",route="/v1/chat/completions"} 2
retort_http_refused_total{api="chat"} 1
retort_http_request_duration_seconds_sum{api="chat",route="/v1/chat/completions"} 8
retort_http_request_duration_seconds_count{api="chat",route="/v1/chat/completions"} 2
retort_http_request_duration_seconds_sum{api="chat",route="/v1/models"} 0.25
retort_http_request_duration_seconds_count{api="chat",route="/v1/models"} 1
retort_http_request_duration_seconds_sum{api="chat",route="other"} 0
retort_http_request_duration_seconds_count{api="chat",route="other"} 4
retort_http_requests_total{api="chat",method="GET",route="/v1/models",status="200"} 1
retort_http_requests_total{api="chat",method="POST",route="/v1/chat/completions",status="200"} 1
retort_http_requests_total{api="chat",method="POST",route="/v1/chat/completions",status="504"} 1
retort_http_requests_total{api="chat",method="other",route="other",status="405"} 4
retort_http_triton_seconds_sum{api="chat",route="/v1/chat/completions"} 5
retort_http_triton_seconds_count{api="chat",route="/v1/chat/completions"} 2
retort_http_unfinished_total{api="chat",reason="deadline"} 1
retort_http_waiting{api="chat"} 3
retort_rows_total{api="chat"} 2
retort_tokens_total{api="chat"} 42`
	if got := samples(t, m, "retort_triton_up"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// The metrics of everything else. Gauges of an API's load are 0 before its first request.
func TestOtherMetrics(t *testing.T) {
	m := NewMetrics()
	m.AddAPI("latent")
	m.ObserveBatch("latent", 8, 512)
	m.ObserveBatch("latent", 2, 64)
	m.CountMolecules("docking", "scored", 5)
	m.CountMolecules("docking", "failed", 1)
	m.SetModelsReady("latent", 2)
	m.SetTritonUp(true)
	m.CountLine("latent", true)
	m.CountLine("latent", false)
	m.SetBatches(map[string]int{"in_progress": 2, "failed": 1})
	m.SetBatches(map[string]int{"completed": 3}) // replaces all before
	m.SetBatchTasks("latent", 7)
	level := 0.5
	m.RegisterBackgroundLevel(func() float64 { return level })
	const want = `retort_background_level 0.5
retort_batch_lines_total{api="latent",outcome="failed"} 1
retort_batch_lines_total{api="latent",outcome="ok"} 1
retort_batch_padded_tokens_sum{api="latent"} 576
retort_batch_padded_tokens_count{api="latent"} 2
retort_batch_rows_sum{api="latent"} 10
retort_batch_rows_count{api="latent"} 2
retort_batch_tasks_waiting{api="latent"} 7
retort_batches{status="completed"} 3
retort_http_in_flight{api="latent"} 0
retort_http_refused_total{api="latent"} 0
retort_http_waiting{api="latent"} 0
retort_models_ready{api="latent"} 2
retort_oracle_molecules_total{oracle="docking",outcome="failed"} 1
retort_oracle_molecules_total{oracle="docking",outcome="scored"} 5
retort_triton_up 1`
	if got := samples(t, m); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	m.SetTritonUp(false)
	level = 3
	later := samples(t, m)
	if !strings.Contains(later, "retort_triton_up 0") || !strings.Contains(later, "retort_background_level 3") {
		t.Errorf("later\n%s", later)
	}
}

// Work without a request in its context, as in tests and tools, gets a request of its own.
func TestFromContext(t *testing.T) {
	request := &Request{ID: "7"}
	request.AddServed(250)
	if got := FromContext(WithRequest(t.Context(), request)); got != request || got.Served() != 250 {
		t.Errorf("%+v", got)
	}
	for _, none := range []context.Context{t.Context(), WithRequest(t.Context(), nil)} {
		if got := FromContext(none); got == nil || got.ID != "" {
			t.Errorf("without a request: %+v", got)
		}
	}
}

func TestLevels(t *testing.T) {
	for name, want := range map[string]zerolog.Level{
		"trace": zerolog.TraceLevel, "DEBUG": zerolog.DebugLevel,
		"Info": zerolog.InfoLevel, "default": zerolog.InfoLevel,
		"warn": zerolog.WarnLevel, "WARNING": zerolog.WarnLevel,
		"error": zerolog.ErrorLevel, "critical": zerolog.FatalLevel,
	} {
		if got, err := ParseLevel(name); err != nil || got != want {
			t.Errorf("%s: %v %v", name, got, err)
		}
	}
	for _, name := range []string{"", "loud", "info "} {
		if _, err := NewLogger(io.Discard, name, "json"); err == nil {
			t.Errorf("the level %q was taken", name)
		}
	}
}

// Log lines are JSON unless they go to a terminal or the format is pretty.
func TestLines(t *testing.T) {
	for format, isJSON := range map[string]bool{"json": true, "auto": true, "pretty": false} {
		var out strings.Builder
		logger, err := NewLogger(&out, "info", format)
		if err != nil {
			t.Fatal(err)
		}
		logger.Debug().Msg("too fine")
		logger.Warn().Str("model", "lab/reader").Msg("model left out")
		if strings.Count(out.String(), "\n") != 1 || strings.Contains(out.String(), "\x1b[") {
			t.Errorf("%s: %q", format, out.String())
		}
		var line struct{ Level, Model, Message, Time string }
		err = json.Unmarshal([]byte(out.String()), &line)
		isWhole := line.Level == "warn" && line.Model == "lab/reader" && line.Message == "model left out" &&
			line.Time != ""
		if isJSON && (err != nil || !isWhole) {
			t.Errorf("%s: %v %s", format, err, out.String())
		}
		if !isJSON && (err == nil || !strings.Contains(out.String(), "WRN model left out model=lab/reader")) {
			t.Errorf("%s: %s", format, out.String())
		}
	}
	file, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if isTerminal(&strings.Builder{}) || isTerminal(file) {
		t.Error("a text or a file is a terminal")
	}
}

// Spans go to the collector under the service's name; a caller's trace is passed on with or without a collector.
func TestTracing(t *testing.T) {
	bodies := make(chan string, 1)
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		bodies <- r.URL.Path + " " + string(body)
	}))
	defer collector.Close()
	usual := otel.GetTracerProvider()
	defer otel.SetTracerProvider(usual)
	const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	for _, endpoint := range []string{"", collector.URL + "/v1/traces"} {
		stop, err := StartTracing(t.Context(), zerolog.Nop(), endpoint, "http/protobuf", "lab-gateway", "1.2.3")
		if err != nil {
			t.Fatal(err)
		}
		carrier := propagation.MapCarrier{"traceparent": traceparent}
		ctx, span := Tracer().Start(otel.GetTextMapPropagator().Extract(t.Context(), carrier), "POST chat")
		onward := propagation.MapCarrier{}
		otel.GetTextMapPropagator().Inject(ctx, onward)
		span.End()
		sent := onward["traceparent"]
		if !strings.HasPrefix(sent, traceparent[:36]) || (endpoint == "") != (sent == traceparent) {
			t.Errorf("%q: passed on as %q", endpoint, sent)
		}
		if err := stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	}
	sent := <-bodies
	for _, want := range []string{"/v1/traces ", "lab-gateway", "1.2.3", "POST chat"} {
		if !strings.Contains(sent, want) {
			t.Errorf("%q was not sent", want)
		}
	}
}
