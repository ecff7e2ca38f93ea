package masked

import (
	"math/rand/v2"
	"strings"

	"retort/chem"
	"retort/chem/safe"
)

// sampler is how molecules are drawn from a model: what depends on how it was trained.
type sampler interface {
	// draft draws a row from a template.
	draft(d *drafter, t *Template, random *rand.Rand) (*draft, error)
	// oversampling is the number of rows to draw for each molecule of the first generation; the one nearest to the
	// wanted length is taken.
	oversampling(t *Template) int
	// read returns the molecule of the text of an unmasked row, "" if there is none, and whether the text is the whole
	// molecule as written.
	read(text string) (smiles string, asWritten bool)
	// accepts reports whether a molecule counts before all attempts are used.
	accepts(c *candidate) bool
}

// nestedSampler is for models of SAFE in nested order (scripts/train/masked).
type nestedSampler struct{}

func (nestedSampler) draft(d *drafter, t *Template, random *rand.Rand) (*draft, error) {
	return d.nestedDraft(t, random)
}

func (nestedSampler) oversampling(t *Template) int { return t.oversampling() }

func (nestedSampler) read(text string) (smiles string, asWritten bool) {
	return decodeSAFE(safe.FromNested(text))
}

func (nestedSampler) accepts(c *candidate) bool { return c.asWritten }

// decodeSAFE returns the SMILES of a SAFE text. A text that is not one molecule as written is repaired as in GenMol:
// invalid fragments are dropped, open attachments get hydrogen, and the largest molecule is taken. The SMILES is "" if
// nothing remains.
func decodeSAFE(text string) (smiles string, asWritten bool) {
	smiles, err := safe.Decode(text, safe.DecodeOptions{Strict: true})
	if err == nil && !strings.Contains(smiles, ".") {
		return smiles, true
	}
	if smiles, err = safe.Decode(text, safe.DecodeOptions{Repair: true}); err != nil {
		return "", false
	}
	if smiles, err = chem.LargestFragment(smiles); err != nil {
		return "", false
	}
	return smiles, false
}
