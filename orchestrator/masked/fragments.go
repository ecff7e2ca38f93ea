package masked

import (
	"errors"
	"fmt"
	"strings"

	"retort/chem"
	"retort/chem/safe"
)

// fragments parses the text of the template into the given fragments, and turns placeholders into open positions.
func (r *templateReader) fragments() ([]string, error) {
	given, err := safe.Decode(string(r.text), safe.DecodeOptions{KeepOpen: true})
	if err != nil {
		return nil, r.explain(err)
	}
	if r.hasPlaceholders {
		given, err = safe.RemovePlaceholders(given)
		if errors.Is(err, safe.ErrPlaceholder) {
			err = errors.New("a mask among atoms must be joined to them by single bonds outside of rings")
		}
	}
	if err != nil || given == "" {
		return nil, err
	}
	return strings.Split(safe.OpenRadicals(given), "."), nil
}

// setGiven sets the given fragments, and the queries that match them.
func (t *Template) setGiven(fragments []string) error {
	for _, fragment := range fragments {
		molecule, err := chem.Parse(fragment)
		if err != nil {
			return err
		}
		query, err := chem.FragmentQuery(molecule.SMILES())
		if err != nil {
			return fmt.Errorf("the fragment %s cannot be kept: %w", fragment, err)
		}
		t.given = append(t.given, molecule.SMILES())
		t.queries = append(t.queries, query)
	}
	return nil
}

// explain adds the position in the template to an error of chem about the text.
func (r *templateReader) explain(err error) error {
	reason, position := chem.Reason(err)
	if valence, ok := errors.AsType[*chem.ValenceError](err); ok {
		reason = "atom " + valence.Symbol + ": " + reason
	}
	// Ring numbers written <1> change their length before chem parses the text, so positions are unknown.
	if strings.Contains(string(r.text), "<") || position < 0 || position >= len(r.offsets) {
		return fmt.Errorf("the template is not SMILES or SAFE: %s", reason)
	}
	return fmt.Errorf("character %d: the template is not SMILES or SAFE: %s", r.offsets[position]+1, reason)
}
