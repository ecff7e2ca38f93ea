package molecules

// SAFE tokenizes SAFE strings (Noutahi et al. 2023, arXiv:2310.10773), which are SMILES too, and their bracket form, in
// which attachments are written <1>, <2> … and not as ring numbers. [MASK] may stand in a text, for one unknown token.
//
// A text is cut into the fewest tokens possible and, among the ways to do that, into the longest token first: a
// fragment of a SAFE string that is a token is never spelled in parts. scripts/train/masked/vocabulary.py does the
// same.
type SAFE struct{ coder }

// NewSAFE needs a vocabulary with [PAD], [BOS], [EOS] and [MASK].
func NewSAFE(v *Vocabulary) (*SAFE, error) {
	if err := v.require("[PAD]", "[BOS]", "[EOS]", "[MASK]"); err != nil {
		return nil, err
	}
	return &SAFE{newCoder(v, true, v.MASK)}, nil
}

// step is a token in the best way to cut the rest of a text.
type step struct {
	id     int32
	next   int // the cut at which the token ends
	tokens int // needed for the rest of the text, this one included
}

// Encode gives the ids of a text, without [BOS] and [EOS]. The error is a [*TokenError]; every single part must be a
// token of the vocabulary.
func (s *SAFE) Encode(text string) ([]int32, error) {
	cuts, err := s.cuts(text)
	if err != nil {
		return nil, err
	}
	last := len(cuts) - 1
	steps := make([]step, len(cuts)) // from each cut on
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
			if id, known := s.run(text, cuts, at, end); known {
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
