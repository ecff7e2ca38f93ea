package vision

import (
	"bytes"
	"encoding/binary"
	"image"
)

// upright is the orientation of an image that needs no turning. 2 to 8 are the others of Exif (CIPA DC-008, 4.6.5).
const upright = 1

// readOrientation returns the orientation in a JPEG file's Exif data, upright if it has none. Cameras store pixels as
// the sensor delivers them and expect viewers to turn the image.
func readOrientation(file []byte) int {
	const app1, startOfScan = 0xe1, 0xda
	for at := 2; at+4 <= len(file) && file[at] == 0xff; {
		marker := file[at+1]
		size := int(binary.BigEndian.Uint16(file[at+2:]))
		end := at + 2 + size
		if marker == startOfScan || size < 2 || end > len(file) {
			break
		}
		if tiff, found := bytes.CutPrefix(file[at+4:end], []byte("Exif\x00\x00")); marker == app1 && found {
			return readTIFFOrientation(tiff)
		}
		at = end
	}
	return upright
}

// readTIFFOrientation returns the orientation in the first directory of a TIFF structure, upright if it has none.
func readTIFFOrientation(tiff []byte) int {
	const tag, short, entrySize = 0x0112, 3, 12
	var order binary.ByteOrder = binary.BigEndian
	switch {
	case bytes.HasPrefix(tiff, []byte("II*\x00")):
		order = binary.LittleEndian
	case !bytes.HasPrefix(tiff, []byte("MM\x00*")):
		return upright
	}
	if len(tiff) < 8 {
		return upright
	}
	at := int64(order.Uint32(tiff[4:]))
	if at+2 > int64(len(tiff)) {
		return upright
	}
	entries := tiff[at+2:]
	for range order.Uint16(tiff[at:]) {
		if len(entries) < entrySize {
			break
		}
		if order.Uint16(entries) == tag && order.Uint16(entries[2:]) == short {
			if n := int(order.Uint16(entries[8:])); n >= 1 && n <= 8 {
				return n
			}
			break
		}
		entries = entries[entrySize:]
	}
	return upright
}

// turn rotates and mirrors an image as its orientation requires.
func turn(img *image.RGBA, orientation int) *image.RGBA {
	if orientation == upright {
		return img
	}
	w := img.Rect.Dx()
	h := img.Rect.Dy()
	size := image.Rect(0, 0, w, h)
	if orientation >= 5 {
		size = image.Rect(0, 0, h, w)
	}
	out := image.NewRGBA(size)
	for y := range size.Dy() {
		for x := range size.Dx() {
			fromX, fromY := x, y
			if orientation >= 5 {
				fromX, fromY = y, x
			}
			switch orientation {
			case 2, 3, 7, 8:
				fromX = w - 1 - fromX
			}
			switch orientation {
			case 3, 4, 6, 7:
				fromY = h - 1 - fromY
			}
			copy(out.Pix[out.PixOffset(x, y):][:4], img.Pix[img.PixOffset(fromX, fromY):][:4])
		}
	}
	return out
}
