package lambda

import (
	"crypto/rand"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// describe completes result with the log of the invocation, in the form of
// Lambda: what was printed, between START, END and REPORT.
func (f *Function) describe(p *process, inv *invocation, printed []byte, err error, result *Result) {
	p.mu.Lock()
	result.InitDuration, p.initTime = p.initTime, 0
	text := endLine(inv.before)
	p.mu.Unlock()
	text = append(text, startLine(inv.id)...)
	text = endLine(append(text, printed...))
	var tail []byte
	if err != nil {
		line, _, _ := strings.Cut(err.Error(), "\n")
		tail = fmt.Appendf(tail, "%s %s\n", inv.id, line)
	}
	tail = fmt.Appendf(tail, "END RequestId: %s\n", inv.id)
	tail = fmt.Appendf(tail, "REPORT RequestId: %s\tDuration: %.2f ms\tBilled Duration: %.0f ms\tMemory Size: %d MB\tMax Memory Used: %d MB\t",
		inv.id, milliseconds(result.Duration), math.Ceil(milliseconds(result.Duration)), f.config.memorySize(), result.MaxMemory>>20)
	if result.InitDuration > 0 {
		tail = fmt.Appendf(tail, "Init Duration: %.2f ms\t", milliseconds(result.InitDuration))
	}
	tail = append(tail, '\n')
	p.output.note(string(tail))
	result.Log = append(text, tail...)
}

func startLine(id string) string { return "START RequestId: " + id + " Version: " + latest + "\n" }

// frames begin the lines that Lambda writes around what a function prints.
var frames = []string{"INIT_START ", "INIT_REPORT ", "EXTENSION\t", "START RequestId:", "END RequestId:", "REPORT RequestId:"}

// IsFrame reports whether a line of a log is from Lambda, and not from the function.
func IsFrame(line string) bool {
	return slices.ContainsFunc(frames, func(beginning string) bool { return strings.HasPrefix(line, beginning) })
}

func endLine(text []byte) []byte {
	if len(text) > 0 && text[len(text)-1] != '\n' {
		return append(text, '\n')
	}
	return text
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// newTraceID creates a trace header of AWS X-Ray without sampling.
func newTraceID(now time.Time) string {
	var id [20]byte
	rand.Read(id[:]) // never fails
	return fmt.Sprintf("Root=1-%08x-%x;Parent=%x;Sampled=0", now.Unix(), id[:12], id[12:])
}

// An alarm fires once, or never when its limit is not positive.
type alarm struct {
	c     <-chan time.Time
	timer *time.Timer
}

func newAlarm(limit time.Duration) alarm {
	if limit <= 0 {
		return alarm{}
	}
	timer := time.NewTimer(limit)
	return alarm{c: timer.C, timer: timer}
}

func (a alarm) stop() {
	if a.timer != nil {
		a.timer.Stop()
	}
}

// A pulse says when to look at the memory of a process.
type pulse struct {
	c      <-chan time.Time
	ticker *time.Ticker
}

// lookInterval is how often the memory of a process group is measured.
const lookInterval = 50 * time.Millisecond

func newPulse(on bool) pulse {
	if !on {
		return pulse{}
	}
	ticker := time.NewTicker(lookInterval)
	return pulse{c: ticker.C, ticker: ticker}
}

func (p pulse) stop() {
	if p.ticker != nil {
		p.ticker.Stop()
	}
}
