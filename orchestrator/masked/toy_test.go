package masked

import (
	"context"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"retort/chem/synthesis"
	"retort/orchestrator/gateway"
	"retort/orchestrator/gateway/httpserver"
	"retort/orchestrator/oracle"
	"retort/orchestrator/telemetry"
	"retort/orchestrator/triton"
	"retort/orchestrator/triton/batching"
	"retort/orchestrator/triton/discovery"
	"retort/orchestrator/triton/tritontest"
	"retort/tokenizers/molecules"
)

// harness is the API over HTTP, in front of a fake Triton with the toy model.
type harness struct {
	t       *testing.T
	triton  *tritontest.Server
	service *Service
	url     string
	stop    func() // starts the shutdown: requests end early with their molecules so far
	drain   func() // stops accepting requests and waits for those in flight
}

func start(t *testing.T, config Config) *harness {
	t.Helper()
	server := tritontest.Start(t, toy(t))
	return serve(t, config, server, server.Client(), "testdata")
}

// serve starts the API over a Triton, and waits until it has discovered its models.
func serve(t *testing.T, config Config, server *tritontest.Server, client *triton.Client, repository string) *harness {
	t.Helper()
	registry := discovery.NewRegistry(client, discovery.Config{Every: 50 * time.Millisecond, Repository: repository})
	t.Cleanup(registry.Close)
	if err := registry.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	logger := zerolog.New(zerolog.NewTestWriter(t))
	catalog := discovery.NewCatalog(registry, "masked", logger, func(int) {},
		Opener(client, batching.Options{MaxTokens: 512}))
	oracles := oracle.Config{Timeout: 5 * time.Second, Calls: 100_000}
	openOracle := oracle.Opener(client, oracles, batching.Options{}, func(string, string, int) {})
	oracleCatalog := discovery.NewCatalog(registry, oracle.API, zerolog.Nop(), func(int) {}, openOracle)
	planner, err := synthesis.NewPlanner(synthesis.Default())
	if err != nil {
		t.Fatal(err)
	}
	service := New(config, catalog, oracle.New(oracles, oracleCatalog), planner)
	if err := service.Ready(); err != nil {
		t.Fatal(err)
	}
	life, end := context.WithCancel(context.Background())
	stopping, stop := context.WithCancel(context.Background())
	g, err := gateway.New(life, service, func() bool { return false }, gateway.Options{
		Config:   gateway.Config{Concurrency: 8, Queue: 8, BodyLimit: 1 << 16, Timeout: 10 * time.Minute},
		Stopping: stopping, Logger: zerolog.Nop(), Metrics: telemetry.NewMetrics(),
	})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	apiServer := httpserver.New(g.Handler(), httpserver.Config{})
	go func() { _ = apiServer.Serve(listener) }()
	drain := sync.OnceFunc(func() {
		http.DefaultClient.CloseIdleConnections()
		if err := apiServer.Shutdown(time.Minute); err != nil {
			t.Errorf("requests are still in flight: %v", err)
		}
	})
	t.Cleanup(func() {
		end()
		stop()
		drain()
	})
	url := "http://" + listener.Addr().String()
	return &harness{t: t, triton: server, service: service, url: url, stop: stop, drain: drain}
}

func (h *harness) post(body string) (int, string) {
	h.t.Helper()
	answer, err := http.Post(h.url+"/generate", "application/json", strings.NewReader(body))
	if err != nil {
		h.t.Fatal(err)
	}
	return h.read(answer)
}

func (h *harness) get(path string) (int, string) {
	h.t.Helper()
	answer, err := http.Get(h.url + path)
	if err != nil {
		h.t.Fatal(err)
	}
	return h.read(answer)
}

func (h *harness) read(answer *http.Response) (int, string) {
	h.t.Helper()
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		h.t.Fatal(err)
	}
	return answer.StatusCode, strings.TrimSpace(string(text))
}

func vocabulary(t testing.TB) *molecules.Vocabulary {
	t.Helper()
	v, err := molecules.LoadVocabulary("testdata/toy/vocab.txt")
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// toy is a fake of the unmasking model. As with the real one, the result of a row depends only on the row and its seed.
func toy(t testing.TB) tritontest.Model {
	v := vocabulary(t)
	return tritontest.Model{
		Config: tritontest.ConfigFile(t, "testdata/toy/config.pbtxt"),
		Infer: func(_ context.Context, r *triton.Request) (*triton.Response, error) {
			input, _ := tritontest.Input(r, "input_ids")
			seeds, _ := tritontest.Input(r, "seed")
			ids, err := triton.Values[int64](input)
			if err != nil {
				return nil, err
			}
			seed, err := triton.Values[int64](seeds)
			if err != nil {
				return nil, err
			}
			out, width := make([]int64, len(ids)), int(input.Shape[1])
			copy(out, ids)
			for i := range seed {
				fill(v, out[i*width:(i+1)*width], uint64(seed[i]))
			}
			return &triton.Response{Outputs: []triton.Tensor{triton.Int64s("token_ids", input.Shape, out)}}, nil
		},
	}
}

// fill replaces each run of masks by chains of C, N and O that bond to pending open ends. A run before other masks
// bonds to one; the last run bonds to all but those that later fragments need. Ends stay open if there are too few
// masks.
func fill(v *molecules.Vocabulary, row []int64, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 1))
	token := func(text string) int64 { id, _ := v.ID(text); return int64(id) }
	dot, star := token("."), token("*")
	pending := 0 // open ends
	for at := 0; at < len(row); at++ {
		switch row[at] {
		case dot:
			pending--
			if at == 1 {
				pending = 1
			}
		case star:
			pending++
		case int64(v.MASK):
			end := at
			for end < len(row) && row[end] == int64(v.MASK) {
				end++
			}
			chains, open := 1, max(0, pending-1)
			if isLast := !slices.Contains(row[end:], int64(v.MASK)); isLast {
				chains, open = pending, 0
				for _, id := range row[end:] {
					if id == dot {
						open++
					} else if id == star {
						open--
					}
				}
			}
			for ; chains > 1 && end-at > 3; chains-- {
				row[at], row[at+1], at = dot, token("C"), at+2
			}
			if at > 1 && end-at > 1 {
				row[at], at = dot, at+1
			}
			for ; at < end; at++ {
				row[at] = token([]string{"C", "C", "N", "O"}[random.IntN(4)])
				if end-at <= open && chains > 0 && end < len(row) && row[end] == dot {
					row[at] = star
				}
			}
			at, pending = end-1, open
		}
	}
}
