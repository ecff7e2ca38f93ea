package tokenizers

// SAFE cuts SAFE strings (Noutahi et al. 2023, arXiv:2310.10773), which are SMILES too, and their bracket form, in which
// attachment points are written <1>, <2> … instead of as ring numbers. [MASK] may stand in a text, for one unknown token.
//
// A text is cut into the fewest tokens possible and, among the ways to do that, into the longest token first: a piece of a
// SAFE string that is a token of its own is never spelled. scripts/train/masked/vocabulary.py does the same.
type SAFE struct{ lexer }

// NewSAFE needs a vocabulary with [PAD], [BOS], [EOS] and [MASK].
func NewSAFE(v *Vocabulary) (*SAFE, error) {
	if err := v.require("[PAD]", "[BOS]", "[EOS]", "[MASK]"); err != nil {
		return nil, err
	}
	return &SAFE{newLexer(v, true, v.MASK)}, nil
}

// Encode gives the ids of a text, without [BOS] and [EOS]. The error is a [*TokenError]; every simple token must be one of
// the vocabulary.
func (s *SAFE) Encode(text string) ([]int32, error) {
	cuts, err := s.cuts(text)
	if err != nil {
		return nil, err
	}
	// From each simple token on: the tokens needed, the id of the first of them and where the next begins.
	type step struct {
		needed, next int
		id           int32
	}
	best := make([]step, len(cuts))
	for at, cut := range cuts[:len(cuts)-1] {
		id, ok := s.ids[text[cut:cuts[at+1]]]
		if !ok || s.isSpecial[id] && id != s.special {
			return nil, &TokenError{Token: text[cut:cuts[at+1]], Position: cut, Known: true}
		}
		best[at].id = id
	}
	for at := len(cuts) - 2; at >= 0; at-- {
		best[at].needed, best[at].next = best[at+1].needed+1, at+1
		for end := at + 2; end <= min(len(cuts)-1, at+s.longest); end++ {
			if best[end].needed+1 > best[at].needed {
				continue
			}
			if id, ok := s.ids[text[cuts[at]:cuts[end]]]; ok {
				best[at] = step{best[end].needed + 1, end, id}
			}
		}
	}
	ids := make([]int32, 0, best[0].needed)
	for at := 0; at < len(cuts)-1; at = best[at].next {
		ids = append(ids, best[at].id)
	}
	return ids, nil
}
