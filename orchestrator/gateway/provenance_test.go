package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"

	"retort/orchestrator/gateway/httpserver"
	"retort/orchestrator/memory"
	"retort/orchestrator/provenance"
	"retort/orchestrator/telemetry"
)

// counter is a kitchen whose answers end its streams, or are no objects.
type counter struct{ *kitchen }

// plate is an order that can ask for a manifest in its body.
type plate struct {
	order
	Manifest bool   `json:"manifest"`
	Seed     *int64 `json:"seed"`
}

func (c counter) Routes(r fiber.Router) {
	serve := func(ctx context.Context, p plate) (soup, error) {
		if p.Fail != "" {
			return soup{}, refuseManifest(p.Fail)
		}
		telemetry.FromContext(ctx).AddModelRows("pot", 2)
		telemetry.FromContext(ctx).AddEvaluations(3)
		return soup{Spoons: int(*p.Seed)}, nil
	}
	r.Post("/cook", JSONOrStream(func(p plate) bool { return p.Stream }, serve,
		func(ctx context.Context, p plate, e *Events) error {
			answer, err := serve(ctx, p)
			if err != nil {
				return err
			}
			if err := e.Send(map[string]int{"course": 1}); err != nil {
				return err
			}
			return e.Send(answer)
		}))
	r.Post("/list", JSON(func(context.Context, order) ([]int, error) { return []int{1}, nil }))
}

func identifyPot(_ context.Context, rows map[string]int64) ([]provenance.Model, map[string]string) {
	return []provenance.Model{{ID: "retort/pot-v1", Entry: "pot", Rows: rows["pot"]}}, map[string]string{"retort": "test"}
}

// postWithHeader posts a body with provenance.Header.
func postWithHeader(t *testing.T, url, value, body string) (status int, text string) {
	t.Helper()
	request, err := http.NewRequest(http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set(provenance.Header, value)
	request.Header.Set("Authorization", "Bearer secret")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	content, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(content)
}

// The memory budget counts the copies of a body in its manifest, whether the header or the body asks for it.
func TestMemoryOfManifests(t *testing.T) {
	const size = 1 << 20
	for _, c := range []struct {
		api    API
		header string
		want   int64
	}{
		{&kitchen{}, "", memory.BodyWeight * size},
		{&kitchen{}, "false", memory.BodyWeight * size},
		{&kitchen{}, "true", manifestWeight * size},
		{counter{&kitchen{}}, "", manifestWeight * size}, // the body is not read yet, and may ask
	} {
		budget := memory.NewBudget(64*size, time.Second)
		url, _ := openAPI(t, c.api, func(o *Options) {
			o.Identify = identifyPot
			o.BodyLimit = size
			o.Memory = budget
		}, httpserver.Config{})
		conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		fmt.Fprintf(conn, "POST /cook HTTP/1.1\r\nHost: x\r\n%s: %s\r\nContent-Length: %d\r\n\r\n%s",
			provenance.Header, c.header, size, strings.Repeat(" ", size-1))
		waitUntil(t, "the body holds memory", func() bool { return budget.Held() > 0 })
		if held := budget.Held(); held != c.want {
			t.Errorf("%T, header %q: %d bytes, want %d", c.api, c.header, held, c.want)
		}
	}
}

// Large answers wait for a free core before their digest is computed; small ones do not.
func TestDigestsAreBounded(t *testing.T) {
	large := `{"text":"` + strings.Repeat("x", memory.SmallBody) + `"}`
	x := &exchange{
		request: &telemetry.Request{API: "kitchen"}, gateway: &Gateway{opts: Options{Identify: identifyPot}},
		manifest: &provenance.Manifest{},
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	all := int64(runtime.GOMAXPROCS(0))
	if err := digests.Acquire(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	if _, err := x.encodeWithManifest(ctx, json.RawMessage(large)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("without a free core: %v", err)
	}
	if _, err := x.encodeWithManifest(ctx, json.RawMessage(`{}`)); err != nil {
		t.Errorf("a small answer: %v", err)
	}
	digests.Release(all)
	if text, err := x.encodeWithManifest(t.Context(), json.RawMessage(large)); err != nil || len(text) < len(large) {
		t.Errorf("with a free core: %v", err)
	}
}

func TestManifests(t *testing.T) {
	identify := func(o *Options) { o.Identify = identifyPot }
	url, _ := openAPI(t, counter{&kitchen{}}, identify, httpserver.Config{})
	for _, c := range []struct{ header, body string }{
		{"true", `{"seed":5}`}, {"", `{"seed":5,"manifest":true}`}, {"true", `{"manifest":false}`},
		{"true", `{"stream":true}`},
	} {
		status, text := postWithHeader(t, url+"/cook", c.header, c.body)
		if _, after, isStream := strings.Cut(text, "data: {\"course\":1}\n\ndata: "); isStream {
			text = after
		}
		var answer struct {
			Spoons   int                 `json:"spoons"`
			Manifest provenance.Manifest `json:"manifest"`
		}
		if err := json.Unmarshal([]byte(text), &answer); err != nil || status != 200 {
			t.Fatalf("%s %s: %d, %s, %v", c.header, c.body, status, text, err)
		}
		m := answer.Manifest
		var request plate
		if err := json.Unmarshal(m.Request, &request); err != nil || request.Seed == nil || request.Events != 3 {
			t.Errorf("%s: request %s, %v", c.body, m.Request, err)
			continue
		}
		digest, err := provenance.Digest([]byte(text))
		if err != nil || digest != m.AnswerSHA256 || int(*request.Seed) != answer.Spoons {
			t.Errorf("%s: %s, digest %s, %v", c.body, text, digest, err)
		}
		if m.Path != "/kitchen/cook" || m.Evaluations != 3 || m.Models[0].Rows != 2 || strings.Contains(text, "secret") {
			t.Errorf("%s: %s", c.body, text)
		}
	}
	for _, c := range []struct{ path, header, body, want string }{
		{"/cook", "yes", `{}`, `"field":"X-Retort-Manifest"`},
		{"/list", "true", `{}`, "whose answer is no object"},
		{"/cook", "true", `{"fail":"is burnt"}`, `X-Retort-Manifest is burnt"}`},
	} {
		status, text := postWithHeader(t, url+c.path, c.header, c.body)
		if status != 400 || !strings.Contains(text, c.want) || strings.Contains(text, "answer_sha256") {
			t.Errorf("%s %s: %d %s", c.path, c.body, status, text)
		}
	}
	if _, text := postWithHeader(t, url+"/cook", "false", `{"seed":5}`); text != `{"spoons":5}` {
		t.Errorf("not asked for: %s", text)
	}
	for _, path := range []string{"/cook/", "/Cook", "/cook?spice=1"} { // other spellings that Fiber routes
		status, text := postWithHeader(t, url+path, "true", `{}`)
		if status != 200 || !strings.Contains(text, `"path":"/kitchen/cook"`) {
			t.Errorf("%s: %d %s", path, status, text)
		}
	}
	// The streams of the kitchen do not end with the answer.
	url, _ = open(t, &kitchen{}, identify)
	status, text := postWithHeader(t, url+"/cook", "true", `{"stream":true}`)
	if status != 400 || !strings.Contains(text, "is not for streams of this endpoint") {
		t.Errorf("stream: %d %s", status, text)
	}
}
