package vision

import (
	"bytes"
	"encoding/binary"
	"image"
)

// orientation is how a JPEG file says its picture must be turned, 1 (not at all) to 8: tag 0x0112 of its Exif data
// (CIPA DC-008, 4.6.5). Cameras and phones store what the sensor saw and leave the turning to the viewer; what cannot
// be read is 1.
func orientation(file []byte) int {
	const app1, start = 0xe1, 0xda
	for at := 2; at+4 <= len(file) && file[at] == 0xff; {
		marker := file[at+1]
		size := int(binary.BigEndian.Uint16(file[at+2:]))
		end := at + 2 + size
		if marker == start || size < 2 || end > len(file) {
			break
		}
		if tiff, found := bytes.CutPrefix(file[at+4:end], []byte("Exif\x00\x00")); marker == app1 && found {
			return turn(tiff)
		}
		at = end
	}
	return 1
}

// turn reads the orientation in the first directory of a TIFF structure.
func turn(tiff []byte) int {
	const tag, entry, short = 0x0112, 12, 3
	var order binary.ByteOrder = binary.BigEndian
	switch {
	case bytes.HasPrefix(tiff, []byte("II*\x00")):
		order = binary.LittleEndian
	case !bytes.HasPrefix(tiff, []byte("MM\x00*")):
		return 1
	}
	if len(tiff) < 8 {
		return 1
	}
	at := int64(order.Uint32(tiff[4:]))
	if at+2 > int64(len(tiff)) {
		return 1
	}
	entries := tiff[at+2:]
	for range order.Uint16(tiff[at:]) {
		if len(entries) < entry {
			break
		}
		if order.Uint16(entries) == tag && order.Uint16(entries[2:]) == short {
			if n := int(order.Uint16(entries[8:])); n >= 1 && n <= 8 {
				return n
			}
			break
		}
		entries = entries[entry:]
	}
	return 1
}

// upright turns and mirrors a picture as its orientation says.
func upright(img *image.RGBA, orientation int) *image.RGBA {
	if orientation == 1 {
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
			case 2, 7, 3, 8:
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
