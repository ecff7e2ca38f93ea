package gateway

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"

	"retort/orchestrator/gateway/httpserver"
	"retort/orchestrator/unfinished"
)

// soup is an answer that may be unfinished.
type soup struct {
	Spoons     int                     `json:"spoons"`
	Unfinished *unfinished.Explanation `json:"unfinished,omitempty"`
}

func (s soup) ExplainUnfinished() *unfinished.Explanation { return s.Unfinished }

// patient is a kitchen that stirs until it must stop, and then answers with what it has.
type patient struct {
	*kitchen
	begun chan struct{}
}

func (p patient) Routes(r fiber.Router) {
	stir := func(ctx context.Context, _ order) (soup, error) {
		work, end := unfinished.Begin(ctx)
		defer end()
		p.begun <- struct{}{}
		<-work.Done()
		explanation, err := unfinished.Explain(ctx, work, work.Err(), true)
		return soup{Spoons: 7, Unfinished: explanation}, err
	}
	wantsStream := func(o order) bool { return o.Stream }
	r.Post("/cook", JSONOrStream(wantsStream, stir, func(ctx context.Context, o order, e *Events) error {
		last, err := stir(ctx, o)
		if err != nil {
			return err
		}
		return e.Send(last)
	}))
}

func newPatient() patient { return patient{&kitchen{}, make(chan struct{}, 8)} }

func TestUnfinishedAnswersSaySo(t *testing.T) {
	stopping, stop := context.WithCancel(t.Context())
	defer stop()
	for reason, change := range map[string]func(*Options){
		"deadline": func(o *Options) { o.Timeout = 10 * time.Second }, // the work has nine, an answer the last one
		"stopping": func(o *Options) { o.Stopping = stopping },
	} {
		url, log := openAPI(t, newPatient(), change, httpserver.Config{})
		if reason == "stopping" {
			stop()
		}
		want := `{"spoons":7,"unfinished":{"reason":"` + reason + `","message":"`
		t.Run(reason, func(t *testing.T) {
			t.Run("JSON", func(t *testing.T) {
				t.Parallel()
				status, text, header := post(t, url+"/cook", `{}`)
				if status != 200 || header.Get(unfinished.Header) != reason || !strings.HasPrefix(text, want) {
					t.Errorf("%d %v %s", status, header, text)
				}
			})
			t.Run("stream", func(t *testing.T) {
				t.Parallel()
				if _, text, _ := post(t, url+"/cook", `{"stream": true}`); !strings.Contains(text, "data: "+want) {
					t.Errorf("%q", text)
				}
			})
		})
		if !strings.Contains(log.String(), `"unfinished":"`+reason+`"`) {
			t.Errorf("the log says nothing of it: %s", log)
		}
		_, metrics := get(t, url+"/metrics")
		counted := `retort_http_unfinished_total{api="kitchen",reason="` + reason + `"} 2`
		if !strings.Contains(metrics, counted) {
			t.Errorf("%s is not among the metrics", counted)
		}
	}
}

// The work of a departed client is not answered, whatever it has found.
func TestDepartedClientGetsNoAnswer(t *testing.T) {
	p := newPatient()
	url, log := openAPI(t, p, func(o *Options) { o.Timeout = time.Minute }, httpserver.Config{})
	ctx, leave := context.WithCancel(t.Context())
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/cook", strings.NewReader(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		<-p.begun
		leave()
	}()
	if res, err := http.DefaultClient.Do(request); err == nil {
		res.Body.Close()
		t.Error("it was answered")
	}
	for !strings.Contains(log.String(), `"path":"/cook"`) {
		time.Sleep(10 * time.Millisecond)
	}
	if strings.Contains(log.String(), `"unfinished"`) {
		t.Errorf("the log says: %s", log)
	}
}
