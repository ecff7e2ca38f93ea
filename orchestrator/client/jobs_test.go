package client_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"retort/orchestrator/client"
)

// gateway plays a gateway with three kinds of jobs, of which batches are switched off where their list is empty.
func gateway(t *testing.T, batches string) *client.Jobs {
	mux := http.NewServeMux()
	answer := func(pattern, body string) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer mine" {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			fmt.Fprint(w, body)
		})
	}
	if batches != "" {
		answer("GET /v1/batches", batches)
		answer("GET /v1/batches/batch_1", `{"id":"batch_1","status":"completed"}`)
	}
	mux.HandleFunc("GET /latent/generate/jobs", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("after") == "" {
			fmt.Fprint(w, `{"data":[{"id":"job_3","status":"in_progress","created_at":30,"progress":{"iteration":2,"iterations":9}}],"has_more":true}`)
			return
		}
		fmt.Fprint(w, `{"data":[{"id":"job_1","status":"completed","created_at":10,"progress":{"iteration":9,"iterations":9}}],"has_more":false}`)
	})
	answer("GET /masked/generate/jobs", `{"data":[],"has_more":false}`)
	answer("POST /masked/generate/jobs/job_7/cancel", `{"id":"job_7","status":"cancelling"}`)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return &client.Jobs{URL: server.URL + "/", Key: "mine", HTTP: server.Client()}
}

func TestJobsOfAllKindsAreListed(t *testing.T) {
	const batches = `{"data":[{"id":"batch_1","status":"completed","created_at":20,"request_counts":{"total":5,"completed":3,"failed":1}}],"has_more":false}`
	for given, want := range map[string]string{
		batches: "job_3 latent in_progress 2/9, batch_1 batch completed 4/5, job_1 latent completed 9/9",
		"":      "job_3 latent in_progress 2/9, job_1 latent completed 9/9",
	} {
		jobs, err := gateway(t, given).List(t.Context(), 10)
		if err != nil {
			t.Fatal(err)
		}
		var shown []string
		for _, one := range jobs {
			shown = append(shown, strings.Join([]string{one.ID, one.Kind, one.Status, one.Progress}, " "))
		}
		if got := strings.Join(shown, ", "); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	if jobs, err := gateway(t, batches).List(t.Context(), 2); err != nil || len(jobs) != 2 || jobs[1].ID != "batch_1" {
		t.Errorf("%+v %v", jobs, err)
	}
}

func TestAJobIsFoundWhereverItIs(t *testing.T) {
	jobs := gateway(t, `{"data":[]}`)
	if one, err := jobs.Show(t.Context(), "batch_1"); err != nil || one.Status != "completed" || one.Kind != "batch" {
		t.Errorf("%+v %v", one, err)
	}
	if one, err := jobs.Cancel(t.Context(), "job_7"); err != nil || one.Status != "cancelling" || one.Kind != "masked" {
		t.Errorf("%+v %v", one, err)
	}
	for _, id := range []string{"job_8", "batch_2", "../health", ""} {
		if _, err := jobs.Show(t.Context(), id); !errors.Is(err, client.ErrNone) {
			t.Errorf("%q: %v", id, err)
		}
	}
	jobs.Key = "other"
	if _, err := jobs.List(t.Context(), 5); err == nil || !strings.Contains(err.Error(), "401") {
		t.Errorf("another key: %v", err)
	}
}
