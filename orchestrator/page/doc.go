// Package page is the page for people on the main port: its assets, and the chemistry that a browser has not.
//
//	GET  /                    the page
//	GET  /page/assets/…       scripts and styles, all from this program
//	GET  /page/apis           what is served: APIs, models and versions, readiness
//	POST /page/molecules      properties and drawings of molecules, with what changed from another one marked
//	POST /page/sdf            molecules with properties as an SD file
//
// The page asks the APIs as any client does, below their prefixes on the main port. README.md tells what it does and
// how it is built.
package page
