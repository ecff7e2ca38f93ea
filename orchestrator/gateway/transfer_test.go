package gateway

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofiber/fiber/v2"

	"retort/orchestrator/fault"
	"retort/orchestrator/gateway/admission"
	"retort/orchestrator/gateway/httpserver"
	"retort/orchestrator/telemetry"
)

// cellar is an API with an upload and a download.
type cellar struct {
	*kitchen
	limit  int64
	coming chan bool   // an upload has started
	stored chan string // media type and body of an upload
	given  func() Content
}

func (s *cellar) Routes(r fiber.Router) {
	store := func(_ context.Context, contentType string, body io.Reader) (map[string]int64, error) {
		s.coming <- true
		content, err := io.ReadAll(body)
		if err != nil {
			return nil, err
		}
		s.stored <- contentType + " " + string(content)
		return map[string]int64{"bytes": int64(len(content))}, nil
	}
	r.Post("/barrel", Upload(s.limit, store))
	r.Get("/barrel", Download(func(context.Context, Params) (Content, error) { return s.given(), nil }))
	r.Get("/shelf", WithParams(func(context.Context, Params) (map[string]bool, error) {
		return map[string]bool{"there": true}, nil
	}))
}

func openCellar(t *testing.T, change func(*Options)) (s *cellar, url string, log *lines) {
	t.Helper()
	s = &cellar{kitchen: &kitchen{}, limit: 1 << 20, coming: make(chan bool, 100), stored: make(chan string, 100)}
	url, log = openAPI(t, s, change, httpserver.Config{})
	return s, url, log
}

func sendUpload(t *testing.T, url string, body io.Reader) (status int, text string) {
	t.Helper()
	res, err := http.Post(url+"/barrel", "text/wine", body)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(answer)
}

// Bodies above the limit of requests are read while they arrive, up to the limit of the upload.
func TestUpload(t *testing.T) {
	s, url, _ := openCellar(t, nil)
	red := strings.Repeat("r", int(s.limit))
	for name, body := range map[string]io.Reader{
		"with its length": strings.NewReader(red),
		"in chunks":       io.MultiReader(strings.NewReader(red)), // whose length Go does not know
	} {
		status, text := sendUpload(t, url, body)
		if status != http.StatusOK || !strings.Contains(text, fmt.Sprint(s.limit)) {
			t.Fatalf("%s: %d %s", name, status, text)
		}
		if got := <-s.stored; got != "text/wine "+red {
			t.Errorf("%s: %d bytes were stored, %.20q", name, len(got), got)
		}
	}
	for name, body := range map[string]io.Reader{
		"one byte more":            strings.NewReader(red + "r"),
		"one byte more, in chunks": io.MultiReader(strings.NewReader(red + "r")),
	} {
		status, text := sendUpload(t, url, body)
		if status != http.StatusRequestEntityTooLarge || !strings.Contains(text, "limit") {
			t.Errorf("%s: %d %s", name, status, text)
		}
	}
}

// A truncated body is an error.
func TestTruncatedUpload(t *testing.T) {
	s, url, log := openCellar(t, nil)
	for name, head := range map[string]string{
		"with its length": "Content-Length: 100000\r\n\r\n" + tenth,
		"in chunks":       "Transfer-Encoding: chunked\r\n\r\n2710\r\n" + tenth + "\r\n",
	} {
		conn := dial(t, url)
		fmt.Fprintf(conn, "POST /barrel HTTP/1.1\r\nHost: a\r\nContent-Type: text/wine\r\n%s", head)
		_ = conn.(*net.TCPConn).CloseWrite()
		answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err == nil && answer.StatusCode < 400 {
			t.Errorf("%s: %s", name, answer.Status)
		}
	}
	if len(s.stored) > 0 {
		t.Errorf("%d bytes were stored\n%s", len(<-s.stored), log)
	}
}

func dial(t *testing.T, url string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// tenth is a tenth of a body, and more than the server reads before it calls the handler.
var tenth = strings.Repeat("w", 10_000)

// Uploads and downloads take none of the permits of other requests. Their number is bounded, and their own permits are
// released when they end.
func TestTransfersTakeNoPermit(t *testing.T) {
	s, url, _ := openCellar(t, func(o *Options) {
		o.Concurrency = 1
		o.Queue = 0
	})
	begun := make(chan struct{})
	s.given = func() Content {
		close(begun)
		return Content{Type: "text/wine", Name: "w", Size: 1 << 30, Reader: endless{}}
	}
	uploading := dial(t, url)
	fmt.Fprint(uploading, "POST /barrel HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n", tenth)
	<-s.coming
	downloading := dial(t, url)
	fmt.Fprint(downloading, "GET /barrel HTTP/1.1\r\nHost: a\r\n\r\n")
	<-begun
	s.given = func() Content {
		return Content{Type: "text/wine", Name: "w", Size: 3, Reader: strings.NewReader("abc")}
	}
	look := func(method, path string) int {
		var body io.Reader
		if method == http.MethodPost {
			body = strings.NewReader("abc")
		}
		request, err := http.NewRequestWithContext(t.Context(), method, url+path, body)
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, res.Body)
		_ = res.Body.Close()
		return res.StatusCode
	}
	until := func(what string, method, path string, wanted func(status int) bool) {
		t.Helper()
		for began := time.Now(); !wanted(look(method, path)); time.Sleep(5 * time.Millisecond) {
			if time.Since(began) > time.Minute {
				t.Fatalf("%s: %s %s never has the wanted status", what, method, path)
			}
		}
	}
	full := func(status int) bool {
		return status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable
	}
	fine := func(status int) bool { return status == http.StatusOK }
	until("beside an upload", http.MethodPost, "/barrel", full)
	until("beside a download", http.MethodGet, "/barrel", full)
	if status := look(http.MethodGet, "/shelf"); !fine(status) {
		t.Errorf("another request beside an upload and a download: %d", status)
	}
	_ = uploading.Close()
	_ = downloading.Close()
	for range 3 {
		until("after the upload", http.MethodPost, "/barrel", fine)
		until("after the download", http.MethodGet, "/barrel", fine)
		until("what has no body", http.MethodHead, "/barrel", fine)
	}
}

type endless struct{}

func (endless) Read(into []byte) (int, error) { return len(into), nil }

func TestDownload(t *testing.T) {
	s, url, log := openCellar(t, nil)
	content := bytes.Repeat([]byte("0123456789"), 100_000)
	s.given = func() Content {
		return Content{
			Type: "application/jsonl", Name: "a\"b\r\nc.jsonl",
			Size: int64(len(content)), Reader: bytes.NewReader(content),
		}
	}
	res, err := http.Get(url + "/barrel")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	got, err := io.ReadAll(res.Body)
	if err != nil || !bytes.Equal(got, content) || res.ContentLength != int64(len(content)) {
		t.Errorf("%d bytes of %d, length %d: %v", len(got), len(content), res.ContentLength, err)
	}
	h := res.Header
	if h.Get("Content-Type") != "application/jsonl" || h.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("headers: %v", h)
	}
	disposition := h.Get("Content-Disposition")
	if !strings.HasPrefix(disposition, "attachment") || strings.ContainsAny(disposition, "\r\n\\") {
		t.Errorf("Content-Disposition: %q", disposition)
	}
	s.given = func() Content {
		short := io.MultiReader(strings.NewReader("abc"), failing{})
		return Content{Type: "text/wine", Name: "w", Size: 1000, Reader: short}
	}
	res, err = http.Get(url + "/barrel")
	if err == nil {
		defer res.Body.Close()
		if _, err = io.ReadAll(res.Body); err == nil {
			t.Errorf("the answer is complete though its reader failed\n%s", log)
		}
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("truncated") }

// A download fails once its client takes it more slowly than the least rate.
func TestSlowDownloadEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &download{content: endless{}, exchange: &exchange{}, pace: httpserver.NewPace(64 << 10)}
		for range 100 { // at the least rate
			time.Sleep(time.Second)
			if _, err := d.Read(make([]byte, 64<<10)); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(10 * time.Second)
		if _, err := d.Read(make([]byte, 1)); err != nil {
			t.Errorf("after a pause: %v", err)
		}
		time.Sleep(20 * time.Second)
		if _, err := d.Read(make([]byte, 1)); err == nil {
			t.Error("it goes on below the least rate")
		}
	})
}

// An upload or a download waits for its permit no longer than transferPatience.
func TestTransferPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		metrics := telemetry.NewMetrics()
		x := &exchange{gateway: &Gateway{opts: Options{Metrics: metrics}}, request: &telemetry.Request{API: "kitchen"}}
		permits := admission.NewPermits("kitchen", 1, 8, metrics)
		ctx, leave := context.WithTimeout(t.Context(), time.Hour)
		defer leave()
		if err := x.takeTransferPermit(ctx, permits); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		err := x.takeTransferPermit(ctx, permits)
		took := time.Since(began)
		if fault.KindOf(err) != fault.Overloaded || fault.As(err).RetryAfter == 0 || took != transferPatience {
			t.Errorf("after %v: %v", took, err)
		}
		time.AfterFunc(time.Second, x.cleanups[0])
		if err := x.takeTransferPermit(ctx, permits); err != nil {
			t.Errorf("once a permit is free: %v", err)
		}
		short, leave := context.WithTimeout(ctx, time.Second)
		defer leave()
		if err := x.takeTransferPermit(short, permits); fault.KindOf(err) != fault.Timeout {
			t.Errorf("a request whose deadline has passed: %v", err)
		}
	})
}
