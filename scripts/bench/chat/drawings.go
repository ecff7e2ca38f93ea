package main

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"os"
	"regexp"
	"strings"
	"sync/atomic"

	"retort/chem"
)

// album has drawings, each of which is handed out once: the molecules come again with another margin, so that what was
// read before does not help.
type album struct {
	pictures []image.Image
	ready    []string // made before the clock runs
	made     int
	given    atomic.Int64
}

var usual = regexp.MustCompile(`^(C|H|N|O|F|S|Cl|Br|\d)+$`)

// newAlbum draws the molecules of a file that are of a usual size and make.
func newAlbum(file string) (*album, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	a := &album{}
	for line := range strings.Lines(string(text)) {
		m, err := chem.Parse(strings.TrimSpace(line))
		if err != nil || strings.ContainsAny(line, "#.*") || m.HeavyAtoms() < 12 || m.HeavyAtoms() > 30 ||
			!usual.MatchString(m.Formula()) {
			continue
		}
		drawn, err := chem.PNG(m, 300, 300)
		if err != nil {
			return nil, err
		}
		picture, err := png.Decode(bytes.NewReader(drawn))
		if err != nil {
			return nil, err
		}
		a.pictures = append(a.pictures, picture)
	}
	if len(a.pictures) == 0 {
		return nil, fmt.Errorf("%s has no molecule to draw", file)
	}
	return a, nil
}

// prepare makes drawings, so that next does not take time from what is measured.
func (a *album) prepare(n int) {
	for len(a.ready)-int(a.given.Load()) < n {
		a.ready = append(a.ready, a.make())
	}
}

// next is a drawing in base64 that was not handed out before. The last one comes again when there are no more; prepare
// says how many there are.
func (a *album) next() string {
	return a.ready[min(int(a.given.Add(1)), len(a.ready))-1]
}

// make writes a PNG of pixels alone.
func (a *album) make() string {
	n := a.made
	a.made++
	picture := a.pictures[n%len(a.pictures)]
	margin := n / len(a.pictures)
	size := picture.Bounds()
	sheet := image.NewRGBA(image.Rect(0, 0, size.Dx()+margin, size.Dy()+margin%7))
	draw.Draw(sheet, sheet.Rect, image.NewUniform(color.White), image.Point{}, draw.Src)
	draw.Draw(sheet, size, picture, size.Min, draw.Over)
	var b bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestSpeed}
	if err := encoder.Encode(&b, sheet); err != nil {
		panic(err) // writing to memory does not fail
	}
	return base64.StdEncoding.EncodeToString(b.Bytes())
}
