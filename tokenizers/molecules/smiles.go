package molecules

// SMILES tokenizes SMILES strings. A text is cut from left to right, each time into the longest run of the vocabulary.
// No special token may stand in a text: "[EOS]", which looks like a bracket atom, is refused as any other token outside
// the vocabulary.
type SMILES struct{ coder }

// NewSMILES needs a vocabulary with [PAD], [BOS] and [EOS].
func NewSMILES(v *Vocabulary) (*SMILES, error) {
	if err := v.require("[PAD]", "[BOS]", "[EOS]"); err != nil {
		return nil, err
	}
	return &SMILES{newCoder(v, false, absentID)}, nil
}

// Encode gives the ids of a text, without [BOS] and [EOS]. The error is a [*TokenError].
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

// longestRun finds the longest token of the vocabulary that begins at cut first, and the cut at which it ends.
func (s *SMILES) longestRun(text string, cuts []int, first int) (id int32, end int, err error) {
	for end = min(first+s.longest, len(cuts)-1); end > first+1; end-- {
		if id, known := s.run(text, cuts, first, end); known {
			return id, end, nil
		}
	}
	id, err = s.single(text, cuts, first)
	return id, first + 1, err
}
