package gateway

import (
	"context"
	"errors"
	"reflect"
	"runtime"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/utils"
	"golang.org/x/sync/semaphore"

	"retort/orchestrator/fault"
	"retort/orchestrator/memory"
	"retort/orchestrator/provenance"
)

// manifestWeight is memory.BodyWeight for a request whose answer may have a manifest, which repeats the body.
const manifestWeight = 2 * memory.BodyWeight

// digests bounds the large answers whose digests are computed at once. A digest takes one core, and a few times the
// memory of its answer, which is not in the memory budget.
var digests = semaphore.NewWeighted(int64(runtime.GOMAXPROCS(0)))

// bodyWeight returns the memory that a byte of a body takes, given the type of the request that it will be decoded to.
func bodyWeight(c *fiber.Ctx, request reflect.Type) int {
	if c.Get(provenance.Header) == "true" || provenance.CanAsk(request) {
		return manifestWeight
	}
	return memory.BodyWeight
}

// startManifest starts the manifest of the answer if the request asks for one. It draws the request's seed. request is
// a pointer to the struct that body was decoded into.
func (x *exchange) startManifest(c *fiber.Ctx, body []byte, request any) (err error) {
	switch value := c.Get(provenance.Header); value {
	case "true":
	case "", "false":
		if !provenance.IsWanted(request) {
			return nil
		}
	default:
		return fault.Field("value_error", utils.CopyString(value), []any{provenance.Header},
			"Value error, %s should be true or false", provenance.Header)
	}
	if x.gateway.opts.Identify == nil || x.call.isValidateOnly() {
		return nil
	}
	m := &provenance.Manifest{Format: provenance.Format, API: x.request.API, Path: x.route}
	if strings.ContainsAny(x.route, "+*:") { // a pattern
		m.Path = x.path
	}
	if x.call != nil && x.call.ManifestPath != "" {
		m.Path = x.call.ManifestPath
	}
	if x.dialect == nil || !strings.HasPrefix(m.Path, versionPrefix+"/") { // else a path of the main port
		m.Path = "/" + m.API + m.Path
	}
	m.Request, err = provenance.Complete(body, request)
	x.manifest = m
	return err
}

// encodeWithManifest encodes an answer with its manifest.
func (x *exchange) encodeWithManifest(ctx context.Context, answer any) ([]byte, error) {
	text, err := json.Marshal(answer, json.Deterministic(true))
	if err != nil {
		return nil, err
	}
	m := *x.manifest
	m.Unfinished = string(x.unfinished)
	m.Evaluations = x.request.Evaluations()
	m.Models, m.Software = x.gateway.opts.Identify(ctx, x.request.ModelRows())
	if len(text) > memory.SmallBody {
		if err := digests.Acquire(ctx, 1); err != nil {
			return nil, err
		}
		defer digests.Release(1)
	}
	text, err = m.Attach(text)
	if errors.Is(err, provenance.ErrNoObject) {
		return nil, refuseManifest("is not for this endpoint, whose answer is no object")
	}
	return text, err
}

func refuseManifest(why string) *fault.Error {
	return fault.Field("value_error", true, []any{provenance.Header}, "Value error, %s %s", provenance.Header, why)
}
