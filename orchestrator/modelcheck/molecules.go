package modelcheck

import (
	"context"
	"fmt"
	"math"

	"retort/chem"
	"retort/chem/safe"
	"retort/orchestrator/masked"
	"retort/orchestrator/objective"
)

// minFilled is the share of masked molecules that are molecules again once their masks are filled.
const minFilled = 0.5

// maskedShare is the share of the tokens of a molecule that are masked, in its middle.
const maskedShare = 1. / 3

func (c *check) masked(ctx context.Context, m masked.Model) {
	var rows []masked.Row
	reason := ""
	for i, smiles := range c.Molecules {
		ids, err := m.Encode(smiles)
		if err != nil {
			reason = fmt.Sprintf("; %s: %v", smiles, err)
			continue
		}
		first := int(float64(len(ids)) * (1 - maskedShare) / 2)
		for k := first; k <= first+int(float64(len(ids))*maskedShare) && k < len(ids); k++ {
			ids[k] = m.Mask()
		}
		rows = append(rows, masked.Row{
			IDs:      m.Row(ids, masked.Target{}),
			Settings: masked.Settings{Temperature: 1, Noise: 1, StepSize: 1},
			Seed:     int64(i + 1),
		})
	}
	if !c.require(len(rows) > 1, "vocabulary", "reads at least 2 of the molecules", "%d of %d%s",
		len(rows), len(c.Molecules), reason) {
		return
	}
	filled := c.checkTexts(ctx, "filling", len(rows), func(ctx context.Context, samples []int) ([]string, error) {
		answers, err := m.Unmask(ctx, pick(rows, samples))
		if err != nil {
			return nil, err
		}
		decoded := make([]string, len(answers))
		for i, ids := range answers {
			if decoded[i], err = m.Decode(ids[1:]); err != nil {
				return nil, err
			}
		}
		return decoded, nil
	})
	if filled == nil {
		return
	}
	valid := 0
	for _, text := range filled {
		smiles, err := safe.Decode(text, safe.DecodeOptions{Repair: true})
		if err != nil {
			continue
		}
		if _, err := chem.Parse(smiles); err == nil {
			valid++
		}
	}
	c.require(share(valid, len(rows)) >= minFilled, "filling: validity",
		fmt.Sprintf("at least %.0f%% become molecules", 100*minFilled), "%d of %d", valid, len(rows))
}

func (c *check) oracle(ctx context.Context, o objective.Oracle) {
	results, err := chem.Evaluate(ctx, c.Molecules, o.Facts())
	if err != nil {
		c.require(false, "molecules", "readable", "%v", err)
		return
	}
	var molecules []*chem.Molecule
	for _, result := range results {
		if result.Err == nil {
			molecules = append(molecules, result.Molecule)
		}
	}
	if !c.require(len(molecules) > 1, "molecules", "at least 2 are readable", "%d of %d",
		len(molecules), len(c.Molecules)) {
		return
	}
	scores := c.checkNumbers(ctx, "scores", len(molecules), func(ctx context.Context, samples []int) ([][]float32, error) {
		rows, err := o.Score(ctx, pick(molecules, samples))
		narrow := make([][]float32, len(rows))
		for i, row := range rows {
			for _, x := range row {
				narrow[i] = append(narrow[i], float32(x))
			}
		}
		return narrow, err
	})
	if scores == nil {
		return
	}
	finite := 0
	for _, row := range scores {
		if !math.IsNaN(float64(row[0])) && !math.IsInf(float64(row[0]), 0) {
			finite++
		}
	}
	c.require(finite > 0, "scores: molecules with a score", "at least 1", "%d of %d", finite, len(scores))
	c.requireDistinct("scores", scores)
}
