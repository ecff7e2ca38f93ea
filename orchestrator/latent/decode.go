package latent

import (
	"context"
	"hash/fnv"
	"math"

	"retort/chem"
	"retort/orchestrator/fault"
	"retort/orchestrator/latent/search"
	"retort/orchestrator/telemetry"
)

// Decode returns one SMILES per hidden state, in order, canonical. Where the text that the model finds likeliest token
// by token is no molecule, it is decoded again: see rescue. A hidden state on the line between those of two molecules gives
// a molecule between the two: see [search.Interpolate]. A row that is null gives null.
func (s *Service) Decode(ctx context.Context, r Hidden) (Decoded, error) {
	model, err := s.model()
	if err != nil {
		return Decoded{}, err
	}
	if err := checkSize(r.Hiddens, model.Space().Size()); err != nil {
		return Decoded{}, err
	}
	var points []search.Point
	var rows []int
	for i, vectors := range r.Hiddens {
		if vectors != nil {
			points = append(points, search.Point{Hidden: vectors[0]})
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

// decode gives the canonical SMILES of each point, or the model's text where no decoding gives a molecule.
func decode(ctx context.Context, model Model, points []search.Point) ([]string, error) {
	texts, err := model.Decode(ctx, points)
	if err != nil {
		return nil, err
	}
	valid, err := canonical(ctx, texts)
	if err != nil {
		return nil, err
	}
	var lost []int
	for i, smiles := range valid {
		if smiles == "" {
			lost = append(lost, i)
		} else {
			texts[i] = smiles
		}
	}
	for _, again := range []rescuer{byBeams, byDraws} {
		if lost, err = rescue(ctx, model, points, texts, lost, again); err != nil {
			return nil, err
		}
	}
	return texts, nil
}

const (
	// rescueBeams and rescueDraws are how many texts of a point are tried when the first is no molecule: first the beams
	// of a beam search, then texts of tokens that are drawn.
	rescueBeams = 8
	rescueDraws = 8
	// rescueTemperature is that of the tokens drawn.
	rescueTemperature = 0.7
	// rescueRows is how many points are decoded again at once, which bounds the memory.
	rescueRows = 128
)

// rescuer gives several texts for each point, the likeliest first; none where the model cannot decode in this way.
type rescuer func(ctx context.Context, model Model, points []search.Point) ([][]string, error)

// rescue puts the first text that is a molecule in the place of those that are lost, and returns the rows that still are.
func rescue(ctx context.Context, model Model, points []search.Point, texts []string, lost []int, again rescuer) (still []int, err error) {
	for len(lost) > 0 {
		rows := lost[:min(len(lost), rescueRows)]
		lost = lost[len(rows):]
		some := make([]search.Point, len(rows))
		for k, i := range rows {
			some[k] = points[i]
		}
		tries, err := again(ctx, model, some)
		if err != nil {
			return nil, err
		}
		for k, i := range rows {
			found := ""
			if k < len(tries) {
				if found, err = firstMolecule(ctx, tries[k]); err != nil {
					return nil, err
				}
			}
			if found == "" {
				still = append(still, i)
			} else {
				texts[i] = found
			}
		}
	}
	return still, nil
}

// byBeams decodes points by beam search, where the model has it.
func byBeams(ctx context.Context, model Model, points []search.Point) ([][]string, error) {
	hiddens := make([][]float32, len(points))
	for i, p := range points {
		hiddens[i] = p.Hidden
	}
	texts, err := model.Beams(ctx, hiddens, rescueBeams)
	if err != nil && fault.KindOf(err) == fault.Invalid {
		return nil, nil
	}
	return texts, err
}

// byDraws decodes each point several times with tokens drawn. The seed is made of the point, so that the answer is the
// same each time.
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

// seedOfPoint makes a seed of random numbers out of a hidden state.
func seedOfPoint(hidden []float32) int64 {
	hash := fnv.New64a()
	for _, h := range hidden {
		bits := math.Float32bits(h)
		hash.Write([]byte{byte(bits), byte(bits >> 8), byte(bits >> 16), byte(bits >> 24)})
	}
	return int64(hash.Sum64() >> 2)
}

// canonical gives the canonical SMILES of each text, "" where it is no molecule.
func canonical(ctx context.Context, texts []string) ([]string, error) {
	results, err := chem.Evaluate(ctx, texts, chem.Options{})
	if err != nil {
		return nil, err
	}
	smiles := make([]string, len(texts))
	for i, r := range results {
		if r.Err == nil {
			smiles[i] = r.Molecule.SMILES()
		}
	}
	return smiles, nil
}

// firstMolecule is the canonical SMILES of the first text that is a molecule, "" if none is.
func firstMolecule(ctx context.Context, texts []string) (string, error) {
	smiles, err := canonical(ctx, texts)
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
