package vision

import (
	"context"
	"image"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"retort/orchestrator/fault"
	"retort/orchestrator/memory"
)

// TestCanvasIsBounded sends two images of a few hundred bytes, one wide and one tall: the size that both fit on has 268
// million pixels.
func TestCanvasIsBounded(t *testing.T) {
	l := newLoader(t, nil)
	wide := dataURL("image/png", encodePNG(t, image.NewGray(image.Rect(0, 0, 16384, 8))))
	tall := dataURL("image/png", encodePNG(t, image.NewGray(image.Rect(0, 0, 8, 16384))))
	set, err := l.Load(t.Context(), []Source{
		{URL: wide, Path: []any{"messages", 0, "content", 0}}, {URL: tall, Path: []any{"messages", 2, "content", 1}},
	})
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, _, _, err = set.RGB(t.Context(), 0, 0)
	runtime.ReadMemStats(&after)
	const want = "image 2 of 2 (8 × 16384) is too large: this model takes all images in one size, here 16384 × 16384"
	if fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
	if field := fault.As(err).Field(); field != "messages[2].content[1]" {
		t.Errorf("the fault names %s, want messages[2].content[1]", field)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 1<<20 {
		t.Errorf("the refusal allocated %d bytes", used)
	}
	if _, w, h, err := set.RGB(t.Context(), 100, 100); err != nil || w != 100 || h != 100 {
		t.Errorf("scaled to %d × %d, %v; want 100 × 100", w, h, err)
	}
}

// TestScalingIsBounded checks the memory of scaling: without a bound it takes 32 bytes for each column of the result
// and row of the image.
func TestScalingIsBounded(t *testing.T) {
	img := image.NewRGBA(image.Rect(0, 0, 512, 16384))
	for i := range img.Pix {
		img.Pix[i] = 200
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	out := resize(img, 2048, 1024, true)
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > 2*maxScalingBytes {
		t.Errorf("%d MB were allocated", used>>20)
	}
	if at := out.RGBAAt(1000, 500); at.R < 198 || at.R > 202 {
		t.Errorf("the image is %v, want gray 200", at)
	}
}

// TestFetchedImagesAreBounded checks the limit on the files of one request, and that they count against the memory
// budget until the request ends.
func TestFetchedImagesAreBounded(t *testing.T) {
	file := append(fixture(t, "rgb.png"), make([]byte, 50_000)...)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/pieces" {
			w.(http.Flusher).Flush() // so that the response has no length
		}
		_, _ = w.Write(file)
	}))
	defer server.Close()
	c := defaults(t)
	c.FetchAllow = parsePrefixes("127.0.0.1/32")
	c.MaxBytes = 100_000
	c.FetchTotal = 140_000
	const budgetSize = 1 << 20
	budget := memory.NewBudget(budgetSize, 50*time.Millisecond)
	l := NewLoader(c, budget)
	for _, path := range []string{"/whole", "/pieces"} {
		var sources []Source
		for range 3 {
			sources = append(sources, Source{URL: server.URL + path, Path: []any{"content", len(sources)}})
		}
		ctx, end := context.WithCancel(t.Context())
		if _, err := l.Load(ctx, sources[:2]); err != nil {
			t.Errorf("%s, two files: %v", path, err)
		}
		if held, want := budget.Held(), int64(2*fileWeight*len(file)); held < want {
			t.Errorf("%s: the budget counts %d bytes for two files, want at least %d", path, held, want)
		}
		end()
		awaitEmpty(t, budget)
		ctx, end = context.WithCancel(t.Context())
		_, err := l.Load(ctx, sources)
		if fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), "larger than 140000 bytes together") {
			t.Errorf("%s, three files: got %v, want an Invalid fault", path, err)
		}
		end()
		awaitEmpty(t, budget)
	}
	release, err := budget.Acquire(t.Context(), budgetSize)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	if _, err := l.Load(t.Context(), []Source{{URL: server.URL + "/whole"}}); fault.KindOf(err) != fault.Overloaded {
		t.Errorf("no memory left: got %v, want an Overloaded fault", err)
	}
}

func awaitEmpty(t *testing.T, budget *memory.Budget) {
	t.Helper()
	for until := time.Now().Add(20 * time.Second); budget.Held() > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("the budget counts %d bytes 20 s after the request has ended", budget.Held())
		}
	}
}
