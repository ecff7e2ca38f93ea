package masked

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"retort/orchestrator/triton"
	"retort/orchestrator/triton/batching"
)

// genmolGolden is what the public code computes (scripts/golden/published_masked.py), by version.
type genmolGolden map[string]struct {
	Tokens []struct {
		Text string  `json:"text"`
		IDs  []int32 `json:"ids"`
	} `json:"tokens"`
	Fragments []struct {
		Fragment string  `json:"fragment"`
		IDs      []int32 `json:"ids"`
	} `json:"fragments"`
	Decoded []struct {
		Text     string `json:"text"`
		Molecule string `json:"molecule"`
	} `json:"decoded"`
}

func readGenMolGolden(t *testing.T) genmolGolden {
	t.Helper()
	data, err := os.ReadFile("../../scripts/tests/testdata/genmol/golden.json")
	if err != nil {
		t.Fatal(err)
	}
	var golden genmolGolden
	if err := json.Unmarshal(data, &golden); err != nil || len(golden) != 2 {
		t.Fatalf("%d versions, %v", len(golden), err)
	}
	return golden
}

// genmolEntry opens an entry that retort model import made of a checkpoint in the published form.
func genmolEntry(t *testing.T, version string) *genmolModel {
	t.Helper()
	dir := filepath.Join("testdata/genmol", version)
	text, err := os.ReadFile(filepath.Join(dir, "config.pbtxt"))
	if err != nil {
		t.Fatal(err)
	}
	config, err := triton.ParseConfig(text)
	if err != nil {
		t.Fatal(err)
	}
	entry := &triton.Model{Name: version, Versions: []string{"1"}, Config: config, Dir: dir}
	m, err := Opener(nil, batching.Options{})(entry)
	if err != nil {
		t.Fatal(err)
	}
	return m.(*genmolModel)
}

// unknown is the id of [UNK].
const unknown = 0

func TestGenMolTokens(t *testing.T) {
	for version, golden := range readGenMolGolden(t) {
		m := genmolEntry(t, version)
		for _, want := range golden.Tokens {
			if version == "v1" && strings.Contains(want.Text, "<") {
				continue // version 1 has no attachments in angle brackets
			}
			ids, err := m.Encode(want.Text)
			if err != nil || !slices.Equal(m.Row(ids, Target{}), want.IDs) {
				t.Errorf("%s: %s has ids %v, %v, want %v", version, want.Text, m.Row(ids, Target{}), err, want.IDs)
			}
			if text, err := m.Decode(want.IDs); err != nil || text != want.Text || slices.Contains(want.IDs, unknown) {
				t.Errorf("%s: %v decodes to %q, %v, want %q", version, want.IDs, text, err, want.Text)
			}
		}
	}
}

// The rows of a fragment with masks behind it are those of Sampler.fragment_completion and, for several fragments,
// Sampler.fragment_linking_onestep.
func TestGenMolRows(t *testing.T) {
	for version, golden := range readGenMolGolden(t) {
		m := genmolEntry(t, version)
		for _, want := range golden.Fragments {
			template, err := parseTemplate(want.Fragment + ".[*{20-20}]")
			if err != nil {
				t.Fatal(err)
			}
			d, err := genmolSampler{}.draft(&drafter{model: m}, template, rand.New(rand.NewPCG(1, 1)))
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(d.row.IDs, want.IDs) {
				t.Errorf("%s: %s has the row\n%v, want\n%v", version, want.Fragment, d.row.IDs, want.IDs)
			}
		}
	}
}

// Without a mask in the template, a row is as long as a training string, and has at least min_add_len masks.
func TestGenMolLengths(t *testing.T) {
	m := genmolEntry(t, "v1")
	random := rand.New(rand.NewPCG(1, 1))
	longest := m.bins[len(m.bins)-1].tokens
	for _, minAddLen := range []int{1, longest + 1} {
		for range 50 {
			d, err := genmolSampler{}.draft(&drafter{model: m, minAddLen: minAddLen}, &Template{}, random)
			if err != nil {
				t.Fatal(err)
			}
			masks := len(d.row.IDs) - 2
			isDrawn := slices.ContainsFunc(m.bins, func(b length) bool { return b.tokens == len(d.row.IDs) })
			if minAddLen == 1 && !isDrawn || minAddLen > 1 && masks != minAddLen {
				t.Errorf("min_add_len %d: a row has %d tokens, %d of them masks", minAddLen, len(d.row.IDs), masks)
			}
		}
	}
	template, err := parseTemplate("[*]c1ccccc1.[*{500-500}]")
	if err != nil {
		t.Fatal(err)
	}
	_, err = genmolSampler{}.draft(&drafter{model: m}, template, random)
	if err == nil || !strings.Contains(err.Error(), "more than the 128 that the model takes") {
		t.Errorf("a mask of 500 tokens: %v", err)
	}
}

// The molecules of texts, many of them damaged, are those of the public code.
func TestGenMolReadsTexts(t *testing.T) {
	for version, golden := range readGenMolGolden(t) {
		molecules := 0
		for _, want := range golden.Decoded {
			molecule, _ := genmolSampler{}.read(want.Text)
			if molecule != want.Molecule {
				t.Errorf("%s: %s is read as %q, want %q", version, want.Text, molecule, want.Molecule)
			}
			if molecule != "" {
				molecules++
			}
		}
		if molecules < 3 {
			t.Errorf("%s: only %d of %d texts have a molecule", version, molecules, len(golden.Decoded))
		}
	}
}

// A tokenizer that does not frame texts is refused when the entry is opened.
func TestGenMolTokenizerFramesTexts(t *testing.T) {
	data, err := os.ReadFile("testdata/genmol/v1/tokenizer.json")
	if err != nil {
		t.Fatal(err)
	}
	var file map[string]any
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	file["post_processor"] = nil
	data, err = json.Marshal(file)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "tokenizer.json")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := loadSAFETokens(path); err == nil || !strings.Contains(err.Error(), "[CLS]") {
		t.Fatalf("loading a tokenizer without [CLS] and [SEP] returned %v", err)
	}
}
