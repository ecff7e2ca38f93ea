package gateway

import (
	"context"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gofiber/fiber/v2"
	"github.com/prometheus/client_golang/prometheus"

	"retort/orchestrator/gateway/admission"
	"retort/orchestrator/gateway/httpserver"
)

// gallery is a kitchen with streams that send one event and stay open.
type gallery struct{ *kitchen }

func (gallery) Routes(r fiber.Router) {
	r.Get("/ovens/:id/events", Watch("id", func(ctx context.Context, id string, events *Events) error {
		if err := events.SendText(id); err != nil {
			return err
		}
		<-ctx.Done()
		return ctx.Err()
	}))
}

// stream opens a stream from an address of this machine, with a key. The answer's body is closed when the test ends.
func stream(t *testing.T, url, from, key string) *http.Response {
	t.Helper()
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	transport := &http.Transport{DialContext: dialer.DialContext, DisableKeepAlives: true}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/ovens/7/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	if key != "" {
		request.Header.Set("Authorization", "Bearer "+key)
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { response.Body.Close() })
	return response
}

// Event streams take no permit; they are bounded for each client and for all together.
func TestWatchesAreBounded(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(file, []byte("alpha\nbeta\ngamma\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	keys, err := ReadKeys(file)
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		keys    *Keys
		clients [3][2]string // address and key
	}{
		"by address": {nil, [3][2]string{{"127.0.0.1", ""}, {"127.0.0.2", ""}, {"127.0.0.3", ""}}},
		"by key":     {keys, [3][2]string{{"127.0.0.1", "alpha"}, {"127.0.0.1", "beta"}, {"127.0.0.1", "gamma"}}},
	} {
		t.Run(name, func(t *testing.T) {
			var registry *prometheus.Registry
			url, log := openAPI(t, gallery{&kitchen{}}, func(o *Options) {
				registry = o.Metrics.Registry
				o.Keys = test.keys
				o.Watches = admission.WatchLimits{Total: 3, PerClient: 2}
				o.Concurrency = 1
				o.Timeout = patience
			}, httpserver.Config{})
			var open []*http.Response
			for i, want := range []struct{ client, status int }{
				{0, 200}, {0, 200}, {0, 429}, {1, 200}, {1, 429}, {2, 429},
			} {
				response := stream(t, url, test.clients[want.client][0], test.clients[want.client][1])
				if response.StatusCode != want.status {
					t.Fatalf("stream %d: %s", i, response.Status)
				}
				if want.status == 200 {
					open = append(open, response)
					continue
				}
				text := make([]byte, 1000)
				n, _ := response.Body.Read(text)
				if response.Header.Get("Retry-After") != "10" ||
					!strings.HasPrefix(string(text[:n]), `{"field":"","kind":"too many","message":"`) {
					t.Errorf("stream %d: %v %s", i, response.Header, text[:n])
				}
			}
			if count := strings.Count(log.String(), `"status":429`); count != 3 {
				t.Errorf("%d refusals are logged", count)
			}
			if count := total(t, registry, "retort_http_refused_total"); count != 0 {
				t.Errorf("%v quotas that are used up are counted as load", count)
			}
			open[0].Body.Close()
			waitUntil(t, "a client may open a stream again once it has closed one", func() bool {
				return stream(t, url, test.clients[0][0], test.clients[0][1]).StatusCode == 200
			})
		})
	}
}

// The head of a stream is the end of its connection: fasthttp writes the end of a chunked body behind it, which the
// next answer would begin with.
func TestHeadOfStreamClosesConnection(t *testing.T) {
	url, _ := openAPI(t, gallery{&kitchen{}}, nil, httpserver.Config{})
	for path, closes := range map[string]bool{"/ovens/7/events": true, "/v1/health/live": false} {
		response, err := http.Head(url + path)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode != http.StatusOK || response.Close != closes {
			t.Errorf("%s: %s, closed %t", path, response.Status, response.Close)
		}
	}
}

// total is the sum of a counter or a gauge over all its labels.
func total(t *testing.T, registry *prometheus.Registry, name string) (sum float64) {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			if family.GetName() == name {
				sum += metric.GetCounter().GetValue() + metric.GetGauge().GetValue() // one of which is 0
			}
		}
	}
	return sum
}

func TestNetwork(t *testing.T) {
	for address, want := range map[string]string{
		"192.0.2.7": "192.0.2.7", "::ffff:192.0.2.7": "192.0.2.7",
		"2001:db8:1:2:3:4:5:6": "2001:db8:1:2::/64", "2001:db8:1:2::9": "2001:db8:1:2::/64",
	} {
		if got := network(net.ParseIP(address)); got != want {
			t.Errorf("%s: %s, want %s", address, got, want)
		}
	}
}
