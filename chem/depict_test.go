package chem_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"image/png"
	"io"
	"testing"

	"retort/chem"
)

func TestPictures(t *testing.T) {
	m := parse(t, "CC(=O)Oc1ccccc1C(=O)O")
	legend := "<script>alert('1 & 2')</script> \u00b5\u4e2d\x01\xff"
	svg, err := chem.Picture{Legends: []string{legend}}.Draw(m)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(svg, []byte("<script")) {
		t.Error("the legend is not escaped")
	}
	decoder := xml.NewDecoder(bytes.NewReader(svg))
	for {
		if _, err := decoder.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatalf("not XML: %v", err)
		}
	}
	data, err := chem.Picture{PNG: true, Width: 120, Height: 80, Columns: 2}.Draw(m, m, m)
	if err != nil {
		t.Fatal(err)
	}
	picture, err := png.Decode(bytes.NewReader(data))
	if err != nil || picture.Bounds().Dx() != 240 || picture.Bounds().Dy() != 160 {
		t.Errorf("%v, %v", picture.Bounds(), err)
	}
	if _, err := (chem.Picture{}).Draw(); !errors.Is(err, chem.ErrEmpty) {
		t.Errorf("of nothing: %v", err)
	}
	if _, err := (chem.Picture{Width: 2000, Height: 2000}).Draw(m, m, m, m, m); err == nil {
		t.Error("80 million pixels were drawn")
	}
}
