package molecules

// SAFE tokenizes SAFE strings (Noutahi et al. 2023, arXiv:2310.10773), which are SMILES too, and their bracket form, in
// which attachments are <1>, <2> … instead of ring numbers. A text may have [MASK] for one unknown token.
//
// It splits a text into the fewest tokens possible, with the longest token first if there is a choice: a fragment that
// is a token is never split. scripts/train/masked/vocabulary.py does the same.
type SAFE struct{ coder }

// NewSAFE requires a vocabulary with [PAD], [BOS], [EOS] and [MASK].
func NewSAFE(v *Vocabulary) (*SAFE, error) {
	if err := v.require("[PAD]", "[BOS]", "[EOS]", "[MASK]"); err != nil {
		return nil, err
	}
	return &SAFE{newCoder(v, true, v.MASK)}, nil
}

// split is the best split of the end of a text, from some cut on.
type split struct {
	id     int32 // of its first token
	next   int   // index of the cut at the end of the first token
	tokens int   // how many it has
}

// Encode returns the ids of a text, without [BOS] and [EOS]. Every part must be in the vocabulary. The error is a
// [*TokenError].
func (s *SAFE) Encode(text string) ([]int32, error) {
	cuts, err := s.cuts(text)
	if err != nil {
		return nil, err
	}
	last := len(cuts) - 1
	splits := make([]split, len(cuts)) // by cut
	for at := range last {
		if splits[at].id, err = s.lookUpPart(text, cuts, at); err != nil {
			return nil, err
		}
	}
	for at := last - 1; at >= 0; at-- {
		splits[at].next = at + 1
		splits[at].tokens = splits[at+1].tokens + 1
		for end := at + 2; end <= min(last, at+s.longest); end++ {
			if splits[end].tokens+1 > splits[at].tokens {
				continue
			}
			if id, ok := s.lookUp(text, cuts, at, end); ok {
				splits[at] = split{id: id, next: end, tokens: splits[end].tokens + 1}
			}
		}
	}
	ids := make([]int32, 0, splits[0].tokens)
	for at := 0; at < last; at = splits[at].next {
		ids = append(ids, splits[at].id)
	}
	return ids, nil
}
