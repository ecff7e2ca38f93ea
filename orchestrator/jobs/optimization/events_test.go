package optimization

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"retort/orchestrator/fault"
	"retort/orchestrator/gateway"
	"retort/orchestrator/gateway/admission"
	"retort/orchestrator/gateway/httpserver"
	"retort/orchestrator/telemetry"
)

// molecules is an API whose jobs are served over HTTP.
type molecules struct{ gateway.API }

func (molecules) Name() string       { return "latent" }
func (molecules) Health() (_, _ any) { return nil, nil }
func (molecules) Models() []string   { return nil }
func (molecules) RenderFault(f *fault.Error) (int, any) {
	return gateway.StatusOf(f.Kind), map[string]string{"detail": f.Message}
}

// serve serves the API until the test ends, and returns its address.
func serve(t *testing.T, b *fixture, watches admission.WatchLimits) string {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	g, err := gateway.New(ctx, b.Endpoints(molecules{}), func() bool { return false }, gateway.Options{
		Config:  gateway.Config{Concurrency: 4, Queue: 1, BodyLimit: 1 << 16, Timeout: time.Hour},
		Watches: watches, Metrics: telemetry.NewMetrics(), Logger: zerolog.Nop(),
	})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := httpserver.New(g.Handler(), httpserver.Config{})
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() {
		stop()
		http.DefaultClient.CloseIdleConnections()
		if err := server.Shutdown(time.Minute); err != nil {
			t.Error(err)
		}
		<-served
	})
	return "http://" + listener.Addr().String()
}

// An event stream that is cut off ends with a fault in the API's form, unlike the stream of a job that has ended.
func TestTruncatedEventsEndWithAFault(t *testing.T) {
	b := begin(t, t.TempDir(), Config{}, idle)
	job := b.submit("latent", `{"smi":"CCC"}`)
	url := serve(t, b, admission.WatchLimits{Total: 1, PerClient: 1})
	answer, err := http.Get(url + Path + "/" + job.ID + "/events")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if _, err := io.ReadFull(answer.Body, make([]byte, len("data: {"))); err != nil {
		t.Fatal(err)
	}
	b.stores().engine.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	events := strings.Split(strings.TrimSpace(string(text)), "\n\n")
	if last := events[len(events)-1]; !strings.Contains(last, `"detail":"The storage of jobs does not answer`) {
		t.Errorf("the last event is %s", last)
	}
}
