package page

import (
	"regexp"
	"strings"

	"retort/chem"
	"retort/chem/safe"
)

// mask is a mask of the masked API's templates.
var mask = regexp.MustCompile(`\[\*\{[^}]*\}\]`)

// fragments is a pattern of all given fragments of a template: each of them, at atoms of its own. It is nil where the
// template gives none.
func fragments(template string) (*chem.Query, error) {
	var given []string
	for part := range strings.SplitSeq(template, ".") {
		part = strings.TrimSpace(part)
		if part == "" || mask.FindString(part) == part {
			continue
		}
		given = append(given, mask.ReplaceAllString(part, "*"))
	}
	if len(given) == 0 {
		return nil, nil
	}
	joined, err := safe.Decode(strings.Join(given, "."), safe.DecodeOptions{KeepOpen: true})
	if err != nil {
		return nil, err
	}
	return chem.FragmentQuery(joined)
}
