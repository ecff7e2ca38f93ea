package gateway

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"retort/orchestrator/gateway/httpserver"
	"retort/orchestrator/memory"
)

// patience is the longest wait for a condition of a test.
const patience = 30 * time.Second

// talk sends text over one connection and returns the statuses of the answers until the server closes it.
func talk(t *testing.T, url, text string) (statuses []string) {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	go func() {
		_, _ = io.WriteString(conn, text) // the server may close before all is sent
		_ = conn.(*net.TCPConn).CloseWrite()
	}()
	_ = conn.SetReadDeadline(time.Now().Add(patience))
	answers := bufio.NewReader(conn)
	for {
		res, err := http.ReadResponse(answers, nil)
		if err != nil {
			if errors.Is(err, syscall.ECONNRESET) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
				return statuses
			}
			t.Fatalf("%.60q: %v", text, err)
		}
		_, _ = io.Copy(io.Discard, res.Body)
		res.Body.Close()
		statuses = append(statuses, res.Status[:3])
	}
}

// Bytes that are not UTF-8 get an error with a body, and the gateway goes on.
func TestTextThatIsNotUTF8(t *testing.T) {
	url, _ := open(t, &kitchen{}, nil)
	if got := talk(t, url, "\xff / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"); !slices.Equal(got, []string{"405"}) {
		t.Errorf("a method: %v", got)
	}
	for _, path := range []string{"/v1/models/%FF", "/none/%FF"} {
		res, err := http.Get(url + path)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		res.Body.Close()
		if res.StatusCode != http.StatusNotFound || err != nil || !json.Valid(body) {
			t.Errorf("%s: %s, %q, %v", path, res.Status, body, err)
		}
	}
}

// A body that no route reads is never parsed as the next request.
func TestUnreadBodyIsNotNextRequest(t *testing.T) {
	url, log := open(t, &kitchen{}, nil)
	inner := "\r\n\r\nGET /v1/version HTTP/1.1\r\nHost: x\r\n\r\n"
	for _, size := range []int{len(inner), 20_000, 2 << 20} {
		body := inner + strings.Repeat("\r\n", (size-len(inner))/2)
		for _, line := range []string{
			"POST /none", "POST /v1/health/ready", "GET /docs", "GET /metrics", "HEAD /docs", "PUT /cook", "BREW /cook",
			"POST /docs/assets/none",
		} {
			text := fmt.Sprintf("%s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", line, len(body), body)
			if got := talk(t, url, text); len(got) > 1 {
				t.Errorf("%s with a body of %d bytes is answered %v", line, len(body), got)
			}
			chunked := fmt.Sprintf("%s HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n",
				line, len(body), body)
			if got := talk(t, url, chunked); len(got) > 1 {
				t.Errorf("%s with a chunked body of %d bytes is answered %v", line, len(body), got)
			}
		}
	}
	if strings.Contains(log.String(), "/v1/version") {
		t.Error("a body was parsed as a request")
	}
}

// A persistent connection survives a body that no handler reads.
func TestConnectionSurvivesUnreadBody(t *testing.T) {
	url, _ := open(t, &kitchen{}, nil)
	text := "POST /none HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello" +
		"GET /v1/version HTTP/1.1\r\nHost: x\r\n\r\n" +
		"POST /cook HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n" +
		"BREW /cook HTTP/1.1\r\nHost: x\r\n\r\n" +
		"GET /v1/version HTTP/1.1\r\nHost: x\r\n\r\n"
	if got := fmt.Sprint(talk(t, url, text)); got != "[404 200 200 405 200]" {
		t.Errorf("answered %s", got)
	}
}

// Requests whose end is ambiguous are refused, and their connection is closed.
func TestAmbiguousRequestsAreRefused(t *testing.T) {
	url, _ := open(t, &kitchen{}, nil)
	next := "GET /v1/version HTTP/1.1\r\nHost: x\r\n\r\n"
	post := "POST /cook HTTP/1.1\r\nHost: x\r\n"
	for name, text := range map[string]string{
		"both lengths":        post + "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + next,
		"two lengths":         post + "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{} " + next,
		"other encoding":      post + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n" + next,
		"chunks in HTTP/1.0":  "POST /cook HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n" + next,
		"no last chunk":       post + "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n",
		"body cut off":        post + "Content-Length: 20\r\n\r\n{}",
		"no host":             "POST /cook HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}" + next,
		"two hosts":           post + "Host: y\r\nContent-Length: 2\r\n\r\n{}" + next,
		"NUL":                 post + "X-A: a\x00b\r\nContent-Length: 2\r\n\r\n{}" + next,
		"folded header":       post + "X-A: a\r\n b\r\nContent-Length: 2\r\n\r\n{}" + next,
		"unknown version":     "POST /cook HTTP/3.7\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}" + next,
		"length of no number": post + "Content-Length: 0x2\r\n\r\n{}" + next,
	} {
		if got := fmt.Sprint(talk(t, url, text)); got != "[400]" {
			t.Errorf("%s: answered %s, want [400]", name, got)
		}
	}
}

// Clients that hold connections without a complete request keep nobody out.
func TestConnectionsAreBounded(t *testing.T) {
	url, _ := openServer(t, &kitchen{}, nil, httpserver.Config{MaxConnections: 4})
	for _, sent := range []string{
		"",
		"POST /cook HTTP/1.1\r\nHo",
		"POST /cook HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{",
	} {
		var held []net.Conn
		for range 8 {
			conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			held = append(held, conn)
			if _, err := io.WriteString(conn, sent); err != nil {
				t.Fatal(err)
			}
		}
		request := "POST /cook HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}"
		if got := fmt.Sprint(talk(t, url, request)); got != "[200]" {
			t.Errorf("beside connections that sent %.30q: answered %s", sent, got)
		}
		for _, conn := range held {
			conn.Close()
		}
	}
}

// A client that does not read gets its permit taken back.
func TestClientThatDoesNotReadLosesPermit(t *testing.T) {
	for _, body := range []string{`{"stream":true,"events":10000000}`, `{"size":20000000}`} {
		url, _ := openServer(t, &kitchen{}, func(o *Options) {
			o.Concurrency = 1
			o.Timeout = time.Hour
		}, httpserver.Config{WriteTimeout: 100 * time.Millisecond})
		conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "POST /cook HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
		// The next request should not come first. If it does, the test proves less and does not fail.
		time.Sleep(100 * time.Millisecond)
		if status, text, _ := post(t, url+"/cook", `{}`); status != 200 {
			t.Errorf("after %s: %d %s", body, status, text)
		}
		conn.Close()
	}
}

// Large bodies wait for memory, small ones do not.
func TestLargeBodiesShareABudget(t *testing.T) {
	const size = 1 << 20
	budget := memory.NewBudget(memory.BodyWeight*size, 200*time.Millisecond)
	url, _ := open(t, &kitchen{}, func(o *Options) {
		o.BodyLimit = 2 * size
		o.Memory = budget
	})
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST /cook HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s",
		size, strings.Repeat(" ", size-1))
	waitUntil(t, "the first body holds the budget", func() bool { return budget.Held() > 0 })
	large := "{" + strings.Repeat(" ", size) + "}"
	if status, text, header := post(t, url+"/cook", large); status != 503 || header.Get("Retry-After") == "" {
		t.Errorf("beyond the budget: %d %s", status, text)
	}
	if status, text, _ := post(t, url+"/cook", `{}`); status != 200 {
		t.Errorf("a small body: %d %s", status, text)
	}
	conn.Close()
	waitUntil(t, "the memory is released", func() bool { return budget.Held() == 0 })
	if status, text, _ := post(t, url+"/cook", large); status != 200 {
		t.Errorf("within the budget: %d %s", status, text)
	}
}

func waitUntil(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for until := time.Now().Add(patience); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("after %v: not yet: %s", patience, what)
		}
	}
}
