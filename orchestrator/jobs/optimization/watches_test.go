package optimization

import (
	"io"
	"net/http"
	"testing"

	"retort/orchestrator/gateway/admission"
)

// A client may have a limited number of event streams. One more is refused in the API's form; the client can still
// request the job itself.
func TestWatchesAreBounded(t *testing.T) {
	release := make(chan struct{})
	b := begin(t, t.TempDir(), Config{}, func(Request, map[string]any, func(string) error) (string, error) {
		<-release
		return `{"generated":[]}`, nil
	})
	job := b.submit("latent", `{"smi":"CCC"}`)
	api := serve(t, b, admission.WatchLimits{Total: 4, PerClient: 1})
	url := api + Path + "/" + job.ID
	open := func(url string) *http.Response {
		t.Helper()
		response, err := http.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { response.Body.Close() })
		return response
	}
	first := open(url + "/events")
	if first.StatusCode != http.StatusOK {
		t.Fatal(first.Status)
	}
	refused := open(url + "/events")
	text, err := io.ReadAll(refused.Body)
	const want = `{"detail":"You have too many event streams open: close one, or request the job itself."}`
	if err != nil || string(text) != want || refused.StatusCode != http.StatusTooManyRequests ||
		refused.Header.Get("Retry-After") == "" {
		t.Errorf("%s %v %s %v", refused.Status, refused.Header, text, err)
	}
	if current := open(url); current.StatusCode != http.StatusOK {
		t.Errorf("the job itself: %s", current.Status)
	}
	close(release)
	if text, err = io.ReadAll(first.Body); err != nil || len(text) == 0 {
		t.Errorf("the first stream: %q %v", text, err)
	}
}
