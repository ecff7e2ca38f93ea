package vision

import (
	"bytes"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"net/http"
	"strings"

	"golang.org/x/image/webp"

	"retort/orchestrator/fault"
)

// format has the functions of one kind of image file.
type format struct {
	config func(io.Reader) (image.Config, error)
	decode func(io.Reader) (image.Image, error)
	// check refuses files that are too costly or not one still image. It reads the file's structure and decompresses
	// nothing. It is nil for formats that need no check.
	check func(file []byte) error
}

// formats are the accepted formats by name.
var formats = map[string]format{
	"png":  {png.DecodeConfig, png.Decode, nil},
	"jpeg": {jpeg.DecodeConfig, jpeg.Decode, checkScans},
	"gif":  {gif.DecodeConfig, gif.Decode, checkFrames},
	"webp": {webp.DecodeConfig, webp.Decode, checkAnimation},
}

// sniff returns the name of the format that the first bytes of a file have.
func sniff(file []byte) (string, error) {
	has := func(prefix string) bool { return bytes.HasPrefix(file, []byte(prefix)) }
	switch {
	case has("\x89PNG\r\n\x1a\n"):
		return "png", nil
	case has("\xff\xd8\xff"):
		return "jpeg", nil
	case has("GIF87a"), has("GIF89a"):
		return "gif", nil
	case has("RIFF") && len(file) >= 12 && string(file[8:12]) == "WEBP":
		return "webp", nil
	case len(file) == 0:
		return "", fault.New(fault.Invalid, "cannot identify image file: it is empty")
	}
	found, _, _ := strings.Cut(http.DetectContentType(file), ";")
	return "", fault.New(fault.Invalid,
		"cannot identify image file: it looks like %s; PNG, JPEG, WebP and GIF are accepted", found)
}

// checkScans refuses a progressive JPEG with many scans: each costs a pass over all pixels and may be a few bytes long.
func checkScans(file []byte) error {
	const limit = 100
	if bytes.Count(file, []byte{0xff, 0xda}) > limit {
		return fault.New(fault.Invalid, "the JPEG image has more than %d scans", limit)
	}
	return nil
}

// checkAnimation refuses an animated WebP (https://developers.google.com/speed/webp/docs/riff_container).
func checkAnimation(file []byte) error {
	const animation = 1 << 1
	if len(file) > 20 && string(file[12:16]) == "VP8X" && file[20]&animation != 0 {
		return animated("WebP")
	}
	return nil
}

func animated(format string) error {
	return fault.New(fault.Invalid, "the %s image is animated; only still images are accepted", format)
}

// checkFrames refuses a GIF with a second image (https://www.w3.org/Graphics/GIF/spec-gif89a.txt). It accepts a
// truncated file, which decoding refuses.
func checkFrames(file []byte) error {
	const (
		screenSize     = 13
		descriptorSize = 10
		trailer        = 0x3b
		extension      = 0x21
		frame          = 0x2c
	)
	at := screenSize
	frames := 0
	if len(file) > 10 {
		at += colorTableSize(file[10])
	}
	for at < len(file) {
		switch block := file[at]; {
		case block == trailer:
			return nil
		case block == extension:
			at = skipSubBlocks(file, at+2) // after its label
		case block == frame && frames > 0:
			return animated("GIF")
		case block == frame && at+descriptorSize <= len(file):
			frames++
			at = skipSubBlocks(file, at+descriptorSize+colorTableSize(file[at+9])+1) // after the code size
		default:
			return fault.New(fault.Invalid, "the GIF image is broken")
		}
	}
	return nil
}

// colorTableSize returns the size in bytes of the color table that flags announce.
func colorTableSize(flags byte) int {
	if flags&0x80 == 0 {
		return 0
	}
	return 3 << (flags&7 + 1)
}

// skipSubBlocks returns the offset after the sub-blocks at an offset. Each begins with its length, and the last is
// empty.
func skipSubBlocks(file []byte, at int) int {
	for at < len(file) && file[at] != 0 {
		at += 1 + int(file[at])
	}
	return at + 1
}

// pngDepth returns the bits a sample in a PNG's header, 0 if there is no header.
func pngDepth(file []byte) byte {
	const at = 24 // signature 8, length 4, IHDR 4, width 4, height 4
	if len(file) <= at || string(file[12:16]) != "IHDR" {
		return 0
	}
	return file[at]
}
