// Command novelty compares the distance of held-out molecules to the nearest molecule of a sample of a training set
// (fingerprints folded to 512 bits) with their distance to the nearest of the whole set (2048 bits).
//
//	go run ./scripts/eval/novelty --size 262144 TRAIN.smi HELD-OUT.smi...
//
// Each file has one SMILES per line, and TRAIN.smi has none twice. The command prints a row of Markdown for each file
// of held-out molecules: means, mean absolute difference and Spearman's rank correlation.
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"log"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"retort/chem"
	"retort/chem/cores"
)

func main() {
	size := flag.Int("size", 1<<18, "molecules in the sample")
	flag.Parse()
	training := fingerprints(flag.Arg(0))
	random := rand.New(rand.NewPCG(1, 1))
	random.Shuffle(len(training), func(i, j int) { training[i], training[j] = training[j], training[i] })
	sample := chem.NewSample(training[:min(*size, len(training))], len(training))
	fmt.Printf("%d of %d training molecules\n", sample.Size(), len(training))
	fmt.Println("| held-out | molecules | to the whole set | to the sample | mean difference | rank correlation |")
	fmt.Println("| --- | --- | --- | --- | --- | --- |")
	for _, path := range flag.Args()[1:] {
		compare(filepath.Base(path), fingerprints(path), training, sample)
	}
}

func compare(name string, molecules, training []chem.Fingerprint, sample *chem.Sample) {
	whole, err := cores.Map(context.Background(), len(molecules), func(i int) (float64, error) {
		highest := 0.0
		for k := range training {
			highest = max(highest, molecules[i].Tanimoto(&training[k]))
		}
		return 1 - highest, nil
	})
	if err != nil {
		log.Fatal(err)
	}
	sampled := make([]float64, len(molecules))
	difference := 0.0
	for i := range molecules {
		sampled[i] = sample.Distance(&molecules[i])
		difference += math.Abs(sampled[i] - whole[i])
	}
	fmt.Printf("| %s | %d | %.3f | %.3f | %.3f | %.3f |\n", name, len(molecules), mean(whole), mean(sampled),
		difference/float64(len(molecules)), correlation(ranks(whole), ranks(sampled)))
}

func fingerprints(path string) []chem.Fingerprint {
	file, err := os.Open(path)
	if err != nil {
		log.Fatal(err)
	}
	defer file.Close()
	var smiles []string
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if text, _, _ := strings.Cut(lines.Text(), "\t"); text != "" {
			smiles = append(smiles, text)
		}
	}
	var all []chem.Fingerprint
	for part := range slices.Chunk(smiles, 4096) {
		results, err := chem.Evaluate(context.Background(), part, chem.FactFingerprint)
		if err != nil {
			log.Fatal(err)
		}
		for _, r := range results {
			if r.Err == nil {
				all = append(all, r.Molecule.Fingerprint())
			}
		}
	}
	return all
}

// ranks returns the rank of each value; equal values have their mean rank.
func ranks(values []float64) []float64 {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		switch {
		case values[a] < values[b]:
			return -1
		case values[a] > values[b]:
			return 1
		}
		return 0
	})
	ranks := make([]float64, len(values))
	for from := 0; from < len(order); {
		to := from
		for to < len(order) && values[order[to]] == values[order[from]] {
			to++
		}
		for _, i := range order[from:to] {
			ranks[i] = float64(from+to-1) / 2
		}
		from = to
	}
	return ranks
}

func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// correlation is Pearson's.
func correlation(x, y []float64) float64 {
	mx, my := mean(x), mean(y)
	var xy, xx, yy float64
	for i := range x {
		xy += (x[i] - mx) * (y[i] - my)
		xx += (x[i] - mx) * (x[i] - mx)
		yy += (y[i] - my) * (y[i] - my)
	}
	return xy / math.Sqrt(xx*yy)
}
