package gateway

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/rs/zerolog"

	"retort/orchestrator/fault"
	"retort/orchestrator/gateway/httpserver"
	"retort/orchestrator/telemetry"
)

type order struct {
	Wait   float64 `json:"wait"`
	Panic  bool    `json:"panic"`
	Fail   string  `json:"fail"`
	Stream bool    `json:"stream"`
	Events int     `json:"events"`
	Size   int     `json:"size"`
}

func (o *order) SetDefaults() { o.Events = 3 }

func (o *order) Validate() error {
	if o.Wait < 0 {
		return fault.Field("greater_than_equal", o.Wait, []any{"wait"}, "Input should be greater than or equal to 0")
	}
	return nil
}

// kitchen is an API that behaves as its requests say.
type kitchen struct {
	canceled atomic.Int64
	ready    error
}

func (k *kitchen) Name() string { return "kitchen" }
func (k *kitchen) Health() (ready, live any) {
	return map[string]bool{"ready": true}, map[string]bool{"live": true}
}
func (k *kitchen) Ready() error     { return k.ready }
func (k *kitchen) Models() []string { return []string{"retort/pot-v1"} }
func (k *kitchen) OpenAPI() []byte {
	return []byte("openapi: 3.1.0\ninfo:\n  title: Kitchen\n  version: '1'\n")
}
func (k *kitchen) Routes(r fiber.Router) {
	r.Post("/cook", JSONOrStream(func(o order) bool { return o.Stream }, k.cook, k.serve))
}
func (k *kitchen) RenderStreamFault(f *fault.Error) []any {
	return []any{map[string]string{"error": f.Message}, "[DONE]"}
}

func (k *kitchen) RenderFault(f *fault.Error) (int, any) {
	return StatusOf(f.Kind), map[string]string{"kind": f.Kind.String(), "field": f.Field(), "message": f.Message}
}

func (k *kitchen) cook(ctx context.Context, o order) (map[string]string, error) {
	if o.Panic {
		panic("the pan")
	}
	if o.Fail != "" {
		return nil, errors.New(o.Fail)
	}
	select {
	case <-time.After(time.Duration(o.Wait * float64(time.Second))):
		return map[string]string{"dish": "soup" + strings.Repeat("p", o.Size)}, nil
	case <-ctx.Done():
		k.canceled.Add(1)
		return nil, ctx.Err()
	}
}

func (k *kitchen) serve(ctx context.Context, o order, e *Events) error {
	for i := range o.Events {
		if _, err := k.cook(ctx, o); err != nil {
			return err
		}
		if err := e.Send(map[string]int{"course": i}); err != nil {
			k.canceled.Add(1)
			return err
		}
	}
	if o.Fail == "" && o.Events == 2 {
		return fault.New(fault.Unavailable, "out of bread")
	}
	return e.SendText("[DONE]")
}

// open serves k on a port and returns its address.
func open(t *testing.T, k *kitchen, change func(*Options)) (url string, log *lines) {
	t.Helper()
	return openServer(t, k, change, httpserver.Config{})
}

// openServer is open with a configured port.
func openServer(t *testing.T, k *kitchen, change func(*Options), config httpserver.Config) (url string, log *lines) {
	t.Helper()
	return openAPI(t, k, change, config)
}

// openAPI is openServer for any API.
func openAPI(t *testing.T, api API, change func(*Options), config httpserver.Config) (url string, log *lines) {
	t.Helper()
	log = &lines{}
	opts := Options{
		Config: Config{Concurrency: 4, Queue: 2, BodyLimit: 1 << 16, Timeout: 10 * time.Second}, Version: "test",
		Metrics: telemetry.NewMetrics(), Logger: zerolog.New(log),
	}
	if change != nil {
		change(&opts)
	}
	life, end := context.WithCancel(context.Background())
	g, err := New(life, api, func() bool { return false }, opts)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := httpserver.New(g.Handler(), config)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() {
		end()
		http.DefaultClient.CloseIdleConnections()
		if err := server.Shutdown(5 * time.Second); err != nil {
			t.Error(err)
		}
		<-served
	})
	return "http://" + listener.Addr().String(), log
}

// lines is a log that can be read while it is written.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func post(t *testing.T, url, body string) (status int, text string, header http.Header) {
	t.Helper()
	res, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(b), res.Header
}

func TestJSONAndStreamAnswers(t *testing.T) {
	url, _ := open(t, &kitchen{}, nil)
	for _, test := range []struct {
		path, body string
		status     int
		want       string
	}{
		{"/cook", `{}`, 200, `{"dish":"soup"}`},
		{"/cook", `{"wait":-1}`, 400, `"field":"wait"`},
		{"/cook", `{"wait":"x"}`, 400, `"field":"wait"`},
		{"/cook", `nonsense`, 400, `JSON decode error`},
		{"/cook", `{"panic":true}`, 500, `"message":"Internal server error"`},
		{"/cook", `{"fail":"secret"}`, 500, `"message":"Internal server error"`},
		{"/cook", `{"fail":"` + strings.Repeat("x", 1<<16) + `"}`, 413, `too large`},
		{"/cook", `{"fail":"` + strings.Repeat("x", 4<<20) + `"}`, 413, `too large`},
		{"/absent", `{}`, 404, `not found`},
		{"/v1/health/ready", `{}`, 405, `method`},
		{"/cook", `{"stream":true}`, 200,
			"data: {\"course\":0}\n\ndata: {\"course\":1}\n\ndata: {\"course\":2}\n\ndata: [DONE]\n\n"},
		{"/cook", `{"stream":true,"events":2}`, 200,
			"data: {\"course\":1}\n\ndata: {\"error\":\"out of bread\"}\n\ndata: [DONE]\n\n"},
		{"/cook", `{"stream":true,"fail":"secret"}`, 500, `Internal server error`},
		{"/cook", `{"stream":true,"panic":true}`, 500, `Internal server error`},
	} {
		status, text, header := post(t, url+test.path, test.body)
		if status != test.status || !strings.Contains(text, test.want) {
			t.Errorf("POST %s %.60s = %d %s, want %d %s", test.path, test.body, status, text, test.status, test.want)
		}
		if header.Get(RequestIDHeader) == "" {
			t.Errorf("POST %s %.60s: no request id", test.path, test.body)
		}
	}
}

func TestEveryAPIAnswers(t *testing.T) {
	k := &kitchen{}
	url, _ := open(t, k, nil)
	post(t, url+"/cook", `{}`)
	for path, want := range map[string]string{
		"/v1/health/ready":            `{"message":"ready","object":"health.response","ready":true}`,
		"/v1/health/live":             `{"live":true,"message":"live","object":"health.response"}`,
		"/v1/metadata":                `"shortName":"pot-v1"`,
		"/v1/version":                 `"release":"test"`,
		"/openapi.json":               `"title":"Kitchen"`,
		"/docs":                       `<title>Kitchen</title>`,
		"/docs/assets/swagger-ui.css": `.swagger-ui`,
		"/metrics":                    `retort_http_requests_total{api="kitchen",`,
	} {
		status, text := get(t, url+path)
		if status != 200 || !strings.Contains(text, want) {
			t.Errorf("GET %s = %d %.200s, want %s", path, status, text, want)
		}
	}
	for _, path := range []string{"/docs/assets", "/docs/assets/", "/docs/assets/none"} {
		if status, text := get(t, url+path); status != 404 {
			t.Errorf("GET %s = %d %.200s, want 404", path, status, text)
		}
	}
	k.ready = fault.New(fault.Unavailable, "no pot")
	if status, text := get(t, url+"/v1/health/ready"); status != 503 || !strings.Contains(text, "no pot") {
		t.Errorf("unready: %d %s", status, text)
	}
}

func get(t *testing.T, url string) (int, string) {
	t.Helper()
	res, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, _ := io.ReadAll(res.Body)
	return res.StatusCode, string(b)
}

func TestLoadBeyondCapacityIsRefused(t *testing.T) {
	var metrics *telemetry.Metrics
	blocking := blockingKitchen{&kitchen{}, make(chan struct{}, 10), make(chan struct{})}
	url, _ := openAPI(t, blocking, func(o *Options) { metrics = o.Metrics }, httpserver.Config{}) // 4 served, 2 wait
	answers := make(chan string, 10)
	ask := func() {
		status, _, header := post(t, url+"/cook", `{}`)
		answers <- fmt.Sprint(status, header.Get("Retry-After"))
	}
	for range 4 {
		go ask()
	}
	for range 4 {
		<-blocking.began
	}
	for range 2 {
		go ask()
	}
	waitUntil(t, "two requests wait", func() bool { return total(t, metrics.Registry, "retort_http_waiting") == 2 })
	for range 4 {
		go ask()
	}
	for range 4 {
		if answer := <-answers; answer != "5031" {
			t.Errorf("beyond the capacity: %s, want 503 with Retry-After 1", answer)
		}
	}
	if served := len(blocking.began); served > 0 {
		t.Errorf("%d requests are served beyond the permits", served)
	}
	close(blocking.release)
	for range 6 {
		if answer := <-answers; answer != "200" {
			t.Errorf("within the capacity: %s", answer)
		}
	}
	refused := total(t, metrics.Registry, "retort_http_refused_total")
	waiting := total(t, metrics.Registry, "retort_http_waiting")
	if refused != 4 || waiting != 0 {
		t.Errorf("%v are counted as refused, %v as waiting", refused, waiting)
	}
	if status, _, _ := post(t, url+"/cook", `{}`); status != 200 {
		t.Errorf("after the load: %d", status)
	}
}

func TestDeadline(t *testing.T) {
	url, _ := open(t, &kitchen{}, func(o *Options) { o.Timeout = 50 * time.Millisecond })
	if status, text, _ := post(t, url+"/cook", `{"wait":60}`); status != 504 {
		t.Errorf("%d %s", status, text)
	}
}

func TestDepartedClientEndsTheWork(t *testing.T) {
	for name, path := range map[string]string{
		"in one piece":                 "/table",
		"as a stream":                  "/courses",
		"as a stream without an event": "/starters",
	} {
		endless := endlessKitchen{&kitchen{}, make(chan struct{}, 1), make(chan error, 1)}
		url, _ := openAPI(t, endless, func(o *Options) { o.Timeout = time.Hour }, httpserver.Config{})
		ctx, leave := context.WithCancel(t.Context())
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, url+path, strings.NewReader(`{}`))
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			response, err := http.DefaultClient.Do(request)
			if err != nil {
				return
			}
			defer response.Body.Close()
			if _, err := io.Copy(io.Discard, response.Body); err == nil {
				t.Errorf("%s: the answer is complete", name)
			}
		}()
		<-endless.began
		leave()
		<-ended
		if err := <-endless.errs; !errors.Is(err, context.Canceled) { // an hour before the deadline
			t.Errorf("%s: the work ended with %v", name, err)
		}
	}
}

// blockingKitchen is a kitchen whose handlers send on began and then block until release is closed.
type blockingKitchen struct {
	*kitchen
	began, release chan struct{}
}

func (l blockingKitchen) Routes(r fiber.Router) {
	block := func() (string, error) {
		l.began <- struct{}{}
		<-l.release
		return "soup", nil
	}
	r.Post("/cook", JSON(func(context.Context, order) (string, error) { return block() }))
	r.Get("/shelf/:name", WithParams(func(context.Context, Params) (string, error) { return block() }))
}

// endlessKitchen is a kitchen whose handlers return only when their context ends.
type endlessKitchen struct {
	*kitchen
	began chan struct{}
	errs  chan error // errors of the contexts
}

func (k endlessKitchen) Routes(r fiber.Router) {
	stay := func(ctx context.Context) error {
		k.began <- struct{}{}
		<-ctx.Done()
		k.errs <- ctx.Err()
		return ctx.Err()
	}
	whole := func(ctx context.Context, _ order) (string, error) { return "", stay(ctx) }
	streams := func(order) bool { return true }
	r.Post("/table", JSON(whole))
	r.Post("/starters", JSONOrStream(streams, whole, func(ctx context.Context, _ order, _ *Events) error {
		return stay(ctx)
	}))
	r.Post("/courses", JSONOrStream(streams, whole, func(ctx context.Context, _ order, e *Events) error {
		if err := e.Send("soup"); err != nil {
			return err
		}
		return stay(ctx)
	}))
}

func TestRequestIDs(t *testing.T) {
	url, log := open(t, &kitchen{}, nil)
	for given, isUsed := range map[string]bool{
		"abc-123": true, "": false, strings.Repeat("x", 200): false, "a b": false,
	} {
		req, _ := http.NewRequest("POST", url+"/cook", strings.NewReader(`{}`))
		req.Header.Set(RequestIDHeader, given)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		id := res.Header.Get(RequestIDHeader)
		if id == "" || (id == given) != isUsed {
			t.Errorf("id %q answered with %q", given, id)
		}
		if !strings.Contains(log.String(), id) {
			t.Errorf("id %q is not in the log", id)
		}
	}
}

func TestKeys(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(file, []byte("# ours\nalpha\n\nbeta\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	keys, err := ReadKeys(file)
	if err != nil {
		t.Fatal(err)
	}
	url, _ := open(t, &kitchen{}, func(o *Options) { o.Keys = keys })
	for header, want := range map[string]int{
		"": 401, "alpha": 401, "Basic alpha": 401, "Bearer gamma": 401, "Bearer # ours": 401, "Bearer ": 401,
		"Bearer alpha": 200, "bearer beta": 200,
	} {
		req, _ := http.NewRequest("POST", url+"/cook", strings.NewReader(`{}`))
		req.Header.Set("Authorization", header)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != want {
			t.Errorf("Authorization %q: %d, want %d", header, res.StatusCode, want)
		}
	}
	if status, _ := get(t, url+"/v1/health/ready"); status != 200 {
		t.Errorf("a probe needs a key: %d", status)
	}
	if _, err := ReadKeys(os.DevNull); err == nil {
		t.Error("an empty key file was accepted")
	}
}

func TestMalformedHTTPIsAnswered(t *testing.T) {
	url, _ := open(t, &kitchen{}, nil)
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, "NONSENSE\r\n\r\n")
	if line, err := bufio.NewReader(conn).ReadString('\n'); err != nil || !strings.Contains(line, " 400 ") {
		t.Errorf("%q %v", line, err)
	}
}
