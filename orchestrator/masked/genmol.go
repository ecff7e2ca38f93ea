package masked

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"

	"retort/chem/safe"
	"retort/chem/smiles"
	"retort/orchestrator/triton"
	"retort/tokenizers"
)

// genmolModel is a Model of plain SAFE, with attachments as ring numbers or in angle brackets: a published checkpoint
// of GenMol. Its tokens are API tokens.
type genmolModel struct {
	*safeTokens
	*lengths
	*unmasker
}

func (m *genmolModel) sampler() sampler { return genmolSampler{} }

// Row has no condition tokens: a published model has none.
func (m *genmolModel) Row(ids []int32, _ Target) []int32 {
	row := append([]int32{m.bos}, ids...)
	return append(row, m.eos)
}

// openGenMol reads what is left of the entry of a genmolModel.
func openGenMol(r *triton.EntryReader, u *unmasker, l *lengths) (Model, error) {
	tokens := triton.ReadFile(r, "tokenizer", "tokenizer.json", loadSAFETokens)
	if err := r.Done(); err != nil {
		return nil, err
	}
	u.size, u.mask, u.pad = len(tokens.texts), tokens.mask, tokens.pad
	return &genmolModel{safeTokens: tokens, lengths: l, unmasker: u}, nil
}

// safeTokens translates between SAFE and the tokens of a tokenizer.json with byte-pair encoding.
type safeTokens struct {
	tokenizer           *tokenizers.Tokenizer
	texts               []string // by id
	special             []bool   // by id
	bos, eos, mask, pad int32
	brackets            bool // the tokens < and > exist: attachments are <n>
}

// loadSAFETokens reads a tokenizer.json as retort model import writes it.
func loadSAFETokens(path string) (*safeTokens, error) {
	tokenizer, err := tokenizers.Load(path)
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var file struct {
		Model struct {
			Vocab map[string]int32 `json:"vocab"`
		} `json:"model"`
		Added []struct {
			ID      int32  `json:"id"`
			Content string `json:"content"`
			Special bool   `json:"special"`
		} `json:"added_tokens"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, err
	}
	t := &safeTokens{
		tokenizer: tokenizer,
		texts:     make([]string, tokenizer.Size()),
		special:   make([]bool, tokenizer.Size()),
	}
	ids := file.Model.Vocab
	for _, token := range file.Added {
		ids[token.Content] = token.ID
		t.special[token.ID] = token.Special
	}
	for text, id := range ids {
		t.texts[id] = text
	}
	for name, id := range map[string]*int32{"[CLS]": &t.bos, "[SEP]": &t.eos, "[MASK]": &t.mask, "[PAD]": &t.pad} {
		var ok bool
		if *id, ok = ids[name]; !ok {
			return nil, fmt.Errorf("it has no token %s", name)
		}
	}
	_, opening := ids["<"]
	_, closing := ids[">"]
	t.brackets = opening && closing
	empty, err := tokenizer.Encode("", tokenizers.Options{})
	if err != nil || !slices.Equal(empty.IDs, []int32{t.bos, t.eos}) {
		return nil, errors.New("it does not put [CLS] before a text and [SEP] behind it")
	}
	return t, nil
}

// Encode returns the ids of a text, without [CLS] and [SEP]. Unknown characters become [UNK], as in the published code.
func (t *safeTokens) Encode(text string) ([]int32, error) {
	encoded, err := t.tokenizer.Encode(text, tokenizers.Options{})
	if err != nil {
		return nil, err
	}
	return encoded.IDs[1 : len(encoded.IDs)-1], nil
}

// Decode returns the text of ids without special tokens.
func (t *safeTokens) Decode(ids []int32) (string, error) {
	var text strings.Builder
	for _, id := range ids {
		if !t.special[id] {
			text.WriteString(t.texts[id])
		}
	}
	return text.String(), nil
}

func (t *safeTokens) APITokens(ids []int32) int { return len(ids) }

// genmolSampler draws rows and reads texts as the public code of GenMol does
// (https://github.com/NVIDIA-Digital-Bio/genmol, src/genmol/sampler.py).
type genmolSampler struct{}

// draft draws a row: the given fragments, and behind a dot the masks. A template without masks gets as many as a random
// training string is longer than the given fragments, and at least minAddLen (Sampler._insert_mask).
func (genmolSampler) draft(d *drafter, t *Template, random *rand.Rand) (*draft, error) {
	model := d.model.(*genmolModel)
	drawn := &draft{}
	var ids []int32
	add := func(text string, tokens []int32) {
		from := 1 + len(ids) // after [CLS]
		ids = append(ids, tokens...)
		drawn.parts = append(drawn.parts, part{given: text, from: from, to: 1 + len(ids)})
	}
	given, seen, err := genmolFragments(t, model.brackets, random)
	if err != nil {
		return nil, err
	}
	dot, err := model.Encode(".")
	if err != nil {
		return nil, err
	}
	if given != "" {
		tokens, err := model.Encode(seen)
		if err != nil {
			return nil, err
		}
		add(given, tokens)
		add(".", dot)
	}
	lengths := t.maskLengths
	if lengths == nil {
		lengths = t.drawMaskLengths(random)
	}
	if len(t.masks) == 0 {
		framed := len(model.Row(ids, Target{}))
		lengths = []int{max(model.DrawLength(d.quality, random)-framed, d.minAddLen)}
	}
	for i, length := range lengths {
		if i > 0 {
			add(".", dot)
		}
		masks := make([]int32, length)
		for j := range masks {
			masks[j] = model.Mask()
		}
		add("", masks)
		drawn.wanted += length
	}
	row := model.Row(ids, Target{})
	if len(row) > model.maxTokens {
		return nil, templateFault("given fragments and masks have %d tokens, more than the %d that the model takes",
			len(row), model.maxTokens)
	}
	drawn.row = Row{IDs: row, Settings: d.settings, Seed: int64(random.Uint64() >> 2)}
	return drawn, nil
}

// genmolFragments returns the given fragments as SAFE, and the form of it that the model sees. One fragment is cut at
// BRICS bonds, its attachments are ring numbers in both versions of GenMol, and the model sees no stereo
// (Sampler.fragment_completion). Several stay whole, and have the attachments of the version
// (Sampler.fragment_linking_onestep).
func genmolFragments(t *Template, brackets bool, random *rand.Rand) (text, seen string, err error) {
	if len(t.given) == 0 {
		return "", "", nil
	}
	fragments, err := openFragments(t.given, random)
	if err != nil {
		return "", "", err
	}
	options := safe.EncodeOptions{Slicer: safe.BRICS}
	if len(t.given) > 1 {
		options = safe.EncodeOptions{Slicer: safe.Whole, Brackets: brackets}
	}
	text, err = safe.Encode(fragments, options)
	if err != nil {
		return "", "", templateFault("%v", err)
	}
	seen = text
	if len(t.given) == 1 {
		seen = smiles.WithoutStereo(text)
	}
	return text, seen, nil
}

func (genmolSampler) oversampling(*Template) int { return 1 }

// read drops fragments that do not decode alone, and takes the longest SMILES of several, the last of equal ones.
func (genmolSampler) read(text string) (molecule string, asWritten bool) {
	joined, err := safe.Decode(text, safe.DecodeOptions{Repair: true})
	if err != nil {
		return "", false
	}
	for part := range strings.SplitSeq(joined, ".") {
		if len(part) >= len(molecule) {
			molecule = part
		}
	}
	strict, err := safe.Decode(text, safe.DecodeOptions{Strict: true})
	return molecule, err == nil && strict == molecule
}

func (genmolSampler) accepts(*candidate) bool { return true }
