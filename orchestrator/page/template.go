package page

import (
	"regexp"
	"strings"

	"retort/chem"
	"retort/chem/safe"
)

// mask matches a mask of the masked API's templates.
var mask = regexp.MustCompile(`\[\*\{[^}]*\}\]`)

// fragments returns a query for all fragments of a template, each at different atoms. It is nil if the template has
// none.
func fragments(template string) (*chem.Query, error) {
	var parts []string
	for part := range strings.SplitSeq(template, ".") {
		part = strings.TrimSpace(part)
		if part == "" || mask.FindString(part) == part {
			continue
		}
		parts = append(parts, mask.ReplaceAllString(part, "*"))
	}
	if len(parts) == 0 {
		return nil, nil
	}
	joined, err := safe.Decode(strings.Join(parts, "."), safe.DecodeOptions{KeepOpen: true})
	if err != nil {
		return nil, err
	}
	return chem.FragmentQuery(joined)
}
