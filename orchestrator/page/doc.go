// Package page serves the web page on the main port: its assets, and the chemistry that a browser lacks.
//
//	GET  /                    the page
//	GET  /page/assets/…       scripts and styles, all from this program
//	GET  /page/apis           the APIs with their models, versions and readiness
//	POST /page/molecules      properties and drawings of molecules, with the difference from a reference marked
//	POST /page/sdf            molecules with properties as an SD file
//
// The page calls the APIs like any client, below their prefixes on the main port, so that no CORS is needed. Its own
// endpoints take keys, permits, deadlines and body limits as all APIs do. docs/use/PAGE.md describes it for users.
//
// assets has plain ES modules and CSS, served as they are: there is no build step. Each view is a module (molecules.js,
// templates.js, retrieval.js, chat.js, scores.js, operators.js). What they share is api.js (requests, keys, streams),
// problems.js (errors beside fields), state.js (the fragment), snippet.js (curl and Python), grid.js, drawing.js and
// chart.js.
// Files are compressed at the first request: 400 kB in all, most of which is the editor, loaded when it is first
// opened.
//
// assets/third_party has two libraries as published on npm, compressed by gzip -9n, with their licences: openchemlib
// 9.25.0 (BSD-3-Clause, dist/openchemlib.js), the editor, and uplot 1.6.32 (MIT, dist/uPlot.iife.min.js and
// uPlot.min.css), the charts.
//
// Texts of users and models are set as text, never as HTML; drawings are <img> elements, whose scripts cannot run.
// chem/rdkit/compare.hpp finds the difference between two molecules in bounded time.
package page
