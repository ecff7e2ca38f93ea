package safe_test

import (
	"fmt"

	"retort/chem/safe"
)

func ExampleEncode() {
	ibuprofenAmide := "CC(C)Cc1ccc(cc1)C(C)C(=O)NC1CC1"
	encoded, _ := safe.Encode(ibuprofenAmide, safe.EncodeOptions{})
	brackets, _ := safe.Encode(ibuprofenAmide, safe.EncodeOptions{Brackets: true})
	fmt.Println(encoded)
	fmt.Println(brackets)
	back, _ := safe.Decode(brackets, safe.DecodeOptions{})
	fmt.Println(back)
	// Output:
	// c15ccc6cc1.C6(C)C3=O.CC(C)C5.C14CC1.N34
	// c1<3>ccc<4>cc1.C<4>(C)C<1>=O.CC(C)C<3>.C1<2>CC1.N<1><2>
	// CC(C)Cc1ccc(C(C)C(=O)NC2CC2)cc1
}

func ExampleEncode_openPositions() {
	encoded, _ := safe.Encode("[1*]c1ccccc1.[2*]C(=O)N", safe.EncodeOptions{Slicer: safe.Whole})
	fmt.Println(encoded)
	open, _ := safe.Decode(encoded, safe.DecodeOptions{KeepOpen: true})
	fmt.Println(open)
	closed, _ := safe.Decode(encoded, safe.DecodeOptions{})
	fmt.Println(closed)
	// Output:
	// c12ccccc1.C3(N)=O
	// [2*]c1ccccc1.[3*]C(N)=O
	// NC=O.c1ccccc1
}

func ExampleDecode_repair() {
	damaged := "c17ccccc1.C7=O.C(("
	_, err := safe.Decode(damaged, safe.DecodeOptions{})
	fmt.Println(err)
	smiles, _ := safe.Decode(damaged, safe.DecodeOptions{Repair: true})
	fmt.Println(smiles)
	// Output:
	// syntax error in "c17ccccc1.C7=O.C((" at position 17: a branch without an atom before it
	// O=Cc1ccccc1
}
