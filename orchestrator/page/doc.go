// Package page serves the web page on the main port: its assets, and the chemistry that a browser lacks.
//
//	GET  /                    the page
//	GET  /page/assets/…       scripts and styles, all from this program
//	GET  /page/apis           the APIs with their models, versions and readiness
//	POST /page/molecules      properties and drawings of molecules, with the difference from a reference marked
//	POST /page/sdf            molecules with properties as an SD file
//
// The page calls the APIs like any client, below their prefixes on the main port. README.md describes the page and its
// code.
package page
