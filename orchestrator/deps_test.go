package main

import (
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// arrows says which packages of this module each package may import. A package that is absent here may not exist.
var arrows = map[string][]string{
	"orchestrator":            {"*"},
	"orchestrator/fault":      {},
	"orchestrator/wire":       {},
	"orchestrator/telemetry":  {},
	"orchestrator/cmaes":      {},
	"orchestrator/memory":     {"orchestrator/fault"},
	"orchestrator/unfinished": {"orchestrator/fault"},
	"orchestrator/gateway": {
		"orchestrator/fault", "orchestrator/filewatch", "orchestrator/gateway/admission", "orchestrator/gateway/bind",
		"orchestrator/gateway/description", "orchestrator/gateway/httpserver", "orchestrator/memory",
		"orchestrator/provenance", "orchestrator/telemetry", "orchestrator/unfinished",
	},
	"orchestrator/gateway/admission":   {"orchestrator/fault"},
	"orchestrator/gateway/bind":        {"orchestrator/fault", "orchestrator/wire"},
	"orchestrator/gateway/description": {},
	"orchestrator/gateway/httpserver":  {"orchestrator/fault", "orchestrator/memory", "orchestrator/telemetry"},
	"orchestrator/dialect":             {"orchestrator/fault", "orchestrator/gateway"},
	"orchestrator/teigrpc": {"orchestrator/fault", "orchestrator/memory",
		"orchestrator/teigrpc/teipb"},
	"orchestrator/teigrpc/teipb": {},
	"orchestrator/nimgrpc":       {"orchestrator/fault", "orchestrator/teigrpc", "orchestrator/triton/inferencepb"},
	"orchestrator/dialect/teibase": {
		"orchestrator/dialect", "orchestrator/encoder", "orchestrator/fault", "orchestrator/gateway",
		"orchestrator/gateway/bind", "orchestrator/wire",
	},
	"orchestrator/triton": {"orchestrator/fault", "orchestrator/telemetry",
		"orchestrator/triton/inferencepb"},
	"orchestrator/triton/batching":    {"orchestrator/fault", "orchestrator/telemetry"},
	"orchestrator/triton/discovery":   {"orchestrator/fault", "orchestrator/triton"},
	"orchestrator/triton/inferencepb": {},
	"orchestrator/triton/tritontest": {"orchestrator/fault", "orchestrator/triton", "orchestrator/triton/discovery",
		"orchestrator/triton/inferencepb"},
	"orchestrator/encoder": {"orchestrator/fault", "orchestrator/telemetry", "orchestrator/triton",
		"orchestrator/triton/batching", "tokenizers"},
	"orchestrator/calibration":         {},
	"orchestrator/embedding":           api("orchestrator/calibration", "orchestrator/dialect", "orchestrator/encoder"),
	"orchestrator/ranking":             api("orchestrator/calibration", "orchestrator/dialect", "orchestrator/encoder"),
	"orchestrator/ranking/rerank":      append(textInterface("orchestrator/ranking"), "orchestrator/calibration"),
	"orchestrator/embedding/tei":       textInterface("orchestrator/embedding"),
	"orchestrator/jobs":                {"orchestrator/fault", "orchestrator/jobs/queue"},
	"orchestrator/jobs/queue":          {},
	"orchestrator/jobs/queue/natstest": {},
	"orchestrator/jobs/batch": {"orchestrator/dialect", "orchestrator/fault", "orchestrator/gateway",
		"orchestrator/gateway/bind", "orchestrator/jobs", "orchestrator/jobs/queue", "orchestrator/memory",
		"orchestrator/unfinished"},
	"orchestrator/jobs/responses": {"orchestrator/fault", "orchestrator/jobs", "orchestrator/jobs/queue",
		"orchestrator/memory"},
	"orchestrator/jobs/optimization": {"orchestrator/fault", "orchestrator/gateway", "orchestrator/jobs",
		"orchestrator/jobs/queue", "orchestrator/unfinished", "orchestrator/wire"},
	"orchestrator/client": {"orchestrator/provenance"},
	"orchestrator/command": {"chem", "orchestrator/calibration", "orchestrator/client", "orchestrator/embedding",
		"orchestrator/inputfile", "orchestrator/modelcalibrate", "orchestrator/modelcheck", "orchestrator/modelimport", "orchestrator/provenance",
		"orchestrator/ranking", "orchestrator/triton"},
	"orchestrator/modelcalibrate": {"orchestrator/calibration", "orchestrator/embedding", "orchestrator/ranking",
		"orchestrator/triton", "orchestrator/triton/batching", "orchestrator/triton/discovery"},
	"orchestrator/modelcheck": {
		"chem", "chem/safe", "orchestrator/chat", "orchestrator/embedding", "orchestrator/fault", "orchestrator/latent",
		"orchestrator/latent/search", "orchestrator/masked", "orchestrator/objective", "orchestrator/oracle",
		"orchestrator/ranking", "orchestrator/triton", "orchestrator/triton/batching",
		"orchestrator/triton/discovery",
	},
	"orchestrator/settings":  {},
	"orchestrator/filewatch": {},
	"orchestrator/inputfile": {},
	"orchestrator/mcp":       {"chem", "orchestrator/fault", "orchestrator/gateway"},
	"orchestrator/page": {"chem", "chem/safe", "orchestrator/fault", "orchestrator/gateway",
		"orchestrator/gateway/bind"},
	"orchestrator/manifest":   {"orchestrator/triton"},
	"orchestrator/provenance": {},
	"orchestrator/modelimport": {"chem", "orchestrator/chat/engine", "orchestrator/chat/prompt",
		"orchestrator/chat/tools", "orchestrator/encoder", "orchestrator/inputfile",
		"orchestrator/masked", "orchestrator/modelimport/onnxpb", "orchestrator/ranking", "orchestrator/triton",
		"scripts/convert/published", "tokenizers"},
	"orchestrator/modelimport/onnxpb": {},
	"orchestrator/objective":          {"chem", "chem/synthesis", "orchestrator/fault", "orchestrator/wire"},
	"orchestrator/oracle": {"chem", "orchestrator/fault", "orchestrator/objective", "orchestrator/triton",
		"orchestrator/triton/batching", "orchestrator/triton/discovery"},
	"orchestrator/latent": api("chem/synthesis", "orchestrator/latent/search", "orchestrator/objective",
		"orchestrator/oracle", "orchestrator/unfinished"),
	"orchestrator/latent/search":     {"chem", "chem/cores", "chem/smiles", "orchestrator/cmaes"},
	"orchestrator/latent/search/toy": {"chem", "orchestrator/latent/search"},
	"orchestrator/masked":            api("chem/synthesis", "orchestrator/objective", "orchestrator/oracle", "orchestrator/unfinished"),
	"orchestrator/chat": api("orchestrator/chat/engine", "orchestrator/chat/prompt", "orchestrator/chat/tools",
		"orchestrator/chat/vision"),
	"orchestrator/chat/engine":    {"orchestrator/chat/vision", "orchestrator/fault", "orchestrator/triton"},
	"orchestrator/chat/anthropic": chatInterface,
	"orchestrator/chat/openai":    append([]string{"orchestrator/telemetry"}, chatInterface...),
	"orchestrator/chat/stack":     chatInterface,
	"orchestrator/chat/tools":     {"orchestrator/chat/engine"},
	"orchestrator/chat/prompt":    {"tokenizers/template"},
	"orchestrator/chat/vision":    {"orchestrator/fault", "orchestrator/memory"},
	"chem":                        {"chem/cores", "chem/rdkit", "chem/smiles"},
	"chem/cores":                  {},
	"chem/cores/corestest":        {"chem/cores"},
	"chem/safe":                   {"chem", "chem/rdkit", "chem/smiles"},
	"chem/smiles":                 {},
	"chem/synthesis":              {"chem", "chem/cores", "chem/rdkit", "chem/smiles"},
	"chem/rdkit":                  {},
	"chem/rdkit/rdkittest":        {},
	"tokenizers":                  {},
	"tokenizers/molecules":        {"chem/smiles"},
	"tokenizers/template":         {},
}

// chatInterface is what each documented interface of the chat API may import.
var chatInterface = []string{
	"orchestrator/chat", "orchestrator/chat/engine", "orchestrator/chat/tools", "orchestrator/fault",
	"orchestrator/gateway", "orchestrator/gateway/bind", "orchestrator/wire",
}

// textInterface is what another published interface of the embedding or the ranking API may import.
func textInterface(api string) []string {
	return []string{
		api, "orchestrator/dialect", "orchestrator/dialect/teibase", "orchestrator/encoder", "orchestrator/fault", "orchestrator/gateway",
		"orchestrator/gateway/bind", "orchestrator/wire",
	}
}

// api is what every documented API may import: shared packages, never another API.
func api(more ...string) []string {
	return append([]string{
		"orchestrator/fault", "orchestrator/wire", "orchestrator/telemetry", "orchestrator/gateway",
		"orchestrator/gateway/bind",
		"orchestrator/triton", "orchestrator/triton/batching", "orchestrator/triton/discovery",
		"chem", "chem/cores", "chem/safe", "chem/smiles", "tokenizers", "tokenizers/molecules",
	}, more...)
}

func TestArrows(t *testing.T) {
	packages := packageImports(t)
	for name := range arrows {
		if _, exists := packages[name]; !exists {
			t.Errorf("package %s of the table of arrows does not exist", name)
		}
	}
	for name, imports := range packages {
		allowed, known := arrows[name]
		if !known {
			if !strings.HasPrefix(name, "scripts/") {
				t.Errorf("package %s is not in the table of arrows", name)
			}
			continue
		}
		for _, to := range imports {
			if !slices.Contains(allowed, to) && !slices.Contains(allowed, "*") {
				t.Errorf("%s imports %s, which the table of arrows does not allow", name, to)
			}
		}
	}
}

// TestPackagesAreDocumented compares the packages of ARCHITECTURE.md with those of the table of arrows.
func TestPackagesAreDocumented(t *testing.T) {
	text, err := os.ReadFile("ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), "\n| area | package | contents |\n")
	table, _, _ := strings.Cut(after, "\n\n")
	var documented []string
	for row := range strings.Lines(table) {
		for _, name := range regexp.MustCompile("`([a-z/]+)`").FindAllStringSubmatch(strings.Split(row, "|")[2], -1) {
			if _, known := arrows[name[1]]; known {
				documented = append(documented, name[1])
			} else {
				documented = append(documented, "orchestrator/"+name[1])
			}
		}
	}
	slices.Sort(documented)
	if diff := cmp.Diff(slices.Sorted(maps.Keys(arrows)), documented); diff != "" {
		t.Errorf("the packages of ARCHITECTURE.md differ (-arrows +documented):\n%s", diff)
	}
}

// TestBorders holds HTTP, gRPC and C, and the gateway's own code, to the files they belong to.
func TestBorders(t *testing.T) {
	allowed := map[string]func(file string) bool{
		"github.com/gofiber/fiber/v2": func(f string) bool {
			return strings.HasPrefix(f, "orchestrator/gateway/") || path.Base(f) == "routes.go" ||
				path.Dir(f) == "orchestrator"
		},
		"retort/orchestrator/gateway": func(f string) bool {
			isGateway := strings.HasPrefix(f, "orchestrator/gateway/") || strings.HasPrefix(f, "orchestrator/dialect/")
			return isGateway || path.Base(f) == "routes.go" || path.Base(f) == "api.go" || path.Dir(f) == "orchestrator"
		},
		// Package fleet stands in for many Tritons in two benchmarks.
		"google.golang.org/grpc": func(f string) bool {
			return strings.HasPrefix(f, "orchestrator/triton/") || strings.HasPrefix(f, "orchestrator/teigrpc/") ||
				strings.HasPrefix(f, "orchestrator/nimgrpc/") ||
				f == "scripts/bench/fleet/fleet.go"
		},
		"C": func(f string) bool { return strings.HasPrefix(f, "chem/rdkit/") },
	}
	for file, imports := range fileImports(t) {
		for _, to := range imports {
			for library, mayImport := range allowed {
				if (to == library || strings.HasPrefix(to, library+"/")) && !mayImport(file) {
					t.Errorf("%s imports %s", file, to)
				}
			}
		}
	}
}

// packageImports lists the packages of this module that each package imports.
func packageImports(t *testing.T) map[string][]string {
	packages := map[string][]string{}
	for file, imports := range fileImports(t) {
		name := path.Dir(file)
		packages[name] = append(packages[name], nil...)
		for _, to := range imports {
			if inModule, ok := strings.CutPrefix(to, "retort/"); ok {
				packages[name] = append(packages[name], inModule)
			}
		}
	}
	return packages
}

// fileImports lists the imports of every Go file that is not a test.
func fileImports(t *testing.T) map[string][]string {
	files := map[string][]string{}
	err := filepath.WalkDir("..", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := d.Name()
		if d.IsDir() && base != ".." &&
			(strings.HasPrefix(base, ".") || base == "testdata" || base == "runs" || base == "build") {
			return fs.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(base, ".go") || strings.HasSuffix(base, "_test.go") {
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		file := filepath.ToSlash(strings.TrimPrefix(name, ".."+string(filepath.Separator)))
		files[file] = nil
		for _, spec := range parsed.Imports {
			to, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			files[file] = append(files[file], to)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 20 {
		t.Fatalf("only %d Go files were found", len(files))
	}
	return files
}
