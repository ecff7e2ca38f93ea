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

// step is the first token of the best split of a text from some cut on.
type step struct {
	id     int32
	next   int // index of the cut at the end of the token
	tokens int // in the split
}

// Encode returns the ids of a text, without [BOS] and [EOS]. Every part must be in the vocabulary. The error is a
// [*TokenError].
func (s *SAFE) Encode(text string) ([]int32, error) {
	cuts, err := s.cuts(text)
	if err != nil {
		return nil, err
	}
	last := len(cuts) - 1
	steps := make([]step, len(cuts)) // by cut
	for at := range last {
		if steps[at].id, err = s.single(text, cuts, at); err != nil {
			return nil, err
		}
	}
	for at := last - 1; at >= 0; at-- {
		steps[at].next = at + 1
		steps[at].tokens = steps[at+1].tokens + 1
		for end := at + 2; end <= min(last, at+s.longest); end++ {
			if steps[end].tokens+1 > steps[at].tokens {
				continue
			}
			if id, ok := s.run(text, cuts, at, end); ok {
				steps[at] = step{id: id, next: end, tokens: steps[end].tokens + 1}
			}
		}
	}
	ids := make([]int32, 0, steps[0].tokens)
	for at := 0; at < last; at = steps[at].next {
		ids = append(ids, steps[at].id)
	}
	return ids, nil
}
