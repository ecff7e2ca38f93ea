package vision

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"io"

	xdraw "golang.org/x/image/draw"

	"retort/orchestrator/fault"
)

// Image is one still, flat image file.
type Image struct {
	// File is PNG, JPEG or WebP with 8 bits a sample and no transparency.
	File []byte
	// Format is "png", "jpeg" or "webp".
	Format        string
	Width, Height int
}

// Base64 is the file as text, without a prefix.
func (i *Image) Base64() string { return base64.StdEncoding.EncodeToString(i.File) }

// DataURL is the file as a data: URL.
func (i *Image) DataURL() string { return "data:image/" + i.Format + ";base64," + i.Base64() }

// open checks a file and makes it flat and upright.
func (l *Loader) open(ctx context.Context, file []byte) (*Image, error) {
	f, err := sniff(file)
	if err != nil {
		return nil, err
	}
	config, err := f.config(bytes.NewReader(file))
	if err != nil {
		return nil, fault.Wrap(fault.Invalid, err, "the image is broken: its header cannot be read")
	}
	if err := l.fits(config.Width, config.Height); err != nil {
		return nil, err
	}
	if f.check != nil {
		if err := f.check(file); err != nil {
			return nil, err
		}
	}
	img := &Image{File: file, Format: f.name, Width: config.Width, Height: config.Height}
	turned := 1
	if f.name == "jpeg" {
		turned = orientation(file)
	}
	err = l.decoding(ctx, img, func(pixels image.Image) error {
		if turned == 1 && kept(f.name, file, pixels) {
			return nil
		}
		var b bytes.Buffer
		encoder := png.Encoder{CompressionLevel: png.BestSpeed}
		whole := upright(flat(pixels), turned)
		err := encoder.Encode(&b, whole)
		img.File, img.Format, img.Width, img.Height = b.Bytes(), "png", whole.Rect.Dx(), whole.Rect.Dy()
		return err
	})
	if err != nil {
		return nil, err
	}
	return img, nil
}

func (l *Loader) fits(width, height int) error {
	c := l.config
	switch {
	case width < c.MinSide || height < c.MinSide:
		return fault.New(fault.Invalid, "the image has %d × %d pixels; at least %d on each side are needed", width, height, c.MinSide)
	case width > c.MaxSide || height > c.MaxSide:
		return fault.New(fault.Invalid, "the image has %d × %d pixels; at most %d on each side are taken", width, height, c.MaxSide)
	case width*height > c.MaxPixels:
		return fault.New(fault.Invalid, "the image has %d × %d pixels; at most %d in all are taken", width, height, c.MaxPixels)
	}
	return nil
}

// decoding calls use with the pixels of an image, when there is room for them.
func (l *Loader) decoding(ctx context.Context, img *Image, use func(image.Image) error) error {
	size := int64(img.Width) * int64(img.Height)
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

// kept says whether engines read the file as it is the way we do.
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

// RGB returns images as one tensor [n, height, width, 3] of bytes, for
// engines that take pixels. An image of another size is scaled to width and
// height; both 0 means the size of the largest, on which smaller ones are
// laid, white around them.
func (l *Loader) RGB(ctx context.Context, images []*Image, width, height int) (pixels []byte, w, h int, err error) {
	scaled := width > 0 && height > 0
	if !scaled {
		for _, img := range images {
			width, height = max(width, img.Width), max(height, img.Height)
		}
	}
	pixels = make([]byte, 0, len(images)*width*height*3)
	for _, img := range images {
		err := l.decoding(ctx, img, func(decoded image.Image) error {
			pixels = appendRGB(pixels, sized(flat(decoded), width, height, scaled))
			return nil
		})
		if err != nil {
			return nil, 0, 0, err
		}
	}
	return pixels, width, height, nil
}

func sized(img *image.RGBA, width, height int, scaled bool) *image.RGBA {
	if img.Rect.Dx() == width && img.Rect.Dy() == height {
		return img
	}
	out := image.NewRGBA(image.Rect(0, 0, width, height))
	if scaled {
		xdraw.CatmullRom.Scale(out, out.Rect, img, img.Rect, draw.Src, nil)
		return out
	}
	draw.Draw(out, out.Rect, image.NewUniform(color.White), image.Point{}, draw.Src)
	draw.Draw(out, img.Rect, img, image.Point{}, draw.Src)
	return out
}

func appendRGB(pixels []byte, img *image.RGBA) []byte {
	for i := 0; i < len(img.Pix); i += 4 {
		pixels = append(pixels, img.Pix[i], img.Pix[i+1], img.Pix[i+2])
	}
	return pixels
}
