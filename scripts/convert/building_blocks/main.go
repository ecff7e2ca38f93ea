// Command building_blocks writes the built-in building blocks of package synthesis: common reagents, and the precursors
// that its templates find in at least a given number of molecules.
//
//	go run ./scripts/convert/building_blocks --molecules 24000 --least 2 zinc250k_train.smi.gz \
//	    > chem/synthesis/building_blocks.smi.gz
//
// Each file has one SMILES per line. A precursor has at most 16 heavy atoms.
package main

import (
	"bufio"
	"compress/gzip"
	"context"
	_ "embed"
	"flag"
	"fmt"
	"log"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"

	"retort/chem/cores"
	"retort/chem/smiles"
	"retort/chem/synthesis"
)

// maxAtoms is the upper bound of the heavy atoms of a building block.
const maxAtoms = 16

//go:embed reagents.smi
var reagents string

func main() {
	count := flag.Int("molecules", 24_000, "molecules to disconnect, drawn at random")
	least := flag.Int("least", 2, "molecules that a precursor must be found in")
	flag.Parse()
	var molecules []string
	for _, name := range flag.Args() {
		molecules = append(molecules, read(name)...)
	}
	random := rand.New(rand.NewPCG(1, 1))
	random.Shuffle(len(molecules), func(i, j int) { molecules[i], molecules[j] = molecules[j], molecules[i] })
	found := precursors(molecules[:min(*count, len(molecules))])
	kept := map[string]bool{}
	for precursor, times := range found {
		if times >= *least {
			kept[precursor] = true
		}
	}
	fmt.Fprintf(os.Stderr, "%d precursors, %d of them in at least %d molecules\n", len(found), len(kept), *least)
	for line := range strings.Lines(reagents) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		canonical, err := synthesis.Canonical(strings.TrimSpace(line))
		if err != nil {
			log.Fatal(err)
		}
		kept[canonical] = true
	}
	zipped, err := gzip.NewWriterLevel(os.Stdout, gzip.BestCompression)
	if err != nil {
		log.Fatal(err)
	}
	for _, block := range slices.Sorted(maps.Keys(kept)) {
		fmt.Fprintln(zipped, block)
	}
	if err := zipped.Close(); err != nil {
		log.Fatal(err)
	}
	fmt.Fprintf(os.Stderr, "%d building blocks\n", len(kept))
}

// precursors counts the molecules in which the templates find each precursor.
func precursors(molecules []string) map[string]int {
	counts := map[string]int{}
	var mu sync.Mutex
	err := cores.Chunks(context.Background(), len(molecules), nil, func(_ context.Context, from, to int) error {
		for _, molecule := range molecules[from:to] {
			steps, err := synthesis.Disconnect(molecule)
			if err != nil {
				return fmt.Errorf("%s: %w", molecule, err)
			}
			distinct := map[string]bool{}
			for _, step := range steps {
				for _, precursor := range step.Precursors {
					if atoms, _ := smiles.Count(precursor); atoms <= maxAtoms {
						distinct[precursor] = true
					}
				}
			}
			mu.Lock()
			for precursor := range distinct {
				counts[precursor]++
			}
			mu.Unlock()
		}
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	return counts
}

// read returns the first word of each line of a file, which may be compressed.
func read(name string) []string {
	file, err := os.Open(name)
	if err != nil {
		log.Fatal(err)
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	if strings.HasSuffix(name, ".gz") {
		unzipped, err := gzip.NewReader(file)
		if err != nil {
			log.Fatal(err)
		}
		lines = bufio.NewScanner(unzipped)
	}
	var all []string
	for lines.Scan() {
		if words := strings.Fields(lines.Text()); len(words) > 0 {
			all = append(all, words[0])
		}
	}
	if err := lines.Err(); err != nil {
		log.Fatal(err)
	}
	return all
}
