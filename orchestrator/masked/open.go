package masked

import (
	"regexp"
	"strings"

	"retort/chem"
	"retort/chem/smiles"
	"retort/orchestrator/triton"
	"retort/orchestrator/triton/batching"
	"retort/tokenizers/molecules"
)

// Opener returns a function that opens the model of an entry of the model repository. The parameter sampler of the
// entry selects how the model is sampled: nested or genmol. The entry may also set max_model_len and the files lengths
// and training_sample; for nested, mask_worth (API tokens per token) and the file vocab; for genmol, the file
// tokenizer.
func Opener(client *triton.Client, defaults batching.Options) func(*triton.Model) (Model, error) {
	return func(entry *triton.Model) (Model, error) {
		r := entry.Read()
		u := &unmasker{
			id:        ServedID(entry.PublicID(), entry.Version()),
			seen:      triton.ReadOptional(r, "training_sample", chem.SampleFile, chem.LoadSample),
			maxTokens: r.Whole("max_model_len", 256, 8),
			name:      entry.Name,
			client:    client,
		}
		l := triton.ReadFile(r, "lengths", "lengths.txt", readLengths)
		open := openNested
		if r.OneOf("sampler", "nested", "genmol") == "genmol" {
			open = openGenMol
		}
		m, err := open(r, u, l)
		if err != nil {
			return nil, err
		}
		options := defaults // a copy: models are opened concurrently
		if entry.Config.MaxBatch > 0 {
			options.MaxRows = entry.Config.MaxBatch
		}
		options.Replicas = func() int { return client.Replicas(entry.Name) }
		u.batcher = batching.New(u.cost, u.infer, options)
		return m, nil
	}
}

// openNested reads what is left of the entry of a nestedModel.
func openNested(r *triton.EntryReader, u *unmasker, l *lengths) (Model, error) {
	vocabulary := triton.ReadFile(r, "vocab", "vocab.txt", loadSAFE)
	apiTokensPerToken := r.Number("mask_worth", 1, 1, 100)
	if err := r.Done(); err != nil {
		return nil, err
	}
	l.apiTokensPerToken = apiTokensPerToken
	u.size, u.mask, u.pad = vocabulary.Size(), vocabulary.MASK, vocabulary.PAD
	return &nestedModel{SAFE: vocabulary, lengths: l, unmasker: u, apiTokens: apiTokens(vocabulary)}, nil
}

// version matches the version at the end of an id.
var version = regexp.MustCompile(`[-_.:@]v?\d[\w.]*$`)

// ServedID returns the name of a model in requests: the public id of its entry, followed by the entry's version if the
// id does not end in one.
func ServedID(id, entryVersion string) string {
	if version.MatchString(id) {
		return id
	}
	return id + "-v" + entryVersion
}

// apiTokens returns the number of API tokens that each token of a vocabulary stands for: one for each atom, bond,
// branch and ring number, and two for a dot, since published SAFE numbers both sides of a cut and nested order only
// marks one with "*".
func apiTokens(vocabulary *molecules.SAFE) []int32 {
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
