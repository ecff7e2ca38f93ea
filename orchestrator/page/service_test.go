package page

import (
	"bytes"
	"compress/gzip"
	"io"
	"strings"
	"testing"

	"retort/orchestrator/fault"
)

const ibuprofen = "CC(Cc1ccc(cc1)C(C(=O)O)C)C"

func TestDescribe(t *testing.T) {
	s := New(func() Overview { return Overview{} })
	draw := &Draw{Width: 200, Height: 150}
	answer, err := s.Describe(t.Context(),
		Describe{Molecules: []string{"CC(C)Cc1ccc(C(C)C(N)=O)cc1", "C("}, Reference: ibuprofen, Draw: draw})
	if err != nil {
		t.Fatal(err)
	}
	first := answer.Molecules[0]
	if first.Formula != "C13H19NO" || first.Marked != 1 || first.Similarity == nil || *first.Similarity <= 0.5 ||
		!strings.Contains(first.SVG, "<svg") {
		t.Errorf("%+v", first)
	}
	if second := answer.Molecules[1]; second.Error == "" || second.SVG != "" || second.SMILES != "" {
		t.Errorf("%+v", second)
	}
	answer, err = s.Describe(t.Context(), Describe{Molecules: []string{"CCS(=O)(=O)N1CC(CC#N)(n2cccn2)C1"},
		Template: "C124CN3C1.S3(=O)(=O)CC.C4C#N.[*{20-20}]", Draw: draw})
	if err != nil || answer.Molecules[0].Marked != 12 {
		t.Errorf("%+v, %v", answer, err)
	}
}

func TestErrorsNameTheField(t *testing.T) {
	s := New(nil)
	for field, r := range map[string]Describe{
		"reference": {Molecules: []string{"C"}, Reference: "C("},
		"template":  {Molecules: []string{"C"}, Template: "C1CC(.[*{1-2}]"},
	} {
		if _, err := s.Describe(t.Context(), r); fault.As(err).Field() != field {
			t.Errorf("%s: %v", field, err)
		}
	}
	for field, r := range map[string]Describe{
		"draw.width":  {Draw: &Draw{Width: 5000, Height: 100}},
		"draw.height": {Draw: &Draw{Width: 100}},
		"template":    {Reference: "C", Template: "C"},
	} {
		if err := r.Validate(); fault.As(err).Field() != field {
			t.Errorf("%s: %v", field, err)
		}
	}
	if _, err := s.Write(t.Context(),
		Records{Molecules: []Record{{SMILES: "C"}, {SMILES: "?"}}}); fault.As(err).Field() != "molecules[1].smiles" {
		t.Error(err)
	}
	many := Records{Molecules: []Record{{SMILES: "C", Properties: make([]Value, maxProperties+1)}}}
	if err := many.Validate(); fault.As(err).Field() != "molecules[0].properties" {
		t.Error(err)
	}
}

func TestTemplatesWithoutFragments(t *testing.T) {
	for _, template := range []string{"[*{5-20}]", " . ", ""} {
		if query, err := fragments(template); query != nil || err != nil {
			t.Errorf("%q: %v, %v", template, query, err)
		}
	}
}

// TestAssets unpacks every file, and looks for the licences of the libraries.
func TestAssets(t *testing.T) {
	all := assets()
	total := 0
	for name, a := range all {
		text, err := a.plain()
		if err != nil || len(text) == 0 || a.kind == "" {
			t.Errorf("%s: %d bytes of %q, %v", name, len(text), a.kind, err)
		}
		r, _ := gzip.NewReader(bytes.NewReader(a.packed))
		if unpacked, _ := io.ReadAll(r); !bytes.Equal(unpacked, text) {
			t.Errorf("%s is packed wrongly", name)
		}
		total += len(a.packed)
	}
	for _, name := range []string{"index.html", "main.js", "third_party/openchemlib.js",
		"third_party/openchemlib.LICENSE.txt", "third_party/uplot.LICENSE.txt"} {
		if _, ok := all[name]; !ok {
			t.Errorf("%s is missing", name)
		}
	}
	if total > 1_500_000 {
		t.Errorf("%d bytes of assets", total)
	}
}
