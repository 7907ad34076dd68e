// Command ledger is the handler of Formwork::Test::Thing. Its things are files in the folder
// of LEDGER, and every side effect is a line of JSON in the file journal there, synced before
// the call is answered: it survives whatever happens to the server.
//
// A create or update takes three calls and a delete takes two. A call that is repeated with the
// token of an earlier one does nothing again, as the handler contract asks for.
package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// A line of the journal.
type line struct {
	At                 int64 // nanoseconds
	Node               string
	Token, Action      string
	Stack, Logical, ID string
	Effect             string // begin, made, changed, deleted, end
	Status             string // of an end
	Note               string // of what was made or changed
}

// A thing is a file.
type thing struct{ ID, Stack, Logical, Name, Note string }

type event struct {
	Action          string
	BearerToken     string
	StackID         string
	CallbackContext struct{ Step int }
	RequestData     struct {
		LogicalResourceID  string
		ResourceProperties map[string]any
	}
}

func main() {
	api := "http://" + os.Getenv("AWS_LAMBDA_RUNTIME_API") + "/2018-06-01/runtime/invocation/"
	for {
		next, err := http.Get(api + "next")
		if err != nil {
			return // the server has ended
		}
		var e event
		err = json.NewDecoder(next.Body).Decode(&e)
		next.Body.Close()
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		reply, err := json.Marshal(handle(e))
		if err != nil {
			panic(err)
		}
		answer, err := http.Post(api+next.Header.Get("Lambda-Runtime-Aws-Request-Id")+"/response", "application/json", bytes.NewReader(reply))
		if err != nil {
			return
		}
		_, _ = io.Copy(io.Discard, answer.Body)
		answer.Body.Close()
	}
}

// A call is one call of the handler.
type call struct {
	dir   string
	event event
	id    string
	model map[string]any
}

func handle(e event) map[string]any {
	c := &call{dir: os.Getenv("LEDGER"), event: e, model: e.RequestData.ResourceProperties}
	if c.model == nil {
		c.model = map[string]any{}
	}
	c.id = c.text("Id")
	if c.id == "" { // of a create
		sum := sha256.Sum256([]byte(e.BearerToken))
		c.id = strings.ToLower(e.RequestData.LogicalResourceID) + "-" + hex.EncodeToString(sum[:6])
	}
	c.write("begin", "")
	if e.Action != "READ" {
		time.Sleep(3 * time.Millisecond) // so that servers die while it runs
	}
	reply := map[string]func(*call) map[string]any{"CREATE": (*call).create, "READ": (*call).read, "UPDATE": (*call).update, "DELETE": (*call).remove}[e.Action](c)
	c.write("end", fmt.Sprint(reply["status"]))
	return reply
}

func (c *call) text(name string) string {
	s, _ := c.model[name].(string)
	return s
}

func (c *call) file() string { return filepath.Join(c.dir, "things", c.id) }

func (c *call) create() map[string]any {
	trouble := c.text("Trouble")
	if c.event.CallbackContext.Step == 0 {
		if trouble == "create" {
			return failed("GeneralServiceException", "no thing can be made")
		}
		data, err := json.Marshal(thing{c.id, c.event.StackID, c.event.RequestData.LogicalResourceID, c.text("Name"), c.text("Note")})
		if err != nil {
			panic(err)
		}
		// By link, so that the file is whole when it is there, and only one is made of a token.
		own := filepath.Join(c.dir, fmt.Sprintf("new-%d-%s", os.Getpid(), c.id))
		if err := os.WriteFile(own, data, 0o600); err != nil {
			panic(err)
		}
		switch err := os.Link(own, c.file()); {
		case err == nil:
			c.write("made", "")
		case !errors.Is(err, fs.ErrExist):
			panic(err)
		}
		os.Remove(own)
	}
	if trouble == "create-late" && c.event.CallbackContext.Step == 1 {
		return failed("GeneralServiceException", "the thing does not become stable")
	}
	return c.step(3)
}

func (c *call) read() map[string]any {
	found, ok := c.find()
	if !ok {
		return failed("NotFound", "there is no such thing")
	}
	model := map[string]any{"Id": found.ID}
	if found.Name != "" {
		model["Name"] = found.Name
	}
	if found.Note != "" {
		model["Note"] = found.Note
	}
	return map[string]any{"status": "SUCCESS", "resourceModel": model}
}

func (c *call) update() map[string]any {
	found, ok := c.find()
	if !ok {
		return failed("NotFound", "there is no such thing")
	}
	if c.event.CallbackContext.Step == 0 {
		found.Note = c.text("Note")
		data, err := json.Marshal(found)
		if err != nil {
			panic(err)
		}
		own := filepath.Join(c.dir, fmt.Sprintf("new-%d-%s", os.Getpid(), c.id))
		if err := errors.Join(os.WriteFile(own, data, 0o600), os.Rename(own, c.file())); err != nil {
			panic(err)
		}
		c.write("changed", "")
	}
	if c.text("Trouble") == "update" && c.event.CallbackContext.Step == 1 {
		return failed("GeneralServiceException", "the thing cannot be changed")
	}
	return c.step(3)
}

func (c *call) remove() map[string]any {
	if c.event.CallbackContext.Step == 0 {
		err := os.Remove(c.file())
		if errors.Is(err, fs.ErrNotExist) {
			return failed("NotFound", "there is no such thing")
		}
		if err != nil {
			panic(err)
		}
		c.write("deleted", "")
	}
	reply := c.step(2)
	if reply["status"] == "SUCCESS" {
		delete(reply, "resourceModel")
	}
	return reply
}

// step ends the call in progress until it is the last one.
func (c *call) step(last int) map[string]any {
	c.model["Id"] = c.id
	reply := map[string]any{"status": "SUCCESS", "resourceModel": c.model}
	if step := c.event.CallbackContext.Step + 1; step < last {
		reply["status"], reply["callbackDelaySeconds"], reply["callbackContext"] = "IN_PROGRESS", 1, map[string]any{"step": step}
	}
	return reply
}

func (c *call) find() (thing, bool) {
	data, err := os.ReadFile(c.file())
	if errors.Is(err, fs.ErrNotExist) {
		return thing{}, false
	}
	var t thing
	if err := errors.Join(err, json.Unmarshal(data, &t)); err != nil {
		panic(err)
	}
	return t, true
}

func failed(code, message string) map[string]any {
	return map[string]any{"status": "FAILED", "errorCode": code, "message": message}
}

// write appends a line and syncs it.
func (c *call) write(effect, status string) {
	data, err := json.Marshal(line{
		At: time.Now().UnixNano(), Node: os.Getenv("AWS_ENDPOINT_URL"), Token: c.event.BearerToken, Action: c.event.Action,
		Stack: c.event.StackID, Logical: c.event.RequestData.LogicalResourceID, ID: c.id, Effect: effect, Status: status, Note: c.text("Note"),
	})
	if err != nil {
		panic(err)
	}
	f, err := os.OpenFile(filepath.Join(c.dir, "journal"), os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		panic(err)
	}
	_, err = f.Write(append(data, '\n'))
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		panic(err)
	}
}
