// Mol blocks, MDL's format of molecules: the records of an SD file.
#include "molecule.h"

#include <GraphMol/Depictor/RDDepictor.h>
#include <GraphMol/FileParsers/FileParsers.h>
#include <GraphMol/SmilesParse/SmilesWrite.h>
#include <RDGeneral/FileParseException.h>

extern "C" retort_answer retort_read_molfile(const char *block, size_t size) {
  return retort::respond([&](std::string &out) {
    std::unique_ptr<RDKit::RWMol> mol;
    try {
      mol.reset(RDKit::MolBlockToMol(std::string(block, size)));
    } catch (const RDKit::FileParseException &e) {
      throw retort::Refusal(RETORT_REFUSED, e.what());
    }
    if (!mol) throw retort::Refusal(RETORT_REFUSED, "not a mol block");
    if (mol->getNumAtoms() == 0) throw retort::Refusal(RETORT_EMPTY, "no atoms");
    out = RDKit::MolToSmiles(*mol);
  });
}

extern "C" retort_answer retort_molblock(const char *smiles, size_t size) {
  return retort::respond([&](std::string &out) {
    auto mol = retort::parse(std::string(smiles, size));
    RDDepict::compute2DCoords(*mol, nullptr, true);
    out = RDKit::MolToMolBlock(*mol);
  });
}
