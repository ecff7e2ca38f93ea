package chem

import (
	"strings"

	"retort/chem/rdkit"
)

// maxSide is the upper bound of the width and the height of a picture, in pixels.
const maxSide = 2000

// bounded returns a size: its default if it is not positive, and at most maxSide.
func bounded(size, fallback int) int {
	if size <= 0 {
		return fallback
	}
	return min(size, maxSide)
}

// Depiction describes how a molecule is drawn as SVG. The zero value is 300 x 250 pixels on white without marks.
type Depiction struct {
	Width       int  // pixels; default 300, at most 2000
	Height      int  // pixels; default 250, at most 2000
	Transparent bool // no background
	Dark        bool // colours for a dark background
	// Reference is a molecule that the drawn molecule derives from. Parts that both have get the same orientation. New
	// atoms and bonds are marked and, in another colour, atoms that lost a neighbour.
	Reference *Molecule
	// Highlight marks where a pattern matches, if there is no Reference.
	Highlight *Query
}

// Drawn is an SVG picture.
type Drawn struct {
	SVG    []byte // UTF-8
	Marked int    // marked atoms
}

// Draw draws a molecule.
func (d Depiction) Draw(m *Molecule) (Drawn, error) {
	canvas := rdkit.Canvas{
		Width:       bounded(d.Width, 300),
		Height:      bounded(d.Height, 250),
		Transparent: d.Transparent,
		Dark:        d.Dark,
	}
	reference := ""
	if d.Reference != nil {
		reference = d.Reference.text
	}
	var highlight *rdkit.Query
	if d.Highlight != nil {
		highlight = d.Highlight.native
	}
	svg, marked, err := rdkit.Depict(m.text, reference, highlight, canvas)
	if err != nil {
		return Drawn{}, Explain(m.text, err)
	}
	svg = strings.Replace(svg, "encoding='iso-8859-1'", "encoding='UTF-8'", 1)
	return Drawn{SVG: []byte(svg), Marked: marked}, nil
}

// PNG draws a molecule on white, without marks. The size is in pixels; the defaults and bounds are those of
// [Depiction].
func PNG(m *Molecule, width, height int) ([]byte, error) {
	picture, err := rdkit.PNG(m.text, bounded(width, 300), bounded(height, 250))
	if err != nil {
		return nil, Explain(m.text, err)
	}
	return picture, nil
}
