package gateway

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/url"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/utils"
	"github.com/valyala/fasthttp"

	"retort/orchestrator/fault"
)

// Lookup is what a request says without a body: in its path and its query.
type Lookup struct{ c *fiber.Ctx }

// Param is a part of the path, unescaped.
func (l Lookup) Param(name string) string {
	text := utils.CopyString(l.c.Params(name))
	if plain, err := url.PathUnescape(text); err == nil {
		return plain
	}
	return text
}

// Query is a member of the query, "" where there is none.
func (l Lookup) Query(name string) string { return utils.CopyString(l.c.Query(name)) }

// Find is an endpoint without a body, of which path and query say something. It takes a permit, as one with a body does.
func Find[Res any](use func(context.Context, Lookup) (Res, error)) fiber.Handler {
	return func(c *fiber.Ctx) error {
		x := exchangeOf(c)
		x.named(c.Route().Path)
		if err := x.admit(c.UserContext(), false); err != nil {
			return err
		}
		markServing(c.Context()) // a body is not read
		res, err := use(c.UserContext(), Lookup{c})
		if err != nil {
			return err
		}
		return send(c, res)
	}
}

// Content is an answer of bytes that are read while they are sent.
type Content struct {
	Type   string // its media type
	Name   string // of the file, for whoever saves it
	Size   int64
	Reader io.Reader
}

// Download is an endpoint that answers with bytes. The exchange ends with the last of them. It takes no permit, which a
// slow client would hold, but a place of those for downloads, and the client has to take it at Options.TransferRate.
func Download(use func(context.Context, Lookup) (Content, error)) fiber.Handler {
	return func(c *fiber.Ctx) error {
		x := exchangeOf(c)
		x.named(c.Route().Path)
		if err := x.transfer(c.UserContext(), x.gateway.downloads); err != nil {
			return err
		}
		content, err := use(c.UserContext(), Lookup{c})
		if err != nil {
			return err
		}
		c.Set(fiber.HeaderXContentTypeOptions, "nosniff")
		c.Attachment(strings.Map(plainName, content.Name))
		c.Set(fiber.HeaderContentType, content.Type) // Attachment guesses one from the name
		x.stream = true
		body := &download{from: content.Reader, exchange: x, pace: x.gateway.pace()}
		c.Context().SetBodyStream(body, int(content.Size))
		return nil
	}
}

// plainName leaves a file's name without what could end its header early.
func plainName(r rune) rune {
	if r < ' ' || r == '"' || r == '\\' || r == 0x7f {
		return '_'
	}
	return r
}

// download ends its exchange when fasthttp closes it, after the last byte or when the client has left.
type download struct {
	from     io.Reader
	exchange *exchange
	pace     pace
}

func (d *download) Read(into []byte) (int, error) {
	if time.Now().After(d.pace.next(0, piecePatience)) {
		d.exchange.err = fault.New(fault.Invalid, "The answer was not taken in time.")
		return 0, d.exchange.err
	}
	n := 0
	err := d.exchange.guard(func() (err error) { // fasthttp reads after the handler has returned, outside its guard
		n, err = d.from.Read(into)
		return err
	})
	d.pace.moved += int64(n)
	if err != nil && err != io.EOF {
		d.exchange.err = d.exchange.gateway.classify(err)
	}
	return n, err
}

func (d *download) Close() error {
	d.exchange.end(fiber.StatusOK, int(d.pace.moved))
	return nil
}

// What a request's context tells of it.
type (
	callerKey struct{}
	viaKey    struct{}
)

// Caller tells the callers with different keys apart, "" where no key is asked for. It is a digest: the key cannot be
// told from it.
func Caller(ctx context.Context) string {
	caller, _ := ctx.Value(callerKey{}).(string)
	return caller
}

// Via is the API by whose port or prefix a request came that another gateway serves, "" for none: see SetVia.
func Via(ctx context.Context) string {
	via, _ := ctx.Value(viaKey{}).(string)
	return via
}

// SetVia has Via return an API's name for this request.
func SetVia(c *fasthttp.RequestCtx, api string) { c.SetUserValue(viaKey{}, api) }

// identified adds to a request's context what Caller and Via return.
func (g *Gateway) identified(ctx context.Context, c *fiber.Ctx) context.Context {
	if g.opts.Keys != nil {
		_, key, _ := strings.Cut(c.Get(fiber.HeaderAuthorization), " ")
		digest := sha256.Sum256([]byte("caller of retort: " + strings.TrimSpace(key)))
		ctx = context.WithValue(ctx, callerKey{}, hex.EncodeToString(digest[:16]))
	}
	if via, ok := c.Context().UserValue(viaKey{}).(string); ok {
		ctx = context.WithValue(ctx, viaKey{}, via)
	}
	return ctx
}
