package tokenizers

import (
	"path/filepath"
	"testing"
)

// BenchmarkEncode tokenizes the golden texts. scripts/bench/tokenizers_bench.py compares with the reference library.
func BenchmarkEncode(b *testing.B) {
	for _, folder := range goldenFolders(b) {
		b.Run(filepath.Base(folder), func(b *testing.B) {
			tok := loadGolden(b, folder)
			var texts []string
			rows(b, filepath.Join(folder, "golden.jsonl.gz"), func(g golden) { texts = append(texts, g.Text) })
			tokens := 0
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				e, err := tok.Encode(texts[i%len(texts)], Options{})
				if err != nil {
					b.Fatal(err)
				}
				tokens += len(e.IDs)
			}
			b.ReportMetric(float64(tokens)/b.Elapsed().Seconds(), "tokens/s")
		})
	}
}

func BenchmarkParse(b *testing.B) {
	data := unzip(b, "testdata/wordpiece/tokenizer.json.gz")
	for b.Loop() {
		if _, err := parse(data); err != nil {
			b.Fatal(err)
		}
	}
}
