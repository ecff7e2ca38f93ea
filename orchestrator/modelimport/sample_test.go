package modelimport_test

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"retort/chem"
	"retort/orchestrator/modelimport"
)

func sampleOptions(t *testing.T, files map[string][]byte) modelimport.SampleOptions {
	t.Helper()
	folder := t.TempDir()
	if err := os.MkdirAll(filepath.Join(folder, "masked"), 0o755); err != nil {
		t.Fatal(err)
	}
	o := modelimport.SampleOptions{Entry: "masked", Repository: folder, Size: 100, Seed: 1}
	files[filepath.Join("masked", "config.pbtxt")] = nil
	for name, content := range files {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, content, 0o644); err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(name, ".pbtxt") {
			o.Files = append(o.Files, path)
		}
	}
	return o
}

func TestWriteSample(t *testing.T) {
	text := []byte("CCO ethanol\n\nc1ccccc1\tbenzene\nCCO\nno molecule\nCN\n")
	var packed bytes.Buffer
	zipped := gzip.NewWriter(&packed)
	zipped.Write(text)
	zipped.Close()
	var written [][]byte
	for name, content := range map[string][]byte{"train.smi": text, "train.smi.gz": packed.Bytes()} {
		o := sampleOptions(t, map[string][]byte{name: content})
		sample, err := modelimport.WriteSample(t.Context(), o)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if sample.Size() != 3 || sample.DrawnFrom() != 4 {
			t.Errorf("%s: %d of %d molecules", name, sample.Size(), sample.DrawnFrom())
		}
		file, err := os.ReadFile(filepath.Join(o.Repository, o.Entry, chem.SampleFile))
		if err != nil {
			t.Fatal(err)
		}
		written = append(written, file)
	}
	if !bytes.Equal(written[0], written[1]) {
		t.Error("a compressed file has another sample")
	}
}

func TestWriteSampleRefusals(t *testing.T) {
	for _, c := range []struct {
		name    string
		content string
		change  func(*modelimport.SampleOptions)
		want    string
	}{
		{"train.smi", "CCO\n", func(o *modelimport.SampleOptions) { o.Entry = "absent" }, "absent is no entry of the model repository"},
		{"train.smi", "CCO\n", func(o *modelimport.SampleOptions) { o.Entry = "../masked" }, "is no entry of the model repository"},
		{"train.smi", "CCO\n", func(o *modelimport.SampleOptions) { o.Size = 0 }, "--size is from 1 to"},
		{"train.smi", "no\n", func(*modelimport.SampleOptions) {}, "the files have no molecules"},
		{"train.smi.gz", "CCO\n", func(*modelimport.SampleOptions) {}, "train.smi.gz: "},
	} {
		o := sampleOptions(t, map[string][]byte{c.name: []byte(c.content)})
		c.change(&o)
		if _, err := modelimport.WriteSample(t.Context(), o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, not %q", err, c.want)
		}
	}
}
