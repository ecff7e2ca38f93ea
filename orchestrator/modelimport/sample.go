package modelimport

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"retort/chem"
	"retort/orchestrator/inputfile"
)

// SampleOptions say how to write the sample of the molecules that a model was trained on: the flags of `retort model
// sample`.
type SampleOptions struct {
	Entry string   `arg:"" help:"Entry of the model repository: the masked model, or the encoder of a latent one."`
	Files []string `arg:"" name:"file" type:"existingfile" help:"Files of the training molecules: one SMILES per line, which may be followed by more columns. Files whose names end in .gz are decompressed."`

	Repository string `type:"path" placeholder:"DIR" env:"-" help:"Model repository; by default --model-repository."`
	Size       int    `env:"-" default:"262144" help:"Molecules to draw, of 64 bytes each."`
	Seed       uint64 `env:"-" default:"1" help:"Seed of the random numbers."`
}

// WriteSample draws molecules and writes their fingerprints into an entry. Texts that are no molecule and repetitions
// of a line are left out.
func WriteSample(ctx context.Context, o SampleOptions) (*chem.Sample, error) {
	if o.Size < 1 || o.Size > chem.MaxSample {
		return nil, fmt.Errorf("--size is from 1 to %d, not %d", chem.MaxSample, o.Size)
	}
	folder := filepath.Join(o.Repository, o.Entry)
	if _, err := os.Stat(filepath.Join(folder, "config.pbtxt")); err != nil || !filepath.IsLocal(o.Entry) {
		return nil, fmt.Errorf("%s is no entry of the model repository", folder)
	}
	seen := map[string]bool{}
	var molecules []string
	for _, name := range o.Files {
		err := readMolecules(name, func(smiles string) {
			if !seen[smiles] {
				seen[smiles] = true
				molecules = append(molecules, smiles)
			}
		})
		if err != nil {
			return nil, err
		}
	}
	random := rand.New(rand.NewPCG(o.Seed, 0))
	random.Shuffle(len(molecules), func(i, k int) { molecules[i], molecules[k] = molecules[k], molecules[i] })
	prints, err := drawPrints(ctx, molecules, o.Size)
	if err != nil {
		return nil, err
	}
	if len(prints) == 0 {
		return nil, errors.New("the files have no molecules")
	}
	sample := chem.NewSample(prints, len(molecules))
	return sample, writeSample(sample, filepath.Join(folder, chem.SampleFile))
}

// samplePart is the number of molecules that are read at a time.
const samplePart = 4096

// drawPrints returns the fingerprints of the first molecules, at most size.
func drawPrints(ctx context.Context, smiles []string, size int) ([]chem.Fingerprint, error) {
	var prints []chem.Fingerprint
	for len(smiles) > 0 && len(prints) < size {
		count := min(samplePart, len(smiles), size-len(prints))
		results, err := chem.Evaluate(ctx, smiles[:count], chem.FactFingerprint)
		if err != nil {
			return nil, err
		}
		for _, r := range results {
			if r.Err == nil {
				prints = append(prints, r.Molecule.Fingerprint())
			}
		}
		smiles = smiles[count:]
	}
	return prints, nil
}

// maxSampleLine bounds a line of a file of molecules, in bytes.
const maxSampleLine = 1 << 20

// readMolecules calls each with the SMILES of every line.
func readMolecules(name string, each func(smiles string)) error {
	file, err := inputfile.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, maxSampleLine)
	for lines.Scan() {
		if fields := strings.Fields(lines.Text()); len(fields) > 0 {
			each(fields[0])
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// writeSample writes the file of a sample, whole or not at all.
func writeSample(sample io.WriterTo, path string) error {
	file, err := os.CreateTemp(filepath.Dir(path), ".sample-*")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name()) // which fails after the rename
	_, err = sample.WriteTo(file)
	if err := errors.Join(err, file.Chmod(0o644), file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}
