// Package console is the web pages of the local CloudFormation: what runs and what failed last, stacks with
// their change sets and drift, requests of Cloud Control, types with their versions
// and registrations, schemas as documentation, reports of tests, and the calls and logs of
// handlers.
//
// The pages are made on the server and say everything without a script. One script of our
// own adds what needs one: pages that follow changes, logs that run on, keys. Nothing is
// loaded from elsewhere, and the Content-Security-Policy forbids it.
//
// Text from a schema, a handler or a caller is untrusted: it is escaped, bounded in length,
// and its links are limited to http and https. A GET never changes anything. Changes need a
// POST from a page of the same origin with a token that only that page knows. With
// Config.SignIn, a browser sees only what its session is for. The server around it decides which
// host names are served.
package console

import (
	"bytes"
	"context"
	"crypto/rand"
	"embed"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/a-h/templ"

	"github.com/formwork-dev/formwork/internal/running/cloudcontrol"
	"github.com/formwork-dev/formwork/internal/running/handlers"
	"github.com/formwork-dev/formwork/internal/running/hook"
	"github.com/formwork-dev/formwork/internal/running/refactor"
	"github.com/formwork-dev/formwork/internal/running/registry"
	"github.com/formwork-dev/formwork/internal/running/stack"
	"github.com/formwork-dev/formwork/internal/running/stackset"
	"github.com/formwork-dev/formwork/internal/services/awswire"
	"github.com/formwork-dev/formwork/internal/services/logs"
)

//go:generate go run github.com/a-h/templ/cmd/templ@v0.3.977 generate -path .

// Prefix is where the console is mounted: it answers this path and all below it.
const Prefix = "/_cfn"

//go:embed assets
var assets embed.FS

// Config sets up a Console. The engines must be set.
type Config struct {
	Registry  *registry.Registry
	Stacks    *stack.Engine
	Refactors *refactor.Engine
	StackSets *stackset.Engine
	Hooks     *hook.Engine
	Requests  *cloudcontrol.Engine // of Cloud Control
	Calls     *handlers.Pool       // of handlers, recorded
	Logs      *logs.Service        // of handlers

	// Places lists the accounts and regions to choose from, in any order. With nil there is only Default.
	Places func(context.Context) ([]awswire.Place, error)

	// Default is the first account and region. Zero is account 000000000000 in us-east-1.
	Default awswire.Place

	// SignIn has browsers sign in, with Token or TokenFor.
	SignIn bool

	// FormKey signs the forms of the pages. Servers that share an address need the
	// same one; nil makes one up, with which forms last until the server ends.
	FormKey []byte

	// MaxStreams is how many pages may follow changes or logs at once; zero means 64. Further
	// ones get an error and retry later.
	MaxStreams int

	// Poll is how often a log that is followed is read; lists of calls are half as often.
	// Zero means half a second.
	Poll time.Duration

	// RefreshInterval is how often a page that follows changes is refreshed without a change:
	// this server is not notified of changes by other servers on the same database. Zero means
	// 10 s.
	RefreshInterval time.Duration

	// TimeScale is what the delays of handlers are divided by. The pages say so if it is more than 1.
	TimeScale float64

	// Docs serves the documentation of this version, whose links are relative. With nil the pages have no
	// links to it.
	Docs http.Handler

	Version string // of the program, for the foot of the pages
	Warning string // for the foot of the pages: what the person at the console should know; may be ""
	Now     func() time.Time
	Random  io.Reader // nil is crypto/rand
	Logger  *slog.Logger
}

// A Console serves the pages. It is safe for concurrent use.
type Console struct {
	config   Config
	routes   *http.ServeMux
	log      *slog.Logger
	key      []byte
	door     *door             // nil if nobody has to sign in
	versions map[string]string // of the assets, for their addresses
	schemas  schemaCache
	streams  chan struct{} // holds one for each stream that is open
	done     context.Context
	close    context.CancelFunc
	closing  sync.Mutex
	open     sync.WaitGroup
}

// New returns the console.
func New(config Config) *Console {
	if config.Default == (awswire.Place{}) {
		config.Default = awswire.Place{Account: "000000000000", Region: "us-east-1"}
	}
	if config.MaxStreams == 0 {
		config.MaxStreams = 64
	}
	if config.Poll == 0 {
		config.Poll = 500 * time.Millisecond
	}
	if config.RefreshInterval == 0 {
		config.RefreshInterval = 10 * time.Second
	}
	if config.Now == nil {
		config.Now = time.Now
	}
	if config.Random == nil {
		config.Random = rand.Reader
	}
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	c := &Console{config: config, log: config.Logger, key: config.FormKey, routes: http.NewServeMux(), streams: make(chan struct{}, config.MaxStreams)}
	if c.key == nil {
		c.key = c.random(32)
	}
	if config.SignIn {
		c.door = &door{token: c.newToken(), now: config.Now}
	}
	c.done, c.close = context.WithCancel(context.Background())
	c.versions = assetVersions()
	c.route()
	return c
}

// Close ends the streams and waits for them. Later requests are answered without live updates.
func (c *Console) Close() {
	c.closing.Lock()
	c.close()
	c.closing.Unlock()
	c.open.Wait()
}

// random never fails: crypto/rand does not, and a source that was passed in must not.
func (c *Console) random(n int) []byte {
	b := make([]byte, n)
	if _, err := io.ReadFull(c.config.Random, b); err != nil {
		panic("console: cannot read random bytes: " + err.Error())
	}
	return b
}

// route maps requests to handlers.
func (c *Console) route() {
	for _, r := range c.table() {
		c.routes.HandleFunc(r.pattern(), r.serve)
	}
	c.routes.Handle(Prefix, http.RedirectHandler(Prefix+"/", http.StatusFound))
}

// A route is a method with a path below the prefix, and what serves it.
type route struct {
	address string
	serve   func(http.ResponseWriter, *http.Request)
}

func (r route) pattern() string {
	method, path, _ := strings.Cut(r.address, " ")
	return method + " " + Prefix + path
}

func (c *Console) table() []route {
	const kindName = "/types/{kind}/{name}"
	return []route{
		{"GET /{$}", c.page(c.showHome)},
		{"GET /types", c.page(c.listTypes)},
		{"GET " + kindName, c.page(c.showType)},
		{"GET " + kindName + "/schema", c.page(c.showSchema)},
		{"GET " + kindName + "/schema.json", c.page(c.sendSchema)},
		{"GET " + kindName + "/compare", c.page(c.compareVersions)},
		{"GET " + kindName + "/calls", c.page(c.typeCalls)},
		{"GET " + kindName + "/logs", c.page(c.typeLogs)},
		{"GET " + kindName + "/results", c.page(c.typeHooks)},
		{"POST " + kindName + "/default", c.page(c.setDefault)},
		{"POST " + kindName + "/test", c.page(c.runTests)},
		{"POST " + kindName + "/deregister", c.page(c.deregister)},
		{"POST " + kindName + "/activate", c.page(c.activate)},
		{"POST " + kindName + "/deactivate", c.page(c.deactivate)},
		{"GET /deploy", c.page(c.showDeploy)},
		{"POST /deploy", c.page(c.deploy)},
		{"GET /stacks", c.page(c.listStacks)},
		{"GET /stacks/events", c.followStacks},
		{"GET /stacks/{stack}", c.page(c.showStack)},
		{"GET /stacks/{stack}/timeline", c.page(c.stackTimeline)},
		{"GET /stacks/{stack}/events", c.page(c.stackEvents)},
		{"GET /stacks/{stack}/outputs", c.page(c.stackOutputs)},
		{"GET /stacks/{stack}/template", c.page(c.stackTemplate)},
		{"GET /stacks/{stack}/changes", c.page(c.stackChanges)},
		{"GET /stacks/{stack}/changes/{set}", c.page(c.showChangeSet)},
		{"POST /stacks/{stack}/changes/{set}/execute", c.page(c.executeChangeSet)},
		{"POST /stacks/{stack}/changes/{set}/delete", c.page(c.deleteChangeSet)},
		{"POST /stacks/{stack}/refactors/{refactor}/execute", c.page(c.executeRefactor)},
		{"GET /stacks/{stack}/drift", c.page(c.stackDrift)},
		{"GET /stacks/{stack}/hooks", c.page(c.stackHooks)},
		{"POST /stacks/{stack}/drift", c.page(c.detectDrift)},
		{"POST /stacks/{stack}/cancel", c.page(c.cancelUpdate)},
		{"POST /stacks/{stack}/continue", c.page(c.continueRollback)},
		{"POST /stacks/{stack}/rollback", c.page(c.rollBack)},
		{"POST /stacks/{stack}/delete", c.page(c.deleteStack)},
		{"GET /stack-sets", c.page(c.listSets)},
		{"GET /stack-sets/events", c.followSets},
		{"GET /stack-sets/{set}", c.page(c.showSet)},
		{"GET /requests", c.page(c.listRequests)},
		{"GET /requests/events", c.followRequests},
		{"GET /registrations", c.page(c.listRegistrations)},
		{"GET /tests", c.page(c.listTests)},
		{"GET /tests/{id}", c.page(c.showTest)},
		{"GET /calls", c.page(c.listCalls)},
		{"GET /calls/events", c.followCalls},
		{"GET /calls/{id}", c.page(c.showCall)},
		{"GET /logs", c.page(c.showLogs)},
		{"GET /logs/events", c.followLogs},
		{"GET /events", c.followChanges},
		{"GET /contract", c.page(c.showContract)},
		{"GET /assets/{file}", c.sendAsset},
		{"GET /docs/", c.sendDocs},
		{"GET /", c.page(c.notFound)},
	}
}

// ServeHTTP answers what is under Prefix.
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	secure(w.Header())
	if why := foreign(r); why != "" {
		http.Error(w, why, http.StatusForbidden)
		return
	}
	if r = c.admit(w, r); r != nil {
		c.routes.ServeHTTP(w, r)
	}
}

// A screen builds the page for a request. A *fault or an *awswire.Error is displayed, any
// other error is logged.
type screen func(w http.ResponseWriter, r *http.Request, p *page) (templ.Component, error)

// page turns a screen into a handler. A screen that returns neither a component nor an
// error has answered by itself.
func (c *Console) page(s screen) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, r *http.Request) {
		p, err := c.newPage(w, r)
		var body templ.Component
		if err == nil && r.Method == http.MethodPost {
			err = c.checkForm(w, r)
		}
		if err == nil {
			body, err = s(w, r, p)
		}
		if err != nil {
			c.fail(w, r, p, err)
			return
		}
		if body != nil {
			p.Help = c.help(p.Section)
			c.render(w, r, p, http.StatusOK, body)
		}
	}
}

// render writes a page whole or not at all.
func (c *Console) render(w http.ResponseWriter, r *http.Request, p *page, status int, body templ.Component) {
	var b bytes.Buffer
	b.Grow(32 << 10)
	if err := p.document(body).Render(r.Context(), &b); err != nil {
		if r.Context().Err() == nil {
			c.log.Error("cannot render a page of the console", "path", r.URL.Path, "error", err)
		}
		http.Error(w, "cannot render the page; see the log of the server", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(visible(b.Bytes())) // the client hung up
}

// caller is who asks the registry on behalf of a page.
func (c *Console) caller(p *page) awswire.Caller {
	return awswire.Caller{Place: p.Place, RequestID: p.requestID}
}
