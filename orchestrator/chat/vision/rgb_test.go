package vision

import (
	"image"
	"image/color"
	"testing"
)

// TestRGB puts images of different sizes into one tensor.
func TestRGB(t *testing.T) {
	l := newLoader(t, nil)
	open := func(w, h int, c color.Color) *Image {
		img := image.NewRGBA(image.Rect(0, 0, w, h))
		for i := range w * h {
			img.Set(i%w, i/w, c)
		}
		opened, _, err := l.normalize(t.Context(), encodePNG(t, img))
		if err != nil {
			t.Fatal(err)
		}
		return opened
	}
	set := func(images ...*Image) *Images { return &Images{loader: l, images: images, request: t.Context()} }
	red := open(10, 8, color.RGBA{255, 0, 0, 255})
	blue := open(8, 12, color.RGBA{0, 0, 255, 255})
	pixels, w, h, err := set(red, blue).RGB(t.Context(), 0, 0)
	if err != nil || w != 10 || h != 12 || len(pixels) != 2*10*12*3 {
		t.Fatalf("%d × %d, %d bytes, %v", w, h, len(pixels), err)
	}
	at := func(n, x, y int) [3]byte { return [3]byte(pixels[((n*h+y)*w+x)*3:]) }
	white := [3]byte{255, 255, 255}
	if at(0, 9, 7) != [3]byte{255, 0, 0} || at(0, 0, 8) != white {
		t.Error("the wide image is not on a white canvas")
	}
	if at(1, 7, 11) != [3]byte{0, 0, 255} || at(1, 8, 0) != white {
		t.Error("the tall image is not on a white canvas")
	}
	pixels, w, h, err = set(red).RGB(t.Context(), 4, 4)
	if err != nil || w != 4 || h != 4 || at(0, 3, 3) != [3]byte{255, 0, 0} {
		t.Errorf("scaled to %d × %d: %v, %v", w, h, pixels, err)
	}
}
