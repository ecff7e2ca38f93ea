package gateway

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/gofiber/fiber/v2"
	"github.com/rs/zerolog"
	"github.com/valyala/fasthttp"

	"retort/orchestrator/fault"
	"retort/orchestrator/gateway/httpserver"
	"retort/orchestrator/telemetry"
)

// A panic outside of an exchange is answered, logged and counted, and ends only its request.
func TestPanicOfAPort(t *testing.T) {
	log := &lines{}
	metrics := telemetry.NewMetrics()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := httpserver.New(func(ctx *fasthttp.RequestCtx) {
		if string(ctx.Path()) == "/pan" {
			panic("the pan\nis hot")
		}
		ctx.SetBodyString("ok")
	}, httpserver.Config{Name: "main", Logger: zerolog.New(log), Metrics: metrics})
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() {
		if err := server.Shutdown(patience); err != nil {
			t.Error(err)
		}
		<-served
	})
	url := "http://" + listener.Addr().String()
	status, text, header := post(t, url+"/pan", `{"a":1}`)
	isJSON := header.Get("Content-Type") == "application/json"
	if status != 500 || text != `{"error":"Internal server error"}` || !isJSON {
		t.Errorf("%d %s %v", status, text, header)
	}
	if status, text := get(t, url+"/pot"); status != 200 || text != "ok" {
		t.Errorf("afterwards: %d %s", status, text)
	}
	for _, want := range []string{
		`"level":"error"`, `"api":"main"`, `"method":"POST"`, `"path":"/pan"`, `"status":500`, `panic: the pan`,
		"panic_test.go",
	} {
		if strings.Count(log.String(), want) != 1 {
			t.Errorf("%s is not in the log once: %s", want, log)
		}
	}
	if count := total(t, metrics.Registry, "retort_http_requests_total"); count != 1 {
		t.Errorf("%v requests are counted", count)
	}
}

// broken is a kitchen that panics in code that fasthttp calls after the handler has returned.
type broken struct{ *kitchen }

func (broken) Routes(r fiber.Router) {
	r.Get("/words", Watch("", func(_ context.Context, _ string, events *Events) error {
		if err := events.SendText("first"); err != nil {
			return err
		}
		return fault.New(fault.Unavailable, "out of bread")
	}))
	r.Get("/book", Download(func(context.Context, Params) (Content, error) {
		return Content{Type: "text/plain", Size: 100, Reader: broken{}}, nil
	}))
}

func (broken) RenderStreamFault(*fault.Error) []any { panic("no words") }

func (broken) Read([]byte) (int, error) { panic("no book") }

// A panic while an answer is written ends only that answer and its exchange.
func TestPanicWhileAnAnswerIsWritten(t *testing.T) {
	for path, says := range map[string]string{"/words": "no words", "/book": "no book"} {
		var metrics *telemetry.Metrics
		url, log := openAPI(t, broken{&kitchen{}}, func(o *Options) { metrics = o.Metrics }, httpserver.Config{})
		response, err := http.Get(url + path)
		if err == nil {
			_, _ = io.Copy(io.Discard, response.Body) // what came before the panic
			response.Body.Close()
		}
		waitUntil(t, "the exchange has ended", func() bool {
			return total(t, metrics.Registry, "retort_http_requests_total") == 1
		})
		if status, _ := get(t, url+"/v1/health/live"); status != 200 {
			t.Errorf("%s: afterwards %d", path, status)
		}
		if !strings.Contains(log.String(), "panic: "+says) || !strings.Contains(log.String(), `"path":"`+path+`"`) {
			t.Errorf("%s: not logged: %s", path, log)
		}
	}
}
