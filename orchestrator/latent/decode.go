package latent

import (
	"context"
	"hash/fnv"
	"math"
	"slices"

	"retort/chem"
	"retort/orchestrator/fault"
	"retort/orchestrator/latent/search"
	"retort/orchestrator/telemetry"
)

// Decode returns one canonical SMILES per hidden state, in order. If the text of the likeliest tokens is not a
// molecule, the hidden state is decoded again: see rescue. A hidden state on the line between two molecules gives a
// molecule between the two: see [search.Interpolate].
func (s *Service) Decode(ctx context.Context, r Hidden) (Decoded, error) {
	model, err := s.model(r.Model)
	if err != nil {
		return Decoded{}, err
	}
	if err := checkSize(r.Hiddens, model.Vectors(), model.Space().Size()/model.Vectors()); err != nil {
		return Decoded{}, err
	}
	var points []search.Point
	var rows []int
	for i, vectors := range r.Hiddens {
		if vectors != nil {
			points = append(points, search.Point{Hidden: slices.Concat(vectors...)})
			rows = append(rows, i)
		}
	}
	telemetry.FromContext(ctx).AddRows(len(points))
	texts, err := decode(ctx, model, points)
	if err == nil {
		err = search.Interpolate(ctx, model, points, texts)
	}
	if err != nil {
		return Decoded{}, err
	}
	answer := Decoded{Generated: make([]*string, len(r.Hiddens))}
	for k, i := range rows {
		answer.Generated[i] = &texts[k]
	}
	return answer, nil
}

// decode returns the canonical SMILES of each point, or its first text if no decoding gives a molecule.
func decode(ctx context.Context, model Model, points []search.Point) ([]string, error) {
	texts, err := model.Decode(ctx, points)
	if err != nil {
		return nil, err
	}
	canonical, err := canonicalise(ctx, model, texts)
	if err != nil {
		return nil, err
	}
	var invalid []int
	for i, smiles := range canonical {
		if smiles == "" {
			invalid = append(invalid, i)
		} else {
			texts[i] = smiles
		}
	}
	for _, decodeAgain := range []rescuer{byBeams(fewBeams), byBeams(manyBeams), byDraws} {
		if invalid, err = rescue(ctx, model, points, texts, invalid, decodeAgain); err != nil {
			return nil, err
		}
	}
	return texts, nil
}

const (
	// fewBeams, manyBeams and rescueDraws are the numbers of further texts of a point if the first is not a molecule:
	// first the beams of two beam searches, then texts of drawn tokens. A beam costs about as much as a point, and few
	// suffice for most points (scripts/train/experiments/2026-11-26-latent-decode-fallbacks.md).
	fewBeams    = 4
	manyBeams   = 8
	rescueDraws = 8
	// rescueTemperature is the temperature for drawing tokens.
	rescueTemperature = 0.7
	// rescueRows bounds the points that are decoded again at once, and so the memory.
	rescueRows = 128
)

// rescuer returns several texts per point, the likeliest first, or nothing if the model does not support this decoding.
type rescuer func(ctx context.Context, model Model, points []search.Point) ([][]string, error)

// rescue decodes the points of invalid texts again, replaces each text by the first molecule, and returns the rows of
// the texts that are still invalid.
func rescue(
	ctx context.Context, model Model, points []search.Point, texts []string, invalid []int, decodeAgain rescuer,
) (stillInvalid []int, err error) {
	for rows := range slices.Chunk(invalid, rescueRows) {
		chunk := make([]search.Point, len(rows))
		for k, row := range rows {
			chunk[k] = points[row]
		}
		candidates, err := decodeAgain(ctx, model, chunk)
		if err != nil {
			return nil, err
		}
		for k, row := range rows {
			smiles := ""
			if k < len(candidates) {
				if smiles, err = firstMolecule(ctx, model, candidates[k]); err != nil {
					return nil, err
				}
			}
			if smiles == "" {
				stillInvalid = append(stillInvalid, row)
			} else {
				texts[row] = smiles
			}
		}
	}
	return stillInvalid, nil
}

// byBeams returns a rescuer that decodes points by a beam search of a size, if the model has beam search.
func byBeams(size int) rescuer {
	return func(ctx context.Context, model Model, points []search.Point) ([][]string, error) {
		texts, err := model.Beams(ctx, points, size)
		if err != nil && fault.KindOf(err) == fault.Invalid {
			return nil, nil
		}
		return texts, err
	}
}

// byDraws decodes each point several times with drawn tokens. The seed depends on the point, so the result is
// deterministic.
func byDraws(ctx context.Context, model Model, points []search.Point) ([][]string, error) {
	draws := make([]search.Point, 0, rescueDraws*len(points))
	for _, p := range points {
		seed := seedOfPoint(p.Hidden)
		for k := range rescueDraws {
			draws = append(draws, search.Point{Hidden: p.Hidden, Temperature: rescueTemperature, Seed: seed + int64(k)})
		}
	}
	drawn, err := model.Decode(ctx, draws)
	if err != nil {
		return nil, err
	}
	texts := make([][]string, len(points))
	for i := range texts {
		texts[i] = drawn[i*rescueDraws : (i+1)*rescueDraws]
	}
	return texts, nil
}

// seedOfPoint derives a seed for random numbers from a hidden state.
func seedOfPoint(hidden []float32) int64 {
	hash := fnv.New64a()
	for _, h := range hidden {
		bits := math.Float32bits(h)
		hash.Write([]byte{byte(bits), byte(bits >> 8), byte(bits >> 16), byte(bits >> 24)})
	}
	return int64(hash.Sum64() >> 2)
}

// canonicalise returns the canonical SMILES of each text, "" if it is not a molecule or if the model cannot encode it,
// since clients send what /decode answers back to /hidden. Radicals such as [CH] are no tokens of most models.
func canonicalise(ctx context.Context, model Model, texts []string) ([]string, error) {
	results, err := chem.Evaluate(ctx, texts, chem.NoFacts)
	if err != nil {
		return nil, err
	}
	smiles := make([]string, len(texts))
	for i, r := range results {
		if r.Err != nil {
			continue
		}
		text := r.Molecule.SMILES()
		if _, err := model.Tokens(text); err == nil {
			smiles[i] = text
		}
	}
	return smiles, nil
}

// firstMolecule returns the canonical SMILES of the first text that is a molecule, "" if none is.
func firstMolecule(ctx context.Context, model Model, texts []string) (string, error) {
	smiles, err := canonicalise(ctx, model, texts)
	if err != nil {
		return "", err
	}
	for _, s := range smiles {
		if s != "" {
			return s, nil
		}
	}
	return "", nil
}
