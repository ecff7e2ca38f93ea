// Reading molecules, and turning what RDKit throws into the statuses of the C face.
#pragma once
// RDConfig.h must come first in every file: it decides the layout of RDKit's query classes
// (RDK_BUILD_THREADSAFE_SSS adds a mutex), and their headers do not include it themselves.
#include <RDGeneral/RDConfig.h>

#include <GraphMol/GraphMol.h>
#include <GraphMol/RWMol.h>

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>

#include "shim.h"

namespace retort {

struct Failure {
  int status = RETORT_FAILED;
  int atom = -1;
  std::string message;
};

// Thrown inside the shim where RDKit itself would return null or go on.
struct Refusal : std::runtime_error {
  int status, atom;
  Refusal(int s, const std::string &why, int a = -1) : std::runtime_error(why), status(s), atom(a) {}
};

// Parses plain SMILES: no name, no CXSMILES extension. Never returns null. Throws a Refusal, whose atom is an index in
// the order written.
std::unique_ptr<RDKit::RWMol> parse(const std::string &smiles, bool remove_hs = true);

// Parses a SMILES other than the caller's, such as an intermediate one: a Refusal names no atom.
std::unique_ptr<RDKit::RWMol> parse_other(const std::string &smiles, bool remove_hs = true);

// Runs work and describes what it threw. True when it threw nothing.
bool guarded(Failure &failure, const std::function<void()> &work);

// The same for the calls that answer with texts: what work appends is the answer.
retort_answer answered(const std::function<void(std::string &)> &work);

// Appends text and the NUL that ends it.
void put(std::string &out, const std::string &text);

// splitmix64: the small seeded generator behind every random choice, equal on all machines.
struct Random {
  uint64_t state;
  uint64_t next();
  uint64_t below(uint64_t n);
};

}  // namespace retort
