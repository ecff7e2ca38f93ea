package gateway

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"

	"retort/orchestrator/fault"
	"retort/orchestrator/gateway/httpserver"
	"retort/orchestrator/telemetry"
)

// countingKitchen is a kitchen that records rows, tokens and time.
type countingKitchen struct{ *kitchen }

func (countingKitchen) Routes(r fiber.Router) {
	r.Post("/cook", JSON(func(ctx context.Context, o order) (string, error) {
		request := telemetry.FromContext(ctx)
		request.AddRows(3)
		request.AddTokens(12)
		request.AddQueued(time.Hour) // more than the request took
		switch o.Fail {
		case "sick":
			return "", fault.New(fault.Unavailable, "out of bread")
		case "broken":
			panic("the pan")
		}
		return "soup", nil
	}))
}

// logLine is the log line of a request.
type logLine struct {
	Level, API, Request, Method, Path, Error, Message string
	Status, Rows, Tokens                              int
	BytesIn                                           int     `json:"bytes_in"`
	BytesOut                                          int     `json:"bytes_out"`
	Milliseconds                                      float64 `json:"ms"`
}

// Each request writes one log line, at a level that depends on its outcome, and counts once in the metrics.
func TestEveryRequestIsReported(t *testing.T) {
	var metrics *telemetry.Metrics
	url, log := openAPI(t, countingKitchen{&kitchen{}}, func(o *Options) { metrics = o.Metrics }, httpserver.Config{})
	for _, test := range []struct {
		method, path, body string
		want               logLine
	}{
		{"POST", "/cook", `{}`, logLine{Level: "info", Status: 200, Rows: 3, Tokens: 12, BytesIn: 2, BytesOut: 6}},
		{"POST", "/cook", `{"wait":-1}`,
			logLine{Level: "warn", Status: 400, BytesIn: 11, Error: "wait: Input should be greater"}},
		{"POST", "/cook", `{"fail":"sick"}`,
			logLine{Level: "warn", Status: 503, Rows: 3, Tokens: 12, BytesIn: 15, Error: "out of bread"}},
		{"POST", "/cook", `{"fail":"broken"}`,
			logLine{Level: "error", Status: 500, Rows: 3, Tokens: 12, BytesIn: 17, Error: "panic: the pan"}},
		{"GET", "/v1/version", "", logLine{Level: "debug", Status: 200}},
		{"GET", "/none/7", "", logLine{Level: "warn", Status: 404, Error: "Not Found"}},
		{"GET", "/none/8", "", logLine{Level: "warn", Status: 404, Error: "Not Found"}},
	} {
		before := len(log.String())
		request, err := http.NewRequest(test.method, url+test.path, strings.NewReader(test.body))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set(RequestIDHeader, "lab-7")
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		text := log.String()[before:] // written before the answer
		var line logLine
		lines := strings.Split(strings.TrimSpace(text), "\n")
		if err := json.Unmarshal([]byte(lines[len(lines)-1]), &line); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		wantLines := 1
		if strings.HasPrefix(test.want.Error, "panic") {
			wantLines = 2 // one with the stack
		}
		if len(lines) != wantLines {
			t.Errorf("%s %s %s is reported in %d lines: %s", test.method, test.path, test.body, len(lines), text)
		}
		hasError := strings.Contains(line.Error, test.want.Error) && (line.Error == "") == (test.want.Error == "")
		if !hasError || line.Milliseconds <= 0 {
			t.Errorf("%s %s %s: %s", test.method, test.path, test.body, text)
		}
		want := test.want
		want.API = "kitchen"
		want.Request = "lab-7"
		want.Method = test.method
		want.Path = test.path
		want.Message = "request"
		want.Error = line.Error
		want.Milliseconds = line.Milliseconds
		if want.BytesOut == 0 {
			want.BytesOut = line.BytesOut
		}
		if line != want {
			t.Errorf("%s %s %s:\n%+v, want\n%+v", test.method, test.path, test.body, line, want)
		}
	}
	for name, want := range map[string]float64{
		"retort_http_requests_total": 7, "retort_rows_total": 9, "retort_tokens_total": 36, "retort_http_in_flight": 0,
	} {
		if got := total(t, metrics.Registry, name); got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	_, text := get(t, url+"/metrics")
	for _, want := range []string{
		`retort_http_requests_total{api="kitchen",method="POST",route="/cook",status="200"} 1`,
		`retort_http_requests_total{api="kitchen",method="GET",route="other",status="404"} 2`, // scanners add no routes
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the metrics lack %s", want)
		}
	}
}
