package lambda

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	runtimePath    = "/2018-06-01/runtime/"
	invocationPath = runtimePath + "invocation/"

	latest = "$LATEST"
)

// runtimeAPI is the Runtime API of this process.
func (p *process) runtimeAPI() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+invocationPath+"next", p.serveNext)
	mux.HandleFunc("POST "+invocationPath+"{id}/response", p.serveResponse)
	mux.HandleFunc("POST "+invocationPath+"{id}/error", p.serveError)
	mux.HandleFunc("POST "+runtimePath+"init/error", p.serveInitError)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		refuse(w, http.StatusNotFound, "NotFound", "the runtime API has no "+r.Method+" "+r.URL.Path)
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// No runtime is a browser: a page must not take an invocation away,
		// even where it cannot read it.
		if r.Host != p.host || fromBrowser(r) {
			refuse(w, http.StatusForbidden, "Forbidden", "this address belongs to a process of the function "+p.config.Name)
			return
		}
		if err := p.checkPeer(r); err != nil {
			p.config.Logger.Warn("a request to the Runtime API was refused", "function", p.config.Name, "error", err)
			refuse(w, http.StatusForbidden, "Forbidden", err.Error())
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// serveNext hands out the next invocation, however long that takes to come.
func (p *process) serveNext(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	busy := p.current != nil
	if !busy && !p.asked {
		p.asked = true
		p.initTime = time.Since(p.started)
		close(p.ready)
	}
	p.mu.Unlock()
	if busy {
		refuse(w, http.StatusForbidden, "InvalidStateTransition", "asked for the next invocation before answering this one")
		return
	}
	var inv *invocation
	select {
	case inv = <-p.jobs:
	case <-p.exited:
		return
	case <-r.Context().Done():
		return
	}
	before := p.output.take()
	p.output.note(startLine(inv.id))
	p.mu.Lock()
	p.current, inv.before = inv, before
	p.mu.Unlock()
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(inv.payload)))
	h.Set("Lambda-Runtime-Aws-Request-Id", inv.id)
	h.Set("Lambda-Runtime-Deadline-Ms", strconv.FormatInt(inv.deadline.UnixMilli(), 10))
	h.Set("Lambda-Runtime-Invoked-Function-Arn", p.config.arn())
	h.Set("Lambda-Runtime-Trace-Id", inv.trace)
	w.Write(inv.payload) // when it has ended, its exit is reported
}

// serveResponse takes the reply to the current invocation.
func (p *process) serveResponse(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	if !p.serving(id) {
		refuseID(w)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxResponseBytes))
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		p.answer(id, outcome{err: &ResponseTooLargeError{
			Function: p.config.Name, RequestID: id, Size: r.ContentLength, Limit: MaxResponseBytes,
		}})
		refuse(w, http.StatusRequestEntityTooLarge, "RequestEntityTooLarge",
			"Exceeded maximum allowed payload size ("+strconv.Itoa(MaxResponseBytes)+" bytes).")
		return
	}
	if err != nil {
		// An incomplete reply does not count. The process may try again, or end.
		refuse(w, http.StatusBadRequest, "InvalidRequest", "the reply broke off")
		return
	}
	result := outcome{payload: body}
	if failure := trailedError(r.Trailer); failure != nil {
		result = outcome{err: newFunctionError(p.config.Name, id, failure)}
	}
	p.accept(w, id, result)
}

// trailedError is the error of a function that failed while it streamed its
// reply, nil if it did not.
func trailedError(trailer http.Header) []byte {
	kind := trailer.Get("Lambda-Runtime-Function-Error-Type")
	if kind == "" {
		return nil
	}
	document, err := base64.StdEncoding.DecodeString(trailer.Get("Lambda-Runtime-Function-Error-Body"))
	if err != nil || len(document) == 0 {
		document, _ = json.Marshal(map[string]string{"errorType": kind}) // strings only
	}
	return document
}

// serveError takes the report that the current invocation failed.
func (p *process) serveError(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	if !p.serving(id) {
		refuseID(w)
		return
	}
	failure, err := readFailure(p.config.Name, id, r)
	if err != nil {
		refuse(w, http.StatusBadRequest, "InvalidRequest", "the error report broke off")
		return
	}
	p.accept(w, id, outcome{err: failure})
}

// serveInitError takes the report that the process cannot serve at all.
func (p *process) serveInitError(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	asked := p.asked
	p.mu.Unlock()
	failure, err := readFailure(p.config.Name, "", r)
	switch {
	case err != nil:
		refuse(w, http.StatusBadRequest, "InvalidRequest", "the error report broke off")
		return
	case asked:
		refuse(w, http.StatusForbidden, "InvalidStateTransition", "reported a failed start after asking for an invocation")
		return
	}
	failure.Init, failure.Note = true, strings.TrimPrefix(strings.Join(append([]string{p.config.Note}, p.config.unseen()...), "; "), "; ")
	select {
	case p.failed <- failure:
	default: // the first report counts
	}
	accepted(w)
}

func readFailure(function, id string, r *http.Request) (*FunctionError, error) {
	document, err := io.ReadAll(io.LimitReader(r.Body, maxErrorBytes))
	if err != nil {
		return nil, err
	}
	failure := newFunctionError(function, id, document)
	if failure.Type == "" {
		failure.Type = r.Header.Get("Lambda-Runtime-Function-Error-Type")
	}
	if len(document) == 0 {
		failure.Payload, _ = json.Marshal(map[string]string{"errorType": failure.Type, "errorMessage": ""}) // strings only
	}
	return failure, nil
}

// serving reports whether id is the current invocation.
func (p *process) serving(id string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.current != nil && p.current.id == id
}

// answer ends the current invocation, and reports whether id was it.
func (p *process) answer(id string, result outcome) bool {
	p.mu.Lock()
	inv := p.current
	if inv == nil || inv.id != id {
		p.mu.Unlock()
		return false
	}
	p.current = nil
	p.mu.Unlock()
	result.log = p.output.take()
	inv.done <- result
	return true
}

func (p *process) accept(w http.ResponseWriter, id string, result outcome) {
	if !p.answer(id, result) {
		refuseID(w)
		return
	}
	accepted(w)
}

func accepted(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusAccepted)
	io.WriteString(w, `{"status":"OK"}`)
}

func refuseID(w http.ResponseWriter) {
	refuse(w, http.StatusBadRequest, "InvalidRequestID", "Invalid request ID")
}

// refuse answers with an error as the Runtime API writes them.
func refuse(w http.ResponseWriter, status int, kind, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	text, _ := json.Marshal(map[string]string{"errorType": kind, "errorMessage": message}) // strings only
	w.Write(text)
}

// fromBrowser reports whether a page in a browser caused the request.
func fromBrowser(r *http.Request) bool {
	return r.Header.Get("Origin") != "" || r.Header.Get("Sec-Fetch-Site") != ""
}
