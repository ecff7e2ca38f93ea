"""The mix of training molecules of the latent model. Run by `make test-train`."""

from collections import Counter

import numpy as np
import pytest
from rdkit import Chem

from scripts.train import batches
from scripts.train.latent import corpus, variants
from scripts.train.latent.corpus import Corpus
from scripts.train.latent.tokens import Vocabulary, split

COMMON = ["CC(=O)Oc1ccccc1C(=O)O", "OCCOCCN", "c1ccc(-c2ccccc2)cc1", "CCCCCCCCCO"]
RARE = "OB(O)c1ccccc1"


def test_rare_tokens_and_extreme_sizes_weigh_more():
    rows = [split(smiles) for smiles in [*COMMON, RARE, "CO", "C" * 80]]
    counts = Counter({token: corpus.COMMON for row in rows for token in row})
    counts["B"] = corpus.COMMON // 4
    assert corpus.weights(rows, counts).tolist() == [1, 2, 1, 2, 2, 2, 1.5]
    counts["B"] = 1
    assert corpus.weights(rows, counts)[4] == corpus.MAX_WEIGHT


def test_copies_add_up_to_the_rows_and_follow_the_weights():
    times = corpus.copies(np.array([1.0] * 900 + [8.0] * 100), 850, np.random.default_rng(0))
    assert abs(times.sum() - 850) < 60  # 4 standard deviations
    assert set(times[900:]) == {4} and set(times[:900]) == {0, 1}


def test_a_pass_has_the_shares_of_its_sources():
    molecules, times = corpus.mix([(COMMON * 50, 0.75), ([RARE], 0.25)], seed=1, total=1000)
    assert molecules[-1] == RARE and abs(times.sum() - 1000) < 20
    assert times[-1] == pytest.approx(250, abs=1)


def test_a_corpus_repeats_each_molecule_the_given_number_of_times(tmp_path):
    vocabulary = Vocabulary.build([*COMMON, RARE], 10)
    built = Corpus.build([*COMMON, RARE], vocabulary, np.array([1, 0, 2, 1, 3]))
    built.save(tmp_path / "corpus.npz")
    for rows in (built, Corpus.load(tmp_path / "corpus.npz")):
        texts = [vocabulary.decode(rows[i]) for i in range(len(rows))]
        assert texts == [COMMON[0], COMMON[2], COMMON[2], COMMON[3], RARE, RARE, RARE]
        assert rows.lengths().tolist() == [len(rows[i]) for i in range(len(rows))]


def test_labelled_molecules_differ_only_in_isotopes():
    labelled = variants.with_isotopes(COMMON * 20, np.random.default_rng(0))
    assert len(labelled) == 80
    found: Counter = Counter()
    for smiles in labelled:
        molecule = Chem.MolFromSmiles(smiles)
        assert Chem.MolToSmiles(molecule) == smiles
        found.update((atom.GetSymbol(), atom.GetIsotope()) for atom in molecule.GetAtoms() if atom.GetIsotope())
        for atom in molecule.GetAtoms():
            atom.SetIsotope(0)
        assert Chem.MolToSmiles(Chem.RemoveHs(molecule)) in {Chem.CanonSmiles(s) for s in COMMON}
    assert found["H", 2] > found["H", 3] > 0 and found["C", 13] > 0 and found["O", 18] > 0


def test_another_ion_replaces_all_ions_of_a_kind():
    salt = "O=C([O-])CC(=O)[O-].[Na+].[Na+]"
    salts = {s for seed in range(20) for s in variants.with_other_ions([salt, "CCO"], np.random.default_rng(seed))}
    assert len(salts) > 3 and salt not in salts
    for smiles in salts:
        parts = smiles.split(".")
        ions = [part for part in parts if "CC" not in part]
        assert len(ions) == 2 and ions[0] == ions[1] and ions[0] in variants.IONS["[Na+]"]


def test_rows_are_padded_to_few_widths():
    rows = [np.array([7, 8, 9, 9]), np.array([7])]
    assert batches.pad(rows, 0, 3).tolist() == [[7, 8, 9, 9, 0, 0], [7, 0, 0, 0, 0, 0]]
    assert batches.pad(rows, 0, 3, over=1).tolist() == [[7, 8, 9, 9], [7, 0, 0, 0]]
