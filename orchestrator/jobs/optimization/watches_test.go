package optimization

import (
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/rs/zerolog"

	"retort/orchestrator/fault"
	"retort/orchestrator/gateway"
	"retort/orchestrator/telemetry"
)

// molecules is an API whose jobs are asked for over HTTP.
type molecules struct{}

func (molecules) Name() string              { return "latent" }
func (molecules) Routes(fiber.Router)       {}
func (molecules) Health() (ready, live any) { return true, true }
func (molecules) Ready() error              { return nil }
func (molecules) Models() []string          { return nil }
func (molecules) OpenAPI() []byte           { return nil }
func (molecules) RenderFault(f *fault.Error) (status int, body any) {
	return gateway.StatusOf(f.Kind), map[string]string{"detail": f.Message}
}

// A client may watch a number of jobs at a time. One more is refused in the words of the API, and the job itself may still be asked for.
func TestWatchesAreBounded(t *testing.T) {
	release := make(chan struct{})
	b := begin(t, t.TempDir(), Config{}, func(Attempt, map[string]any, func(string) error) (string, error) {
		<-release
		return `{"generated":[]}`, nil
	})
	job := b.submit("latent", `{"smi":"CCC"}`)
	g, err := gateway.New(t.Context(), b.Of(molecules{}), func() bool { return false }, gateway.Options{
		Config:  gateway.Config{Concurrency: 1, Queue: 1, Timeout: time.Hour},
		Watches: gateway.Watches{All: 4, PerClient: 1}, Metrics: telemetry.NewMetrics(), Logger: zerolog.Nop(),
	})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := gateway.NewServer(g.Handler(), gateway.ServerConfig{})
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		if err := server.Shutdown(time.Minute); err != nil {
			t.Error(err)
		}
		<-served
	})
	url := "http://" + listener.Addr().String() + Path + "/" + job.ID
	open := func(url string) *http.Response {
		t.Helper()
		response, err := http.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { response.Body.Close() })
		return response
	}
	watched := open(url + "/events")
	if watched.StatusCode != http.StatusOK {
		t.Fatal(watched.Status)
	}
	refused := open(url + "/events")
	text, err := io.ReadAll(refused.Body)
	const want = `{"detail":"You have too many streams of events open: close one, or ask for the job itself."}`
	if err != nil || refused.StatusCode != http.StatusTooManyRequests || refused.Header.Get("Retry-After") == "" || string(text) != want {
		t.Errorf("%s %v %s %v", refused.Status, refused.Header, text, err)
	}
	if itself := open(url); itself.StatusCode != http.StatusOK {
		t.Errorf("the job itself: %s", itself.Status)
	}
	close(release)
	if text, err = io.ReadAll(watched.Body); err != nil || len(text) == 0 {
		t.Errorf("the first stream: %q %v", text, err)
	}
}
