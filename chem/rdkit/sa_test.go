package rdkit_test

import (
	"bytes"
	"compress/zlib"
	_ "embed"
	"testing"

	"retort/chem/rdkit"
)

//go:embed sa_scores.zlib
var embedded []byte

func deflate(raw []byte) []byte {
	var out bytes.Buffer
	z := zlib.NewWriter(&out)
	z.Write(raw)
	z.Close()
	return out.Bytes()
}

func TestUnpackSA(t *testing.T) {
	ids, scoreOf, scores, err := rdkit.UnpackSA(embedded)
	if err != nil {
		t.Fatal(err)
	}
	if len(ids) != 705292 || len(scoreOf) != len(ids) || len(scores) != 3549 {
		t.Fatalf("%d ids, %d indices, %d scores", len(ids), len(scoreOf), len(scores))
	}
	for i, id := range ids {
		if i > 0 && id <= ids[i-1] {
			t.Fatalf("id %d after %d", id, ids[i-1])
		}
		if int(scoreOf[i]) >= len(scores) {
			t.Fatalf("id %d has score number %d", id, scoreOf[i])
		}
	}
	// The first rows of RDKit's table.
	if ids[0] != 1301 || scores[scoreOf[0]] != -2.1265 || ids[1] != 5338 || scores[scoreOf[1]] != -3.1265 {
		t.Errorf("%d %v, %d %v", ids[0], scores[scoreOf[0]], ids[1], scores[scoreOf[1]])
	}
}

func TestUnpackSADamaged(t *testing.T) {
	for name, packed := range map[string][]byte{
		"not zlib":     []byte("not zlib"),
		"cut off":      embedded[:1000],
		"empty":        deflate(nil),
		"too short":    deflate([]byte{9, 0, 0, 0, 1, 0, 0, 0, 1, 2}),
		"no end of id": deflate(append([]byte{1, 0, 0, 0, 0, 0, 0, 0}, bytes.Repeat([]byte{0xff}, 12)...)),
		"too long":     deflate([]byte{1, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0}),
	} {
		if _, _, _, err := rdkit.UnpackSA(packed); err == nil {
			t.Errorf("%s was read", name)
		}
	}
}
