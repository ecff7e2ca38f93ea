package vision

import (
	"bytes"
	"encoding/binary"
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

// format is one kind of image file.
type format struct {
	name   string
	config func(io.Reader) (image.Config, error)
	decode func(io.Reader) (image.Image, error)
	// check refuses files that are too costly or not one still image. It reads the file's structure and unpacks
	// nothing.
	check func(file []byte) error
}

var formats = map[string]*format{
	"png":  {"png", png.DecodeConfig, png.Decode, nil},
	"jpeg": {"jpeg", jpeg.DecodeConfig, jpeg.Decode, fewScans},
	"gif":  {"gif", gif.DecodeConfig, gif.Decode, oneFrame},
	"webp": {"webp", webp.DecodeConfig, webp.Decode, still},
}

// sniff finds the format in the first bytes.
func sniff(file []byte) (*format, error) {
	has := func(prefix string) bool { return bytes.HasPrefix(file, []byte(prefix)) }
	switch {
	case has("\x89PNG\r\n\x1a\n"):
		return formats["png"], nil
	case has("\xff\xd8\xff"):
		return formats["jpeg"], nil
	case has("GIF87a"), has("GIF89a"):
		return formats["gif"], nil
	case has("RIFF") && len(file) >= 12 && string(file[8:12]) == "WEBP":
		return formats["webp"], nil
	case len(file) == 0:
		return nil, fault.New(fault.Invalid, "cannot identify image file: it is empty")
	}
	found, _, _ := strings.Cut(http.DetectContentType(file), ";")
	return nil, fault.New(fault.Invalid, "cannot identify image file: it looks like %s; PNG, JPEG, WebP and GIF are taken", found)
}

// fewScans bounds the passes of a progressive JPEG: each costs a walk over all pixels and may be but a few bytes long.
func fewScans(file []byte) error {
	const most = 100
	if bytes.Count(file, []byte{0xff, 0xda}) > most {
		return fault.New(fault.Invalid, "the JPEG image has more than %d scans", most)
	}
	return nil
}

func animated(kind string) error {
	return fault.New(fault.Invalid, "the %s image is animated; only still images are taken", kind)
}

func broken(kind string) error {
	return fault.New(fault.Invalid, "the %s image is broken", kind)
}

// still refuses animated WebP: https://developers.google.com/speed/webp/docs/riff_container
func still(file []byte) error {
	const animation = 1 << 1
	if len(file) > 20 && string(file[12:16]) == "VP8X" && file[20]&animation != 0 {
		return animated("WebP")
	}
	return nil
}

// oneFrame walks the blocks of a GIF and refuses a second image: https://www.w3.org/Graphics/GIF/spec-gif89a.txt
func oneFrame(file []byte) error {
	const screen, descriptor = 13, 10
	at := screen
	frames := 0
	if len(file) > 10 {
		at += colors(file[10])
	}
	for at < len(file) {
		switch file[at] {
		case 0x3b: // trailer
			return nil
		case 0x21: // extension: its label, then sub-blocks
			at = past(file, at+2)
		case 0x2c: // image: its descriptor, its colours, the code size, sub-blocks
			if frames++; frames > 1 {
				return animated("GIF")
			}
			if at+descriptor > len(file) {
				return broken("GIF")
			}
			at = past(file, at+descriptor+colors(file[at+9])+1)
		default:
			return broken("GIF")
		}
	}
	return nil // cut off; decoding will tell
}

// colors is the size of a colour table by the flags that announce it.
func colors(flags byte) int {
	if flags&0x80 == 0 {
		return 0
	}
	return 3 << (flags&7 + 1)
}

// past skips sub-blocks, each with its length in front, up to an empty one.
func past(file []byte, at int) int {
	for at < len(file) && file[at] != 0 {
		at += 1 + int(file[at])
	}
	return at + 1
}

// pngDepth is the bits per sample in a PNG's header.
func pngDepth(file []byte) byte {
	const at = 24 // signature 8, length 4, IHDR 4, width 4, height 4
	if len(file) <= at || binary.BigEndian.Uint32(file[12:]) != 0x49484452 {
		return 0
	}
	return file[at]
}
