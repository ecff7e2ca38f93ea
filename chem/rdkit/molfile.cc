// Reads molecules in MDL's format. They are written in depict.cc.
#include "molecule.h"

#include <GraphMol/FileParsers/FileParsers.h>
#include <GraphMol/SmilesParse/SmilesWrite.h>
#include <RDGeneral/FileParseException.h>

#include "molfile.h"

extern "C" retort_answer retort_read_molfile(const char *block, size_t size) {
  return retort::answered([&](std::string &out) {
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
