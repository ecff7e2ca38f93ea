package vision

import (
	"bytes"
	"context"
	"encoding/base64"
	"image"
	"image/png"

	"retort/orchestrator/fault"
)

// Image is one still image file without transparency.
type Image struct {
	// File is PNG, JPEG or WebP with 8 bits a sample and no transparency.
	File []byte
	// Format is "png", "jpeg" or "webp".
	Format string
	Width  int // in pixels
	Height int
	// path locates the image in the request, for faults.
	path []any
}

// Base64 returns the file in base64, without a prefix.
func (i *Image) Base64() string { return base64.StdEncoding.EncodeToString(i.File) }

// DataURL returns the file as a data: URL.
func (i *Image) DataURL() string { return "data:image/" + i.Format + ";base64," + i.Base64() }

// open checks a file, flattens it and turns it upright. rewritten is true if the image's file differs from file.
func (l *Loader) open(ctx context.Context, file []byte) (img *Image, rewritten bool, err error) {
	f, width, height, err := l.inspect(file)
	if err != nil {
		return nil, false, err
	}
	img = &Image{File: file, Format: f.name, Width: width, Height: height}
	rotation := 1
	if f.name == "jpeg" {
		rotation = orientation(file)
	}
	err = l.decode(ctx, img, width*height, func(pixels image.Image) error {
		if rotation == 1 && isPortable(f.name, file, pixels) {
			return nil
		}
		rewritten = true
		return img.rewrite(upright(flatten(pixels), rotation))
	})
	if err != nil {
		return nil, false, err
	}
	return img, rewritten, nil
}

// inspect reads a file's format and size without decompressing it. It refuses files that are too large or not one still
// image.
func (l *Loader) inspect(file []byte) (f *format, width, height int, err error) {
	if f, err = sniff(file); err != nil {
		return nil, 0, 0, err
	}
	config, err := f.config(bytes.NewReader(file))
	if err != nil {
		return nil, 0, 0, fault.Wrap(fault.Invalid, err, "the image is broken: its header cannot be read")
	}
	if err := l.checkSize(config.Width, config.Height); err != nil {
		return nil, 0, 0, err
	}
	if f.check != nil {
		err = f.check(file)
	}
	return f, config.Width, config.Height, err
}

// rewrite replaces the file by a PNG of pixels.
func (i *Image) rewrite(pixels *image.RGBA) error {
	var b bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestSpeed}
	err := encoder.Encode(&b, pixels)
	i.File = b.Bytes()
	i.Format = "png"
	i.Width = pixels.Rect.Dx()
	i.Height = pixels.Rect.Dy()
	return err
}

func (l *Loader) checkSize(width, height int) error {
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
