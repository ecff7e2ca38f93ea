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

// normalize checks a file, flattens it and applies its orientation. rewritten is true if the image's file differs from
// file.
func (l *Loader) normalize(ctx context.Context, file []byte) (img *Image, rewritten bool, err error) {
	img, err = l.inspect(file)
	if err != nil {
		return nil, false, err
	}
	orientation := upright
	if img.Format == "jpeg" {
		orientation = readOrientation(file)
	}
	err = l.decode(ctx, img, img.Width*img.Height, func(pixels image.Image) error {
		if orientation == upright && isPortable(img.Format, file, pixels) {
			return nil
		}
		rewritten = true
		return img.rewrite(turn(flatten(pixels), orientation))
	})
	if err != nil {
		return nil, false, err
	}
	return img, rewritten, nil
}

// inspect returns the image of a file after it has read the format and the size, without decompressing the file. It
// refuses files that are too large or not one still image.
func (l *Loader) inspect(file []byte) (*Image, error) {
	name, err := sniff(file)
	if err != nil {
		return nil, err
	}
	f := formats[name]
	config, err := f.config(bytes.NewReader(file))
	if err != nil {
		return nil, fault.Wrap(fault.Invalid, err, "the image is broken: its header cannot be read")
	}
	if err := l.checkSize(config.Width, config.Height); err != nil {
		return nil, err
	}
	if f.check != nil {
		if err := f.check(file); err != nil {
			return nil, err
		}
	}
	return &Image{File: file, Format: name, Width: config.Width, Height: config.Height}, nil
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
	refuse := func(format string, limit int) error {
		return fault.New(fault.Invalid, "the image has %d × %d pixels; "+format, width, height, limit)
	}
	switch {
	case width < c.MinSide || height < c.MinSide:
		return refuse("at least %d on each side are required", c.MinSide)
	case width > c.MaxSide || height > c.MaxSide:
		return refuse("at most %d on each side are accepted", c.MaxSide)
	case width*height > c.MaxPixels:
		return refuse("at most %d in total are accepted", c.MaxPixels)
	}
	return nil
}
