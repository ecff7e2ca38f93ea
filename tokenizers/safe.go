package tokenizers

// SAFE cuts SAFE strings (Noutahi et al. 2023, arXiv:2310.10773), which are SMILES too, and their bracket form, in which
// attachment points are written <1>, <2> … instead of as ring numbers. [MASK] may stand in a text, for one unknown token.
type SAFE struct{ lexer }

// NewSAFE needs a vocabulary with [PAD], [BOS], [EOS] and [MASK].
func NewSAFE(v *Vocabulary) (*SAFE, error) {
	if err := v.require("[PAD]", "[BOS]", "[EOS]", "[MASK]"); err != nil {
		return nil, err
	}
	return &SAFE{newLexer(v, true, v.MASK)}, nil
}
