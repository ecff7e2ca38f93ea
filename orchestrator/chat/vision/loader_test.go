package vision

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"retort/orchestrator/fault"
)

// defaults returns the settings of a command line without flags.
func defaults(t testing.TB) (c Config) {
	t.Helper()
	parser, err := kong.New(&c)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parser.Parse(nil); err != nil {
		t.Fatal(err)
	}
	return c
}

func newLoader(t testing.TB, change func(*Config)) *Loader {
	t.Helper()
	c := defaults(t)
	if change != nil {
		change(&c)
	}
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	return NewLoader(c, nil)
}

// loadOne loads one image.
func loadOne(ctx context.Context, l *Loader, from Source) (*Image, error) {
	set, err := l.Load(ctx, []Source{from})
	if err != nil {
		return nil, err
	}
	return set.All()[0], nil
}

func dataURL(label string, file []byte) string {
	return "data:" + label + ";base64," + base64.StdEncoding.EncodeToString(file)
}

func fixture(t testing.TB, name string) []byte {
	t.Helper()
	file, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return file
}

func encodePNG(t testing.TB, img image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestReference compares pixels with those of Pillow.
func TestReference(t *testing.T) {
	var golden struct {
		Entries map[string]struct {
			Width, Height int
			RGB           []byte
		}
	}
	if err := json.Unmarshal(fixture(t, "golden.json"), &golden); err != nil {
		t.Fatal(err)
	}
	l := newLoader(t, nil)
	for name, want := range golden.Entries {
		t.Run(name, func(t *testing.T) {
			const wrongType = "text/html" // is ignored
			img, err := loadOne(t.Context(), l, Source{URL: dataURL(wrongType, fixture(t, name))})
			if err != nil {
				t.Fatal(err)
			}
			got, w, h, err := (&Images{loader: l, images: []*Image{img}, request: t.Context()}).RGB(t.Context(), 0, 0)
			if err != nil || w != want.Width || h != want.Height {
				t.Fatalf("%d × %d, %v; want %d × %d", w, h, err, want.Width, want.Height)
			}
			tolerance := 1
			switch {
			case name == "lossy.webp":
				tolerance = 30 // libwebp interpolates the subsampled chroma, Go repeats it
			case name == "cmyk.jpg":
				tolerance = 24 // Pillow converts CMYK differently
			case strings.HasSuffix(name, ".jpg"):
				tolerance = 6 // the decoders round differently
			}
			if worst := difference(got, want.RGB); worst > tolerance {
				t.Errorf("differs by up to %d of 255", worst)
			}
			if img.Format == "gif" {
				t.Error("the image is a GIF")
			}
		})
	}
}

func difference(a, b []byte) (worst int) {
	if len(a) != len(b) {
		return 256
	}
	for i := range a {
		worst = max(worst, int(a[i])-int(b[i]), int(b[i])-int(a[i]))
	}
	return worst
}

// TestRewrite checks which files are rewritten as PNG.
func TestRewrite(t *testing.T) {
	for name, want := range map[string]bool{
		"rgb.png": false, "rgb.jpg": false, "lossy.webp": false,
		"rgba.png": true, "cmyk.jpg": true, "palette-transparent.png": true,
	} {
		file := fixture(t, name)
		img, err := loadOne(t.Context(), newLoader(t, nil), Source{URL: dataURL("image/png", file)})
		if err != nil {
			t.Fatal(err)
		}
		if got := !bytes.Equal(img.File, file); got != want {
			t.Errorf("%s: rewritten = %v, want %v", name, got, want)
		}
	}
}

func TestRefusals(t *testing.T) {
	gray := image.NewGray(image.Rect(0, 0, 40, 40))
	whole := encodePNG(t, gray)
	thirty := encodePNG(t, image.NewGray(image.Rect(0, 0, 30000, 10)))
	scans := append(bytes.Clone(fixture(t, "progressive.jpg")), bytes.Repeat([]byte{0xff, 0xda}, 200)...)
	for name, test := range map[string]struct{ source, want string }{
		"html":              {dataURL("image/png", []byte("<html><body>no</body></html>")), "it looks like text/html"},
		"svg":               {dataURL("image/svg+xml", []byte(`<svg xmlns="http://www.w3.org/2000/svg"/>`)), "cannot identify image file"},
		"empty":             {"data:image/png;base64,", "it is empty"},
		"broken base64":     {"data:image/png;base64,iVBORw0KGgo*", "base64 is broken"},
		"not base64":        {"data:image/png,abc", "not base64"},
		"no comma":          {"data:image/png;base64", "no comma"},
		"one pixel":         {dataURL("image/png", encodePNG(t, image.NewGray(image.Rect(0, 0, 1, 1)))), "1 × 1 pixels; at least 8"},
		"30000 pixels wide": {dataURL("image/png", thirty), "30000 × 10 pixels; at most 16384"},
		"bomb":              {dataURL("image/png", header(16000, 16000)), "at most 33554432 in total"},
		"huge bomb":         {dataURL("image/png", header(1<<31-1, 1<<31-1)), ""},
		"webp bomb":         {dataURL("image/webp", fixture(t, "bomb.webp")), "broken"},
		"animated gif":      {dataURL("image/gif", fixture(t, "animated.gif")), "GIF image is animated"},
		"animated webp":     {dataURL("image/webp", fixture(t, "animated.webp")), "WebP image is animated"},
		"cut off":           {dataURL("image/png", whole[:len(whole)-20]), "broken"},
		"header only":       {dataURL("image/png", header(100, 100)), "broken"},
		"many scans":        {dataURL("image/jpeg", scans), "more than 100 scans"},
		"too many bytes":    {dataURL("image/png", append(bytes.Clone(whole), make([]byte, 21<<20)...)), "larger than 20971520 bytes"},
		"file":              {"file:///etc/passwd", `not "file"`},
		"ftp":               {"ftp://example.org/a.png", `not "ftp"`},
		"no scheme":         {"/etc/passwd", "no scheme"},
		"javascript":        {"javascript:alert(1)", `not "javascript"`},
		"no host":           {"http:///a.png", "no host"},
		"password":          {"http://a:b@example.org/a.png", "user name or password"},
		"bad url":           {"http://[::1", "not valid"},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := loadOne(t.Context(), newLoader(t, nil), Source{URL: test.source})
			runtime.ReadMemStats(&after)
			if fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want an Invalid fault with %q", err, test.want)
			}
			if used := after.TotalAlloc - before.TotalAlloc; used > 120<<20 {
				t.Errorf("%d MB were allocated", used>>20)
			}
		})
	}
}

func TestLoadBase64(t *testing.T) {
	file := fixture(t, "rgb.png")
	text := base64.StdEncoding.EncodeToString(file)
	for _, form := range []string{text, strings.TrimRight(text, "="), text[:40] + "\n" + text[40:]} {
		img, err := loadOne(t.Context(), newLoader(t, nil), Source{Base64: form})
		if err != nil || img.Width != 20 || !strings.HasPrefix(img.DataURL(), "data:image/png;base64,") {
			t.Errorf("%v, %v", img, err)
		}
	}
}

func TestCanceled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := loadOne(ctx, newLoader(t, nil), Source{URL: dataURL("image/png", fixture(t, "rgb.png"))})
	if fault.KindOf(err) != fault.Canceled {
		t.Errorf("got %v, want a Canceled fault", err)
	}
}

func BenchmarkLoad(b *testing.B) {
	img := image.NewPaletted(image.Rect(0, 0, 300, 300), color.Palette{color.White, color.Black})
	source := dataURL("image/png", encodePNG(b, img))
	l := newLoader(b, nil)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := loadOne(b.Context(), l, Source{URL: source}); err != nil {
			b.Fatal(err)
		}
	}
}
