package masked

import (
	"context"
	"slices"
)

// Bounds of the passes that draw the molecules missing after all attempts, in version 2.0 of the interface.
const (
	maxMissingPasses = 20
	minMissingRows   = 32 // of a pass, so that few missing molecules need few passes
)

// drawMissing draws rows until there are NumMolecules molecules, in at most maxMissingPasses passes. Short masks have
// few distinct fillings, so each pass draws longer ones.
func (g *generation) drawMissing(ctx context.Context, found []*candidate, unique bool) ([]*candidate, error) {
	count := int(g.request.NumMolecules)
	template := g.template
	for pass := 0; pass < maxMissingPasses && len(found) < count; pass++ {
		template = template.lengthened()
		rows := max(count-len(found), minMissingRows)
		drawn, err := g.pass(ctx, slices.Repeat([]*Template{template}, rows), 1)
		found = append(found, drawn...)
		if unique {
			found = distinct(found)
		}
		if err != nil {
			return found, err
		}
	}
	return found, nil
}

// lengthened returns the template with an upper bound of each mask that is a quarter, and at least 2 API tokens,
// higher. A row of masks that are too long for the model is drawn from the template of the request: see drafter.drafts.
func (t *Template) lengthened() *Template {
	longer := *t
	longer.maskLengths = nil
	longer.masks = slices.Clone(t.masks)
	for i := range longer.masks {
		longer.masks[i].most += max(2, longer.masks[i].most/4)
	}
	return &longer
}
