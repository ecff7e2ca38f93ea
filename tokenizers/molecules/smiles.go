package molecules

// SMILES tokenizes SMILES strings from left to right, each time with the longest token of the vocabulary. A text must
// not have special tokens: "[EOS]", which looks like a bracket atom, is refused like any unknown token.
type SMILES struct{ coder }

// NewSMILES requires a vocabulary with [PAD] and [EOS].
func NewSMILES(v *Vocabulary) (*SMILES, error) {
	if err := v.require("[PAD]", "[EOS]"); err != nil {
		return nil, err
	}
	return NewParts(v), nil
}

// NewParts is NewSMILES for ids that stay in this program: the vocabulary needs no special tokens.
func NewParts(v *Vocabulary) *SMILES { return &SMILES{newCoder(v, false, absentID)} }

// Encode returns the ids of a text, without [BOS] and [EOS]. The error is a [*TokenError].
func (s *SMILES) Encode(text string) ([]int32, error) {
	cuts, err := s.cuts(text)
	if err != nil {
		return nil, err
	}
	ids := make([]int32, 0, len(cuts))
	for first := 0; first < len(cuts)-1; {
		id, end, err := s.longestRun(text, cuts, first)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
		first = end
	}
	return ids, nil
}

// longestRun finds the longest token of the vocabulary that starts at cut first, and the cut at its end.
func (s *SMILES) longestRun(text string, cuts []int, first int) (id int32, end int, err error) {
	for end = min(first+s.longest, len(cuts)-1); end > first+1; end-- {
		if id, ok := s.lookUp(text, cuts, first, end); ok {
			return id, end, nil
		}
	}
	id, err = s.lookUpPart(text, cuts, first)
	return id, first + 1, err
}
