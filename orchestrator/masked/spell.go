package masked

import (
	"regexp"
	"strings"
)

var (
	// chiral is a bracket atom with a stereo mark.
	chiral = regexp.MustCompile(`\[(\d*)([A-Za-z][a-z]?)@+(?:[A-Z]{2}\d+)?(H\d*)?([+-]*\d*)(:\d+)?\]`)
	bonds  = strings.NewReplacer("/", "", `\`, "")
)

// flat takes the stereo marks out of a SAFE string and leaves everything else
// where it is, so that the given fragments can be put back as they were written.
// An atom that needed brackets for its mark alone loses them.
func flat(safe string) string {
	return chiral.ReplaceAllStringFunc(bonds.Replace(safe), func(atom string) string {
		m := chiral.FindStringSubmatch(atom)
		isotope, element, hydrogens, charge, label := m[1], m[2], m[3], m[4], m[5]
		if isotope+charge+label == "" && strings.Contains(" C N O S P B ", " "+element+" ") {
			return element
		}
		return "[" + isotope + element + hydrogens + charge + label + "]"
	})
}
