package vision

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"path/filepath"
	"testing"
)

// header returns a PNG whose header states a size that its data do not have.
func header(width, height uint32) []byte {
	file := []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR")
	file = binary.BigEndian.AppendUint32(file, width)
	file = binary.BigEndian.AppendUint32(file, height)
	file = append(file, 8, 2, 0, 0, 0)
	return binary.BigEndian.AppendUint32(file, crc32.ChecksumIEEE(file[12:]))
}

// FuzzNormalize looks for files that crash a decoder or a check.
func FuzzNormalize(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.*")
	for _, path := range files {
		f.Add(fixture(f, filepath.Base(path)))
	}
	l := newLoader(f, func(c *Config) { c.MaxPixels = 1 << 16; c.DecodePixels = 1 << 16 })
	f.Fuzz(func(t *testing.T, file []byte) {
		img, _, err := l.normalize(t.Context(), file)
		if err == nil && (img.Width*img.Height > 1<<16 || img.Format == "gif") {
			t.Errorf("%s %d × %d", img.Format, img.Width, img.Height)
		}
	})
}

func TestCheckFrames(t *testing.T) {
	var b bytes.Buffer
	palette := color.Palette{color.White, color.Black}
	frame := image.NewPaletted(image.Rect(0, 0, 16, 16), palette)
	if err := gif.EncodeAll(&b, &gif.GIF{Image: []*image.Paletted{frame}, Delay: []int{0}}); err != nil {
		t.Fatal(err)
	}
	for cut := range b.Len() {
		_ = checkFrames(b.Bytes()[:cut]) // must not panic
	}
	if err := checkFrames(b.Bytes()); err != nil {
		t.Error(err)
	}
}
