// Package published embeds the Python program that runs published models with their own code.
package published

import _ "embed"

// Program is published.py, whose first lines say how to run it.
//
//go:embed published.py
var Program []byte
