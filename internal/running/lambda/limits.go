package lambda

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/formwork-dev/formwork/internal/foundation/sandbox"
)

// A LimitError reports that a process met limits of its sandbox in an invocation that failed: Err.
type LimitError struct {
	Limits []string // such as "1,024 open files"
	Err    error
}

func (e *LimitError) Error() string {
	return "limit reached: " + strings.Join(e.Limits, ", ") + ": " + e.Err.Error()
}

func (e *LimitError) Unwrap() error { return e.Err }

// A MemoryError reports that the processes of an invocation used more memory than
// Config.MemoryMB. They were killed.
type MemoryError struct {
	Function  string
	RequestID string // "" when it was still starting
	Used      int64  // bytes; at least so many if Ended
	Limit     int64  // bytes
	Ended     bool   // by the system, before they were measured
	Output    string // last lines that it printed, at most 2 KiB
}

func (e *MemoryError) Error() string {
	if e.Ended {
		return fmt.Sprintf("function %s: used more memory than the system lets it, the limit is %d MB", e.Function, e.Limit>>20) + quoteOutput(e.Output)
	}
	return fmt.Sprintf("function %s: used %d MB of memory, the limit is %d MB", e.Function, (e.Used+1<<20-1)>>20, e.Limit>>20) +
		quoteOutput(e.Output)
}

// The limits of a sandbox, apart from memory and time.
const (
	limitFiles     = "1,024 open files"
	limitProcesses = "1,024 processes and threads"
)

func (c *Config) limitTmp() string {
	return fmt.Sprintf("%d MB in /tmp and the home folder", c.tmpBytes()>>20)
}

// tmpBytes is the size of the temporary files of a process, in bytes.
func (c *Config) tmpBytes() int64 {
	size := c.TmpMB
	orDefault(&size, sandbox.DefaultTmpMB)
	return int64(size) << 20
}

// complaints are what programs print when a limit was met: the texts of the C library, Go, Node.js,
// Java and busybox.
var complaints = []struct{ text, limit string }{
	{"o space left on device", ""}, {"ENOSPC", ""}, {"Disk quota exceeded", ""},
	{"oo many open files", limitFiles}, {"EMFILE", limitFiles},
	{"can't start new thread", limitProcesses}, {"unable to create native thread", limitProcesses}, {"annot fork", limitProcesses}, {"can't fork", limitProcesses},
	{"fork: retry", limitProcesses}, {"fork/exec", ""}, {"failed to create new OS thread", limitProcesses},
}

// limitsIn are the limits that texts of a handler complain of.
func (c *Config) limitsIn(texts ...[]byte) []string {
	var found []string
	for _, text := range texts {
		for _, complaint := range complaints {
			if !strings.Contains(string(text), complaint.text) {
				continue
			}
			limit := complaint.limit
			switch {
			case complaint.text == "fork/exec" && !strings.Contains(string(text), "resource temporarily unavailable"):
				continue // it has failed for another reason
			case complaint.text == "fork/exec":
				limit = limitProcesses
			case limit == "":
				limit = c.limitTmp()
			}
			if !slices.Contains(found, limit) {
				found = append(found, limit)
			}
		}
	}
	return found
}

// memoryLimit is the bound on resident memory in bytes, 0 for none.
func (c *Config) memoryLimit() int64 {
	if c.MemoryMB < 0 {
		return 0
	}
	return int64(c.MemoryMB) << 20
}

// memorySize is the memory in MiB in the environment of the process.
func (c *Config) memorySize() int {
	if c.MemoryMB < 0 {
		return DefaultMemoryMB
	}
	return c.MemoryMB
}

// overMemory is the error of an invocation whose processes use that many bytes, nil within the limit.
func (c *Config) overMemory(used int64, requestID string) error {
	if limit := c.memoryLimit(); limit > 0 && used > limit {
		return &MemoryError{Function: c.Name, RequestID: requestID, Used: used, Limit: limit}
	}
	return nil
}

// outOfMemory is the error of an invocation whose process the system has ended at its limit.
func (c *Config) outOfMemory(requestID string) error {
	limit := c.memoryLimit()
	return &MemoryError{Function: c.Name, RequestID: requestID, Used: limit + 1, Limit: limit, Ended: true}
}

// used is the memory of the process and what it has started, measured at most once in lookInterval:
// quick calls end before the pulse of wait. It is 0 in between.
func (p *process) used() int64 {
	if now := time.Now(); now.Sub(p.looked) >= lookInterval {
		p.looked = now
		return p.group.memory()
	}
	return 0
}

// observe measures how near the process is to its limits, and remembers those that it has met in
// this invocation.
func (p *process) observe() {
	if p.session == nil {
		return
	}
	processes, files, full := p.group.limits()
	for limit, met := range map[string]bool{limitProcesses: processes, limitFiles: files, p.config.limitTmp(): full} {
		if met && !slices.Contains(p.met, limit) {
			p.met = append(p.met, limit)
		}
	}
}

// limits returns the limits that the process has met since the last call, by measure or by what it
// says.
func (p *process) limits(err error, texts ...[]byte) []string {
	if p.session == nil {
		return nil
	}
	met := p.met
	p.met = nil
	if err != nil {
		texts = append(texts, []byte(err.Error()))
	}
	for _, limit := range p.config.limitsIn(texts...) {
		if !slices.Contains(met, limit) {
			met = append(met, limit)
		}
	}
	slices.Sort(met)
	return met
}
