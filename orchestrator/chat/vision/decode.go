package vision

import (
	"bytes"
	"context"
	"errors"
	"image"
	"image/color"
	"image/draw"
	"io"

	"retort/orchestrator/fault"
)

// decode calls use with the pixels of an image. First it waits until DecodePixels has room for them and for extra
// pixels that use allocates, at four bytes each.
func (l *Loader) decode(ctx context.Context, img *Image, extra int, use func(image.Image) error) error {
	size := min(int64(img.Width)*int64(img.Height)+int64(extra), int64(l.config.DecodePixels))
	if err := l.pixels.Acquire(ctx, size); err != nil {
		return err
	}
	defer l.pixels.Release(size)
	pixels, err := formats[img.Format].decode(&contextReader{ctx, bytes.NewReader(img.File)})
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil && errors.Is(err, io.ErrUnexpectedEOF):
		return fault.Wrap(fault.Invalid, err, "the image is broken: it is cut off")
	case err != nil:
		return fault.Wrap(fault.Invalid, err, "the image is broken: it cannot be decoded")
	case pixels.Bounds().Dx() != img.Width || pixels.Bounds().Dy() != img.Height:
		return fault.New(fault.Invalid, "the image is broken: its size differs from its header's")
	}
	return use(pixels)
}

// contextReader fails when its context ends, so that a decoder stops when the client has left.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (r *contextReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}

// isPortable reports whether engines can read a file unchanged: it has no transparency, no CMYK inks and at most 8 bits
// a sample.
func isPortable(format string, file []byte, pixels image.Image) bool {
	if format == "gif" || format == "png" && pngDepth(file) > 8 {
		return false
	}
	if _, isCMYK := pixels.(*image.CMYK); isCMYK {
		return false
	}
	opaque, ok := pixels.(interface{ Opaque() bool })
	return ok && opaque.Opaque()
}

// flatten draws an image on a white background.
func flatten(pixels image.Image) *image.RGBA {
	size := image.Rect(0, 0, pixels.Bounds().Dx(), pixels.Bounds().Dy())
	out := image.NewRGBA(size)
	draw.Draw(out, size, image.NewUniform(color.White), image.Point{}, draw.Src)
	draw.Draw(out, size, pixels, pixels.Bounds().Min, draw.Over)
	return out
}
