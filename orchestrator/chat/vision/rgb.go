package vision

import (
	"context"
	"image"
	"image/color"
	"image/draw"

	xdraw "golang.org/x/image/draw"

	"retort/orchestrator/fault"
)

// RGB returns the images as one tensor [n, h, w, 3] of bytes, for engines that accept pixels. Each is scaled to width
// and height. If both are 0, nothing is scaled: all get the size of the canvas, with white right of and below smaller
// ones. RGB refuses images that have more than DecodePixels together, and names the image at fault.
func (s *Images) RGB(ctx context.Context, width, height int) (pixels []byte, w, h int, err error) {
	images := s.All()
	scaled := width > 0 && height > 0
	if !scaled {
		width, height = canvas(images)
	}
	if err := s.checkCanvas(width, height); err != nil {
		return nil, 0, 0, err
	}
	size := len(images) * width * height * 3
	if err := s.reserve(ctx, tensorWeight*int64(size)); err != nil {
		return nil, 0, 0, err
	}
	pixels = make([]byte, 0, size)
	for _, img := range images {
		err := s.loader.decode(ctx, img, width*height, func(decoded image.Image) error {
			pixels = appendRGB(pixels, resize(flatten(decoded), width, height, scaled))
			return nil
		})
		if err != nil {
			return nil, 0, 0, err
		}
	}
	return pixels, width, height, nil
}

// canvas returns the smallest size that all images fit on: the widest by the tallest.
func canvas(images []*Image) (width, height int) {
	for _, img := range images {
		width = max(width, img.Width)
		height = max(height, img.Height)
	}
	return width, height
}

// checkCanvas refuses images that need too large a canvas, such as a wide and a tall one that are small each. It blames
// the first image that makes the canvas too large.
func (s *Images) checkCanvas(width, height int) error {
	limit := s.loader.config.DecodePixels
	images := s.All()
	if len(images)*width*height <= limit {
		return nil
	}
	for i, img := range images {
		w, h := canvas(images[:i+1])
		if pixels := len(images) * w * h; pixels > limit {
			return fault.New(fault.Invalid, "image %d of %d (%d × %d) is too large: this model takes all images in one size, "+
				"here %d × %d, which makes %d pixels; at most %d are accepted",
				i+1, len(images), img.Width, img.Height, w, h, pixels, limit).Under(img.path...)
		}
	}
	return fault.New(fault.Invalid, "%d images of %d × %d, the size for this model, have more than %d pixels",
		len(images), width, height, limit)
}

// maxScalingBytes bounds the memory of scaling, in bytes: the filter holds a row of the image's height for each column
// of the result, at 32 bytes a pixel.
const maxScalingBytes = 256 << 20

// resize returns img scaled, or else placed on a white canvas.
func resize(img *image.RGBA, width, height int, scaled bool) *image.RGBA {
	if img.Rect.Dx() == width && img.Rect.Dy() == height {
		return img
	}
	out := image.NewRGBA(image.Rect(0, 0, width, height))
	if scaled {
		for 32*width*img.Rect.Dy() > maxScalingBytes && img.Rect.Dy() > 2*height {
			half := image.NewRGBA(image.Rect(0, 0, img.Rect.Dx(), img.Rect.Dy()/2))
			xdraw.ApproxBiLinear.Scale(half, half.Rect, img, img.Rect, draw.Src, nil)
			img = half
		}
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
