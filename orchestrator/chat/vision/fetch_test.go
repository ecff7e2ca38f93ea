package vision

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"retort/orchestrator/fault"
)

func TestPublicAddresses(t *testing.T) {
	g := guard{}
	for _, a := range []string{
		"127.0.0.1", "127.9.9.9", "::1", "0.0.0.0", "::", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1",
		"169.254.169.254", "fe80::1", "fe80::1%eth0", "fc00::1", "fd00:ec2::254", "100.64.0.1", "100.100.100.200", "192.0.0.192",
		"168.63.129.16", "198.18.0.1", "224.0.0.1", "255.255.255.255", "240.0.0.1", "192.0.2.1", "198.51.100.1", "203.0.113.1",
		"::ffff:127.0.0.1", "::ffff:10.0.0.1", "::127.0.0.1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "2002:7f00:1::", "2001::1",
		"2001:db8::1", "ff02::1", "fec0::1", "::ffff:0:127.0.0.1",
	} {
		if g.allows(netip.MustParseAddr(a)) {
			t.Errorf("%s is allowed", a)
		}
	}
	for _, a := range []string{
		"8.8.8.8", "1.1.1.1", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "2a00:1450:4001::1", "::ffff:8.8.8.8",
	} {
		if !g.allows(netip.MustParseAddr(a)) {
			t.Errorf("%s is not allowed", a)
		}
	}
}

// newServer returns a server whose paths choose the response.
func newServer(t *testing.T) *httptest.Server {
	t.Helper()
	image := fixture(t, "rgb.png")
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Referer") != "" || r.Header.Get("Authorization") != "" || r.Header.Get("Cookie") != "" {
			t.Errorf("the request reveals %v", r.Header)
		}
		switch path := r.URL.Path; {
		case path == "/image":
			w.Header().Set("Content-Type", "text/html") // not trusted
			w.Write(image)
		case path == "/large":
			w.Header().Set("Content-Length", "1000000")
		case path == "/endless":
			for range 1000 {
				w.Write(make([]byte, 4096))
			}
		case path == "/slow":
			select {
			case <-r.Context().Done():
			case <-time.After(5 * time.Second):
			}
		case path == "/html":
			w.Write([]byte("<!DOCTYPE html><title>x</title>"))
		case path == "/gone":
			http.NotFound(w, r)
		case path == "/loop":
			http.Redirect(w, r, "/loop", http.StatusFound)
		case strings.HasPrefix(path, "/to/"):
			target := strings.TrimPrefix(path, "/to/")
			_, port, _ := strings.Cut(r.Host, ":")
			http.Redirect(w, r, strings.ReplaceAll(target, "PORT", port), http.StatusFound)
		}
	}))
	s.Start()
	t.Cleanup(s.Close)
	return s
}

// TestFetch fetches with one loopback address allowed and no other.
func TestFetch(t *testing.T) {
	s := newServer(t)
	for path, want := range map[string]string{
		"/image":                              "",
		"/to/http:%2F%2F127.0.0.1:PORT/image": "",
		"/to/http:%2F%2F127.0.0.2:PORT/image": "address that is not allowed",
		"/to/http:%2F%2F[::1]:PORT/image":     "address that is not allowed",
		"/to/http:%2F%2F169.254.169.254/x":    "address that is not allowed",
		"/to/file:%2F%2F%2Fetc%2Fpasswd":      `not "file"`,
		"/to/http:%2F%2Fu:p@127.0.0.1/x":      "user name or password",
		"/loop":                               "redirected more than 3 times",
		"/large":                              "larger than 100000 bytes",
		"/endless":                            "larger than 100000 bytes",
		"/slow":                               "not be fetched within",
		"/html":                               "it looks like text/html",
		"/gone":                               "its server answered 404",
	} {
		l := newLoader(t, func(c *Config) {
			c.FetchAllow = parsePrefixes("127.0.0.1/32")
			c.MaxBytes = 100_000
			c.FetchTimeout = time.Minute
			if path == "/slow" {
				c.FetchTimeout = 300 * time.Millisecond
			}
		})
		_, err := loadOne(t.Context(), l, Source{URL: s.URL + path})
		switch {
		case want == "" && err != nil:
			t.Errorf("%s: %v", path, err)
		case want != "" && (fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: got %v, want %q", path, err, want)
		}
	}
}

// TestFetchRefusesLoopback spells the address in unusual ways: only the dialed address matters.
func TestFetchRefusesLoopback(t *testing.T) {
	s := newServer(t)
	port := s.URL[strings.LastIndexByte(s.URL, ':'):]
	l := newLoader(t, nil)
	for _, host := range []string{
		"127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0", "2130706433", "0x7f000001", "0177.0.0.1", "127.1",
	} {
		_, err := loadOne(t.Context(), l, Source{URL: "http://" + host + port + "/image"})
		if fault.KindOf(err) != fault.Invalid {
			t.Errorf("%s: got %v, want an Invalid fault", host, err)
		}
	}
	_, err := loadOne(t.Context(), l, Source{URL: "http://localhost" + port + "/image"})
	if err == nil || !strings.Contains(err.Error(), "not allowed") {
		t.Errorf("localhost: got %v", err)
	}
	l = newLoader(t, func(c *Config) {
		c.Fetch = false
		c.FetchAllow = parsePrefixes("127.0.0.0/8")
	})
	_, err = loadOne(t.Context(), l, Source{URL: s.URL + "/image"})
	if err == nil || !strings.Contains(err.Error(), "send a data URL") {
		t.Errorf("Fetch is false: got %v", err)
	}
}

func TestConfig(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"pixels": func(c *Config) { c.DecodePixels = 1 },
		"sides":  func(c *Config) { c.MinSide = 1 << 20 },
		"time":   func(c *Config) { c.FetchTimeout = 0 },
	} {
		c := defaults(t)
		change(&c)
		if c.Validate() == nil {
			t.Errorf("%s: a wrong setting is accepted", name)
		}
	}
}
