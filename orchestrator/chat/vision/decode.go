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

// decoding calls use with the pixels of an image, when there is room for them and for more pixels that use makes. The
// room is counted in pixels, each of them four bytes.
func (l *Loader) decoding(ctx context.Context, img *Image, more int, use func(image.Image) error) error {
	size := min(int64(img.Width)*int64(img.Height)+int64(more), int64(l.config.DecodePixels))
	if err := l.pixels.Acquire(ctx, size); err != nil {
		return err
	}
	defer l.pixels.Release(size)
	pixels, err := formats[img.Format].decode(&interruptible{ctx, bytes.NewReader(img.File)})
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil && errors.Is(err, io.ErrUnexpectedEOF):
		return fault.Wrap(fault.Invalid, err, "the image is broken: it is cut off")
	case err != nil:
		return fault.Wrap(fault.Invalid, err, "the image is broken: it cannot be decoded")
	case pixels.Bounds().Dx() != img.Width || pixels.Bounds().Dy() != img.Height:
		return fault.New(fault.Invalid, "the image is broken: its size is not the one it states")
	}
	return use(pixels)
}

// interruptible ends a decoder that works for a caller who has left.
type interruptible struct {
	ctx context.Context
	r   io.Reader
}

func (i *interruptible) Read(p []byte) (int, error) {
	if err := i.ctx.Err(); err != nil {
		return 0, err
	}
	return i.r.Read(p)
}

// kept reports whether a file can be passed on as it is: engines read it as it was read here, without transparency,
// inks or more than 8 bits a sample.
func kept(format string, file []byte, pixels image.Image) bool {
	if format == "gif" || format == "png" && pngDepth(file) > 8 {
		return false
	}
	if _, ink := pixels.(*image.CMYK); ink {
		return false
	}
	known, ok := pixels.(interface{ Opaque() bool })
	return ok && known.Opaque()
}

// flat lays an image on white.
func flat(pixels image.Image) *image.RGBA {
	size := image.Rect(0, 0, pixels.Bounds().Dx(), pixels.Bounds().Dy())
	out := image.NewRGBA(size)
	draw.Draw(out, size, image.NewUniform(color.White), image.Point{}, draw.Src)
	draw.Draw(out, size, pixels, pixels.Bounds().Min, draw.Over)
	return out
}
