package client_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"retort/orchestrator/client"
)

// gateway starts a fake gateway with three kinds of jobs. batches is its list of batches; "" switches them off.
func gateway(t *testing.T, batches string) *client.Service {
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
	return &client.Service{URL: server.URL + "/", Key: "mine", HTTP: server.Client()}
}

func TestJobsOfAllKinds(t *testing.T) {
	const batches = `{"data":[{"id":"batch_1","status":"completed","created_at":20,"request_counts":{"total":5,"completed":3,"failed":1}}],"has_more":false}`
	for given, want := range map[string]string{
		batches: "job_3 latent in_progress 2/9, batch_1 batch completed 4/5, job_1 latent completed 9/9",
		"":      "job_3 latent in_progress 2/9, job_1 latent completed 9/9",
	} {
		jobs, err := gateway(t, given).Jobs(t.Context(), 10)
		if err != nil {
			t.Fatal(err)
		}
		var shown []string
		for _, job := range jobs {
			shown = append(shown, strings.Join([]string{job.ID, job.Kind, job.Status, job.Progress}, " "))
		}
		if got := strings.Join(shown, ", "); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	if jobs, err := gateway(t, batches).Jobs(t.Context(), 2); err != nil || len(jobs) != 2 || jobs[1].ID != "batch_1" {
		t.Errorf("%+v %v", jobs, err)
	}
}

// TestNewestJobOfAnyKind lists one job: a search that is newer than many batches.
func TestNewestJobOfAnyKind(t *testing.T) {
	const batch = `{"id":"batch_1","status":"completed","created_at":20}`
	batches := `{"data":[` + strings.Repeat(batch+",", 99) + batch + `],"has_more":true}`
	if jobs, err := gateway(t, batches).Jobs(t.Context(), 1); err != nil || len(jobs) != 1 || jobs[0].ID != "job_3" {
		t.Errorf("%+v %v", jobs, err)
	}
}

func TestJobByID(t *testing.T) {
	service := gateway(t, `{"data":[]}`)
	if job, err := service.Job(t.Context(), "batch_1"); err != nil || job.Status != "completed" || job.Kind != "batch" {
		t.Errorf("%+v %v", job, err)
	}
	if job, err := service.CancelJob(t.Context(), "job_7"); err != nil || job.Status != "cancelling" ||
		job.Kind != "masked" {
		t.Errorf("%+v %v", job, err)
	}
	for _, id := range []string{"job_8", "batch_2", "../health", ""} {
		if _, err := service.Job(t.Context(), id); err == nil ||
			!strings.Contains(err.Error(), "there is no such job") {
			t.Errorf("%q: %v", id, err)
		}
	}
	service.Key = "other"
	if _, err := service.Jobs(t.Context(), 5); err == nil || !strings.Contains(err.Error(), "401") {
		t.Errorf("another key: %v", err)
	}
}

// A search that nobody waits for any more is cancelled, and the error says if it cannot be.
func TestRunSearchCancelsItsJob(t *testing.T) {
	for _, status := range []int{http.StatusOK, http.StatusInternalServerError} {
		ctx, interrupt := context.WithCancel(t.Context())
		var cancelled atomic.Int32
		mux := http.NewServeMux()
		mux.HandleFunc("POST /latent/generate/jobs", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusAccepted)
			fmt.Fprint(w, `{"id":"job_7","status":"queued"}`)
		})
		mux.HandleFunc("GET /latent/generate/jobs/job_7", func(w http.ResponseWriter, _ *http.Request) {
			interrupt()
			fmt.Fprint(w, `{"id":"job_7","status":"in_progress"}`)
		})
		mux.HandleFunc("POST /latent/generate/jobs/job_7/cancel", func(w http.ResponseWriter, _ *http.Request) {
			cancelled.Add(1)
			w.WriteHeader(status)
			fmt.Fprint(w, `{"id":"job_7","status":"cancelling"}`)
		})
		server := httptest.NewServer(mux)
		t.Cleanup(server.Close)
		service := &client.Service{URL: server.URL, HTTP: server.Client(), Attempts: 1}
		_, err := service.RunSearch(ctx, "/latent/generate/jobs", map[string]string{"smi": "CC"})
		if !errors.Is(err, context.Canceled) || cancelled.Load() != 1 {
			t.Errorf("%v after %d calls", err, cancelled.Load())
		}
		if isNamed := strings.Contains(err.Error(), "job_7 was not cancelled"); isNamed != (status != http.StatusOK) {
			t.Errorf("%d: %v", status, err)
		}
	}
}
