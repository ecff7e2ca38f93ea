package chem

import (
	"bytes"
	"fmt"
	"math"
	"strings"

	"retort/chem/rdkit"
)

// Picture tells how molecules are drawn. The zero value is one SVG of 300 x 250 pixels a molecule, four in a row.
type Picture struct {
	PNG           bool     // otherwise SVG
	Width, Height int      // of each molecule, pixels; default 300 x 250, at most 2000
	Columns       int      // molecules in a row; default 4
	Legends       []string // under each molecule
	Highlight     *Query   // atoms and bonds to mark, where found
	Transparent   bool     // no white background
}

// maxPixels bounds a picture: 64 MB in memory.
const maxPixels = 16 << 20

// Draw draws one molecule, or several in a grid.
func (p Picture) Draw(molecules ...*Molecule) ([]byte, error) {
	if len(molecules) == 0 {
		return nil, ErrEmpty
	}
	pick := func(value, fallback, ceiling int) int {
		if value <= 0 {
			return fallback
		}
		return min(value, ceiling)
	}
	sheet := rdkit.Sheet{
		Width: pick(p.Width, 300, 2000), Height: pick(p.Height, 250, 2000),
		Columns: pick(p.Columns, 4, len(molecules)), PNG: p.PNG, Transparent: p.Transparent,
	}
	sheet.Columns = min(sheet.Columns, len(molecules))
	rows := math.Ceil(float64(len(molecules)) / float64(sheet.Columns))
	if float64(sheet.Width*sheet.Columns)*float64(sheet.Height)*rows > maxPixels {
		return nil, fmt.Errorf("a picture of more than %d pixels", maxPixels)
	}
	texts := make([]string, len(molecules))
	legends := make([]string, len(molecules))
	for i, m := range molecules {
		texts[i] = m.text
		if i < len(p.Legends) {
			legends[i] = printable(p.Legends[i])
		}
	}
	var highlight *rdkit.Query
	if p.Highlight != nil {
		highlight = p.Highlight.native
	}
	picture, err := rdkit.Draw(texts, legends, highlight, sheet)
	if err != nil {
		return nil, Explain(strings.Join(texts, "."), err)
	}
	if !p.PNG { // legends are written as they come, in UTF-8
		picture = bytes.Replace(picture, []byte("encoding='iso-8859-1'"), []byte("encoding='UTF-8'"), 1)
	}
	return picture, nil
}

// printable makes a text fit for XML: valid UTF-8 without control characters.
func printable(legend string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(legend, "?"))
}
