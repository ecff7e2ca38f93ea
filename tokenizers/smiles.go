package tokenizers

// SMILES cuts SMILES strings into atoms, bonds, branches and ring numbers, or into the runs of them that its vocabulary
// holds. No special token may stand in
// a text: "[EOS]", which looks like a bracket atom, is refused as any other token outside the vocabulary.
type SMILES struct{ lexer }

// NewSMILES needs a vocabulary with [PAD], [BOS] and [EOS].
func NewSMILES(v *Vocabulary) (*SMILES, error) {
	if err := v.require("[PAD]", "[BOS]", "[EOS]"); err != nil {
		return nil, err
	}
	return &SMILES{newLexer(v, false, absentID)}, nil
}
