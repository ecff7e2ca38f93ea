package chem

import (
	"fmt"
	"slices"
	"strings"

	"retort/chem/rdkit"
)

// Depiction tells how one molecule is drawn as SVG. The zero value is 300 x 250 pixels on white, nothing marked.
type Depiction struct {
	Width, Height int  // pixels; default 300 x 250, at most 2000
	Transparent   bool // no background
	Dark          bool // colours for a dark background
	// Reference is a molecule that the drawn ones come from. They lie as it does, as far as they have parts in common;
	// atoms and bonds that are new are marked, and, in another colour, atoms that lost a neighbour.
	Reference *Molecule
	// Highlight marks where a pattern is, where there is no Reference.
	Highlight *Query
}

// Drawn is a picture.
type Drawn struct {
	SVG    []byte // in UTF-8
	Marked int    // atoms that are marked
}

// Draw draws a molecule.
func (d Depiction) Draw(m *Molecule) (Drawn, error) {
	pick := func(value, fallback int) int {
		if value <= 0 {
			return fallback
		}
		return min(value, 2000)
	}
	sheet := rdkit.Sheet{Width: pick(d.Width, 300), Height: pick(d.Height, 250), Transparent: d.Transparent}
	reference := ""
	if d.Reference != nil {
		reference = d.Reference.text
	}
	var highlight *rdkit.Query
	if d.Highlight != nil {
		highlight = d.Highlight.native
	}
	svg, marked, err := rdkit.Depict(m.text, reference, highlight, d.Dark, sheet)
	if err != nil {
		return Drawn{}, Explain(m.text, err)
	}
	svg = strings.Replace(svg, "encoding='iso-8859-1'", "encoding='UTF-8'", 1)
	return Drawn{SVG: []byte(svg), Marked: marked}, nil
}

// Property is a named value of a record in an SD file.
type Property struct{ Name, Value string }

// SDRecord is a record of an SD file: a molecule with 2D coordinates under a title, and its properties, of which those
// without a value are left out.
func SDRecord(m *Molecule, title string, properties ...Property) (string, error) {
	block, err := rdkit.MolBlock(m.text)
	if err != nil {
		return "", Explain(m.text, err)
	}
	_, rest, found := strings.Cut(block, "\n")
	if !found {
		return "", fmt.Errorf("a mol block without lines")
	}
	var b strings.Builder
	b.WriteString(oneLine(title))
	b.WriteByte('\n')
	b.WriteString(rest)
	for _, p := range properties {
		if value := oneLine(p.Value); value != "" {
			fmt.Fprintf(&b, ">  <%s>\n%s\n\n", fieldName(p.Name), value)
		}
	}
	b.WriteString("$$$$\n")
	return b.String(), nil
}

// oneLine makes a text fit for a line of an SD file: it begins neither a field nor the next record.
func oneLine(text string) string {
	text = strings.TrimSpace(printable(text))
	if strings.HasPrefix(text, ">") || strings.HasPrefix(text, "$$$$") {
		return "." + text
	}
	return text
}

// fieldName leaves out what ends the name of a field.
func fieldName(name string) string {
	return strings.Map(func(r rune) rune {
		if slices.Contains([]rune("<>-.=%"), r) || r <= ' ' {
			return '_'
		}
		return r
	}, oneLine(name))
}
