package masked

import (
	"regexp"
	"strings"

	"retort/chem/smiles"
	"retort/orchestrator/triton"
	"retort/orchestrator/triton/batching"
	"retort/tokenizers/molecules"
)

// Opener opens models over a client; defaults bound what is sent at once. Of an entry it reads the parameters
// max_model_len, mask_worth, vocab and lengths, and the files that the last two name.
func Opener(client *triton.Client, defaults batching.Options) func(*triton.Model) (Model, error) {
	return func(entry *triton.Model) (Model, error) {
		r := entry.Read()
		m := &tritonModel{
			SAFE:      triton.ReadFile(r, "vocab", "vocab.txt", loadSAFE),
			id:        versioned(entry),
			maxTokens: r.Whole("max_model_len", 256, 8),
			maskWorth: r.Number("mask_worth", 1, 1, 100),
			lengths:   triton.ReadFile(r, "lengths", "lengths.txt", readLengths),
			name:      entry.Name,
			client:    client,
		}
		if err := r.Done(); err != nil {
			return nil, err
		}
		m.lengths.worth = m.maskWorth
		m.published = published(m.SAFE)
		options := defaults // a copy: other models are opened with defaults too, concurrently
		if entry.Config.MaxBatch > 0 {
			options.MaxRows = entry.Config.MaxBatch
		}
		m.batcher = batching.New(m.cost, m.infer, options)
		return m, nil
	}
}

// version is the end of an id that names one.
var version = regexp.MustCompile(`[-_.:@]v?\d[\w.]*$`)

// versioned is the public id of an entry, with the entry's version behind one that names none.
func versioned(entry *triton.Model) string {
	id := entry.PublicID()
	if version.MatchString(id) {
		return id
	}
	return id + "-v" + entry.Version()
}

// published is how many tokens of published SAFE models each token of a vocabulary stands for: its atoms, bonds,
// branches and ring numbers, and two for a dot, whose cut has a number on both sides there and an open end here.
func published(vocabulary *molecules.SAFE) []int32 {
	counts := make([]int32, vocabulary.Size())
	for _, id := range vocabulary.Words() {
		token := vocabulary.Token(id)
		for range smiles.Tokens(token) {
			counts[id]++
		}
		counts[id] += int32(strings.Count(token, "."))
	}
	return counts
}

func loadSAFE(path string) (*molecules.SAFE, error) {
	vocabulary, err := molecules.LoadVocabulary(path)
	if err != nil {
		return nil, err
	}
	return molecules.NewSAFE(vocabulary)
}
