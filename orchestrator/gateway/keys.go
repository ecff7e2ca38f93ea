package gateway

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"retort/orchestrator/fault"
	"retort/orchestrator/filewatch"
)

// Keys are the keys that give access to the APIs. They are read from a file with one key a line; empty lines and
// lines that start with # are ignored. Reload replaces them, so that keys can be rotated without a restart.
type Keys struct{ *filewatch.Value[[]digest] }

// digest is the SHA-256 of a key.
type digest [sha256.Size]byte

// ReadKeys reads the keys of a file.
func ReadKeys(path string) (*Keys, error) {
	value, err := filewatch.Read(func() ([]digest, error) { return readDigests(path) })
	return &Keys{value}, err
}

func readDigests(path string) ([]digest, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var digests []digest
	for line := range bytes.Lines(text) {
		if key := bytes.TrimSpace(line); len(key) > 0 && key[0] != '#' {
			digests = append(digests, sha256.Sum256(key))
		}
	}
	if len(digests) == 0 {
		return nil, fmt.Errorf("%s holds no key", path)
	}
	return digests, nil
}

// has reports whether key is one of the keys, in a time that depends neither on key nor on which one it equals.
func (k *Keys) has(key string) bool {
	given := sha256.Sum256([]byte(key))
	found := 0
	for _, digest := range *k.Get() {
		found |= subtle.ConstantTimeCompare(given[:], digest[:])
	}
	return found == 1
}

// authorize refuses requests of clients without a key. Probes and scrapers need none.
func (g *Gateway) authorize(c *fiber.Ctx) error {
	path := c.Path()
	isProbe := strings.HasPrefix(path, "/v1/health/") || slices.Contains(ProbePaths, path)
	if isProbe || path == "/metrics" || path == "/v1/metrics" {
		return c.Next()
	}
	if exchangeOf(c).call != nil {
		return c.Next()
	}
	if f := g.opts.Keys.Check(c); f != nil {
		return f
	}
	return c.Next()
}

// Check returns nil if a request has one of the keys, or if k is nil and none is needed.
func (k *Keys) Check(c *fiber.Ctx) *fault.Error {
	return k.check(keyOf(c), "Authorization: Bearer <key>, or X-Api-Key: <key>")
}

// CheckHeader is Check for the value of the metadata key authorization of a gRPC call.
func (k *Keys) CheckHeader(authorization string) *fault.Error {
	scheme, key, _ := strings.Cut(authorization, " ")
	if !strings.EqualFold(scheme, "bearer") {
		key = ""
	}
	return k.check(strings.TrimSpace(key), "authorization: Bearer <key>, in the metadata of the call")
}

func (k *Keys) check(key, where string) *fault.Error {
	if k == nil || k.has(key) {
		return nil
	}
	return fault.New(fault.Unauthorized, "A valid key is required: %s.", where)
}

// keyHeader has the key of clients that send no bearer key.
const keyHeader = "X-Api-Key"

// keyOf returns the key of a request: its bearer key, else that of keyHeader.
func keyOf(c *fiber.Ctx) string {
	scheme, key, _ := strings.Cut(c.Get(fiber.HeaderAuthorization), " ")
	if !strings.EqualFold(scheme, "bearer") {
		key = c.Get(keyHeader)
	}
	return strings.TrimSpace(key)
}

// Keys of values in the context of a request.
type (
	callerKey struct{}
	viaKey    struct{}
)

// Caller identifies the key of the client by a digest that does not reveal it, "" if no key is needed.
func Caller(ctx context.Context) string {
	caller, _ := ctx.Value(callerKey{}).(string)
	return caller
}

// Via returns the API to whose port or prefix a client sent a request that another gateway serves, or "": see SetVia.
func Via(ctx context.Context) string {
	via, _ := ctx.Value(viaKey{}).(string)
	return via
}

// SetVia sets what Via returns for a request.
func SetVia(c *fasthttp.RequestCtx, api string) { c.SetUserValue(viaKey{}, api) }

// identify adds to ctx what Caller and Via return.
func (g *Gateway) identify(ctx context.Context, c *fiber.Ctx) context.Context {
	if call, _ := callOf(c.Context()); call != nil {
		ctx = context.WithValue(ctx, callerKey{}, call.Caller)
	} else if g.opts.Keys != nil {
		digest := sha256.Sum256([]byte("caller of retort: " + keyOf(c)))
		ctx = context.WithValue(ctx, callerKey{}, hex.EncodeToString(digest[:16]))
	}
	if via, ok := c.Context().UserValue(viaKey{}).(string); ok {
		ctx = context.WithValue(ctx, viaKey{}, via)
	}
	return ctx
}
