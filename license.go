// Package retort holds what the whole program shares with its repository: the licence.
package retort

import _ "embed"

// License is the text of the licence of this program.
//
//go:embed LICENSE
var License string
