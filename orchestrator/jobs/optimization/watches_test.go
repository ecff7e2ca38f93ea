package optimization

import (
	"io"
	"net/http"
	"testing"

	"retort/orchestrator/gateway/admission"
)

// A client may have a limited number of event streams. One more is refused in the API's words; the job itself is still
// answered.
func TestWatchesAreBounded(t *testing.T) {
	release := make(chan struct{})
	b := begin(t, t.TempDir(), Config{}, func(Attempt, map[string]any, func(string) error) (string, error) {
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
	watched := open(url + "/events")
	if watched.StatusCode != http.StatusOK {
		t.Fatal(watched.Status)
	}
	refused := open(url + "/events")
	text, err := io.ReadAll(refused.Body)
	const want = `{"detail":"You have too many event streams open: close one, or request the job itself."}`
	if err != nil || refused.StatusCode != http.StatusTooManyRequests || refused.Header.Get("Retry-After") == "" || string(text) != want {
		t.Errorf("%s %v %s %v", refused.Status, refused.Header, text, err)
	}
	if itself := open(url); itself.StatusCode != http.StatusOK {
		t.Errorf("the job itself: %s", itself.Status)
	}
	close(release)
	if text, err = io.ReadAll(watched.Body); err != nil || len(text) == 0 {
		t.Errorf("the first stream: %q %v", text, err)
	}
}
