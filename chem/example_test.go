package chem_test

import (
	"context"
	"errors"
	"fmt"

	"retort/chem"
)

func ExampleParse() {
	aspirin, err := chem.Parse("O=C(C)Oc1ccccc1C(O)=O")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(aspirin.SMILES())
	fmt.Println(aspirin.Formula(), aspirin.HeavyAtoms(), "heavy atoms")
	fmt.Printf("weight %.3f, logP %.4f, TPSA %.2f\n", aspirin.Weight(), aspirin.LogP(), aspirin.TPSA())
	fmt.Printf("QED %.4f, SA %.4f\n", aspirin.QED(), aspirin.SA())
	// Output:
	// CC(=O)Oc1ccccc1C(=O)O
	// C9H8O4 13 heavy atoms
	// weight 180.159, logP 1.3101, TPSA 63.60
	// QED 0.5501, SA 1.5800
}

func ExampleParse_errors() {
	for _, text := range []string{"c1ccccc1C(=O", "CN(C)(C)(C)C", "c1cccc1", ""} {
		_, err := chem.Parse(text)
		fmt.Println(err)
	}
	_, err := chem.Parse("CC(C)X")
	var syntax *chem.SyntaxError
	if errors.As(err, &syntax) {
		fmt.Println("look at byte", syntax.Position)
	}
	// Output:
	// syntax error in "c1ccccc1C(=O" at position 9: a branch that is not closed
	// valence of atom 1 (N) in "CN(C)(C)(C)C": Explicit valence for atom # 1 N, 5, is greater than permitted
	// aromaticity in "c1cccc1": Can't kekulize mol.  Unkekulized atoms: 0 1 2 3 4
	// empty molecule
	// look at byte 5
}

func ExampleEvaluate() {
	smiles := []string{"CCO", "not a molecule", "c1ccccc1O"}
	results, err := chem.Evaluate(context.Background(), smiles, chem.FactQED|chem.FactLogP)
	if err != nil {
		fmt.Println(err) // the context ended
	}
	for i, r := range results {
		if r.Err != nil {
			fmt.Println(smiles[i], "-", r.Err)
			continue
		}
		fmt.Printf("%s QED %.3f\n", r.Molecule, r.Molecule.QED())
	}
	// Output:
	// CCO QED 0.407
	// not a molecule - syntax error in "not a molecule" at position 3: byte 0x20 is not allowed
	// Oc1ccccc1 QED 0.515
}

func ExampleSimilarity() {
	phenol, _ := chem.Parse("Oc1ccccc1")
	anisole, _ := chem.Parse("COc1ccccc1")
	fmt.Printf("%.3f\n", chem.Similarity(phenol, anisole))
	// Output: 0.316
}

func ExampleQuery() {
	acetyl, _ := chem.FragmentQuery("CC(=O)*")
	aspirin, _ := chem.Parse("CC(=O)Oc1ccccc1C(=O)O")
	benzoate, _ := chem.Parse("COC(=O)c1ccccc1")
	for _, m := range []*chem.Molecule{aspirin, benzoate} {
		found, _ := acetyl.In(m)
		fmt.Println(m, found)
	}
	// Output:
	// CC(=O)Oc1ccccc1C(=O)O true
	// COC(=O)c1ccccc1 false
}

func ExamplePNG() {
	caffeine, _ := chem.Parse("Cn1cnc2c1c(=O)n(C)c(=O)n2C")
	png, err := chem.PNG(caffeine, 300, 250)
	fmt.Println(len(png) > 1000, string(png[1:4]), err)
	// Output: true PNG <nil>
}
