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

// album has drawings of molecules, each given out once. Drawings of the same molecule differ in their margins, so that
// no cache of the model helps.
type album struct {
	pictures []image.Image
	ready    []string // PNG in base64
	taken    atomic.Int64
}

var organic = regexp.MustCompile(`^(C|H|N|O|F|S|Cl|Br|\d)+$`)

// newAlbum draws the organic molecules of 12 to 30 heavy atoms of a file.
func newAlbum(file string) (*album, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	a := &album{}
	for line := range strings.Lines(string(text)) {
		m, err := chem.Parse(strings.TrimSpace(line))
		if err != nil || strings.ContainsAny(line, "#.*") || m.HeavyAtoms() < 12 || m.HeavyAtoms() > 30 ||
			!organic.MatchString(m.Formula()) {
			continue
		}
		drawing, err := chem.PNG(m, 300, 300)
		if err != nil {
			return nil, err
		}
		picture, err := png.Decode(bytes.NewReader(drawing))
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

// prepare draws until n drawings are ready, so that next takes no time of what is measured.
func (a *album) prepare(n int) {
	for len(a.ready)-int(a.taken.Load()) < n {
		a.ready = append(a.ready, a.draw(len(a.ready)))
	}
}

// next returns a drawing that was not given out before, or the last one if none are left.
func (a *album) next() string {
	return a.ready[min(int(a.taken.Add(1)), len(a.ready))-1]
}

// draw returns the n-th drawing.
func (a *album) draw(n int) string {
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
